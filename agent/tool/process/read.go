package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// maxPage is how much one call shows; the rest stays unread.
const maxPage = 16 << 10

// readOne reads a process, or the whole output of a command.
func (t *Table) readOne(ctx context.Context, a readArgs) tool.Result {
	if a.Since != nil && *a.Since < 0 {
		return tool.Failf(tool.CodeInvalidArgs, "since is negative")
	}
	if limit := int(MaxWait / time.Second); a.Wait < 0 || a.Wait > limit {
		return tool.Failf(tool.CodeInvalidArgs, "wait_s goes from 0 to %d", limit)
	}
	if strings.HasPrefix(a.ID, "o") && t.opener != nil {
		return t.output(ctx, a)
	}
	p, failed := t.find(a.ID)
	if failed != nil {
		return *failed
	}
	p.wait(ctx, a.Since, time.Duration(a.Wait)*time.Second)
	return p.show(ctx, a.Since)
}

// wait returns when there is something to read, at the end of the process, or
// when the time is over.
func (p *proc) wait(ctx context.Context, since *int64, limit time.Duration) {
	process := p.handle()
	if process == nil || limit <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	again := time.NewTicker(look)
	defer again.Stop()
	for process.Execution().TotalBytes <= p.from(since) {
		select {
		case <-process.Done():
			return
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// from is where reading begins.
func (p *proc) from(since *int64) int64 {
	if since != nil {
		return *since
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

// show is how a process is and what it printed, from since or from what was
// shown last.
func (p *proc) show(ctx context.Context, since *int64) tool.Result {
	from := p.from(since)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return tool.Failf(tool.CodeInvalidArgs, "%s has ended long ago; its output is no longer kept", p.id)
	}
	ended := false
	select {
	case <-p.process.Done():
		ended = true
	default:
	}
	e := p.process.Execution() // after the look at Done: at the end nothing may be missing
	state := fmt.Sprintf("running for %.0f s", time.Since(p.begun).Seconds())
	if ended {
		state = shell.Headline(e)
	}
	g := pageOf(e, from, ended, pageRoom(ctx))
	res := tool.OKText(fmt.Sprintf("%s: %s%s", p.id, state, g.notice(e.TotalBytes)))
	if len(g.text) > 0 {
		res.Text += "\n" + tool.Clean(string(g.text))
	}
	res.Progress = g.next > p.read
	if g.from-g.lost <= p.read { // what lies before a page that begins further on was not shown
		p.read = max(p.read, g.next)
	}
	return res
}

// noticeRoom is what the lines ahead of a page may take.
const noticeRoom = 400

// pageRoom is how much of an output a call may show.
func pageRoom(ctx context.Context) int {
	return max(tool.Room(ctx, maxPage+noticeRoom)-noticeRoom, noticeRoom)
}

// page is a part of an output. lost bytes ahead of it are no longer kept.
type page struct {
	text       []byte
	from, next int64
	lost       int64
}

// pageOf cuts a page out of what is kept, beginning at byte from. One that has
// not ended may stop inside a rune, which stays unread.
func pageOf(e tool.Execution, from int64, ended bool, most int) page {
	tailAt := e.TotalBytes - int64(len(e.Tail))
	g := page{from: min(from, e.TotalBytes)}
	if head := int64(len(e.Head)); g.from < head {
		g.text = e.Head[g.from:]
		if tailAt == head {
			g.text = append(bytes.Clone(g.text), e.Tail...)
		}
	} else {
		g.lost = max(tailAt-g.from, 0)
		g.from += g.lost
		g.text = e.Tail[g.from-tailAt:]
	}
	rest := g.from+int64(len(g.text)) < e.TotalBytes
	g.trim(ended && !rest, most)
	return g
}

// trim keeps the page to its size, at the end of a line if there is one near.
func (g *page) trim(last bool, most int) {
	if len(g.text) > most {
		g.text, last = g.text[:most], false
		if nl := bytes.LastIndexByte(g.text, '\n'); nl > most/2 {
			g.text = g.text[:nl+1]
		}
	}
	if !last {
		g.text = wholeRunes(g.text)
	}
	g.next = g.from + int64(len(g.text))
}

// wholeRunes leaves out the beginning of a rune at the end of p.
func wholeRunes(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return p[:i]
			}
			break
		}
	}
	return p
}

// notice says what of the output the page is.
func (g page) notice(total int64) string {
	var b strings.Builder
	switch {
	case total == 0:
		return "; no output"
	case len(g.text) == 0:
		fmt.Fprintf(&b, "; nothing new behind byte %d", g.from)
	case g.next < total:
		fmt.Fprintf(&b, "; bytes %d to %d of %d, read again for the rest", g.from, g.next, total)
	case g.from > 0:
		fmt.Fprintf(&b, "; from byte %d", g.from)
	}
	if g.lost > 0 {
		fmt.Fprintf(&b, "; %d bytes before are no longer kept", g.lost)
	}
	return b.String()
}

// output reads a page of a command's whole output.
func (t *Table) output(ctx context.Context, a readArgs) tool.Result {
	r, err := t.opener.Open(a.ID)
	if err != nil {
		return tool.Failf(tool.CodeInvalidArgs, "%v", err)
	}
	defer func() { _ = r.Close() }()
	g, total, err := pageIn(r, a.Since, pageRoom(ctx))
	if err != nil {
		return tool.Failf(tool.CodeInternal, "reading %s: %v", a.ID, err).Suggest("run the command again")
	}
	head := fmt.Sprintf("%s: bytes %d to %d of %d", a.ID, g.from, g.next, total)
	return tool.OKText(head + "\n" + tool.Clean(string(g.text)))
}

func pageIn(r io.ReadSeeker, since *int64, most int) (page, int64, error) {
	total, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return page{}, 0, fmt.Errorf("finding its end: %w", err)
	}
	var g page
	if since != nil {
		g.from = min(*since, total)
	}
	if _, err := r.Seek(g.from, io.SeekStart); err != nil {
		return page{}, 0, fmt.Errorf("finding byte %d: %w", g.from, err)
	}
	g.text = make([]byte, min(int64(most)+1, total-g.from))
	n, err := io.ReadFull(r, g.text)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return page{}, 0, fmt.Errorf("reading from byte %d: %w", g.from, err)
	}
	g.text = g.text[:n]
	g.trim(g.from+int64(n) == total, most)
	return g, total, nil
}
