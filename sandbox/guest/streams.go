package guest

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/greenwright/greenwright/sandbox/link"
)

// drainLimit bounds the wait for output once all is over: something that got
// hold of the pipe may keep it open.
const drainLimit = time.Second

// openInput gives the command its standard input, and what feeds it.
func openInput(from io.ReadCloser) (*os.File, func(), error) {
	if from == nil {
		f, err := os.Open(os.DevNull)
		return f, func() {}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making an input pipe: %w", err)
	}
	return r, func() {
		go func() {
			_, _ = io.Copy(w, from)
			_ = w.Close()
			_ = from.Close()
		}()
	}, nil
}

// channel is a pipe that output comes through.
type channel struct {
	kind link.Kind
	r, w *os.File
}

// output is what a command writes to: one pipe, or one for each stream.
type output struct {
	stdout, stderr *channel
	pumps          sync.WaitGroup
}

func newOutput(split bool) (*output, error) {
	one := func(kind link.Kind) (*channel, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("making an output pipe: %w", err)
		}
		return &channel{kind, r, w}, nil
	}
	out, err := one(link.Stdout)
	if err != nil || !split {
		return &output{stdout: out, stderr: out}, err
	}
	e, err := one(link.Stderr)
	if err != nil {
		_, _ = out.r.Close(), out.w.Close()
		return nil, err
	}
	return &output{stdout: out, stderr: e}, nil
}

func (o *output) channels() []*channel {
	if o.stdout == o.stderr {
		return []*channel{o.stdout}
	}
	return []*channel{o.stdout, o.stderr}
}

// started closes this process's writing ends.
func (o *output) started() {
	for _, c := range o.channels() {
		_ = c.w.Close()
	}
}

func (o *output) discard() {
	for _, c := range o.channels() {
		_, _ = c.w.Close(), c.r.Close()
	}
}

// pump copies to the host until the last writer is gone, or the host is.
func (o *output) pump(w *link.Writer) {
	for _, c := range o.channels() {
		o.pumps.Go(func() {
			defer func() { _ = c.r.Close() }()
			buf := make([]byte, link.MaxFrame)
			for {
				n, err := c.r.Read(buf)
				if n > 0 && w.Write(c.kind, buf[:n]) != nil || err != nil {
					return
				}
			}
		})
	}
}

// drain waits for what is still in the pipes.
func (o *output) drain() {
	done := make(chan struct{})
	go func() {
		o.pumps.Wait()
		close(done)
	}()
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		for _, c := range o.channels() {
			_ = c.r.SetReadDeadline(time.Now())
		}
		<-done
	}
}
