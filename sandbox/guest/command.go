package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/greenwright/greenwright/sandbox/link"
)

// What a shell gives for a command that it cannot run (POSIX).
const (
	cannotRun = 126
	notFound  = 127
)

// command is one that runs.
type command struct {
	request link.Request
	leader  int
	cookie  string
	ended   <-chan ended
	// Under guest.mu.
	peak int64
	oom  bool
	full bool
}

// run is the whole life of a command.
func (g *guest) run(stream *yamux.Stream, req link.Request, input io.ReadCloser) {
	defer func() { _ = stream.Close() }()
	w := link.NewWriter(stream)
	out, err := newOutput(req.Split)
	if err != nil {
		_ = w.WriteExit(link.Exit{StartError: err.Error(), Code: cannotRun, Stuck: exhausted(err)})
		return
	}
	c, err := g.start(req, out, input)
	if err != nil {
		out.discard()
		if input != nil {
			_ = input.Close()
		}
		_ = w.WriteExit(link.Exit{StartError: err.Error(), Code: codeOf(err), Stuck: exhausted(err)})
		return
	}
	out.pump(w)
	go g.obey(stream, c)
	e := <-c.ended
	settled := g.end(c)
	out.drain()
	_ = w.WriteExit(g.report(c, e, settled))
}

// obey does what the host asks of a running command. When the host closes the
// stream, the command ends.
func (g *guest) obey(stream *yamux.Stream, c *command) {
	frames := link.NewReader(stream)
	for {
		kind, _, err := frames.Next()
		switch {
		case err != nil, kind == link.Kill:
			g.signal(c, syscall.SIGKILL)
			return
		case kind == link.Terminate:
			g.signal(c, syscall.SIGTERM)
		}
	}
}

// signal reaches the leader and its group; what it started besides ends with it.
func (g *guest) signal(c *command, sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[c.leader] != c {
		return // ended, and its pid may be another's
	}
	_ = syscall.Kill(-c.leader, sig)
	_ = syscall.Kill(c.leader, sig)
}

func (g *guest) report(c *command, e ended, settled bool) link.Exit {
	g.mu.Lock()
	defer g.mu.Unlock()
	usage := e.usage
	if len(g.live) == 0 {
		add(&usage, g.reaper.takeOrphans())
	}
	x := link.Exit{
		OOM: c.oom, Full: c.full, Stuck: !settled, CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		PeakMemory: max(c.peak, peakOf(usage)), Written: usage.Oublock * 512, // getrusage(2): blocks of 512
	}
	x.Code = e.status.ExitStatus()
	if e.status.Signaled() {
		x.Signal = int(e.status.Signal())
		x.Code = 128 + x.Signal
	}
	return x
}

// peakOf is the largest process's memory. The kernel counts what a process had
// before it became the command, which is this program's: that says nothing.
func peakOf(usage syscall.Rusage) int64 {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil || usage.Maxrss <= own.Maxrss {
		return 0
	}
	return usage.Maxrss << 10 // kilobytes, getrusage(2)
}

// start forks the command.
func (g *guest) start(req link.Request, out *output, input io.ReadCloser) (*command, error) {
	program, err := lookUp(req)
	if err != nil {
		return nil, err
	}
	stdin, feed, err := openInput(input)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number++
	c := &command{request: req, cookie: cookieOf(g.number)}
	env := append(slices.Clone(req.Env), cookieName+"="+c.cookie)
	c.leader, c.ended, err = g.reaper.start(func() (pid int, err error) {
		g.forker.do(func() {
			pid, err = syscall.ForkExec(program, req.Argv, &syscall.ProcAttr{
				Dir: req.Dir, Env: env, Files: []uintptr{stdin.Fd(), out.stdout.w.Fd(), out.stderr.w.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
			})
		})
		return pid, err
	})
	out.started()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.Argv[0], err)
	}
	g.live[c.leader] = c
	g.watch()
	_ = os.WriteFile("/proc/"+strconv.Itoa(c.leader)+"/oom_score_adj", []byte("500"), 0o600) // let the kernel choose it before this process
	feed()
	return c, nil
}

// exhausted reports that this process itself has no descriptors left, as when
// a command has lowered its limits: no later command would fare better.
func exhausted(err error) bool { return errors.Is(err, syscall.EMFILE) }

var (
	errNotFound = errors.New("not found")
	errNoDir    = errors.New("no such directory")
)

func codeOf(err error) int {
	if errors.Is(err, errNotFound) {
		return notFound
	}
	return cannotRun
}

// lookUp finds the program on the PATH that the command will have, and sees
// that its directory is there.
func lookUp(req link.Request) (string, error) {
	if st, err := os.Stat(req.Dir); err != nil || !st.IsDir() {
		return "", fmt.Errorf("%s: %w", req.Dir, errNoDir)
	}
	if len(req.Argv) == 0 || req.Argv[0] == "" {
		return "", fmt.Errorf("empty command: %w", errNotFound)
	}
	name := req.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(req.Dir, name)
		}
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s: %w", req.Argv[0], errNotFound)
		}
		return name, nil
	}
	for _, kv := range slices.Backward(req.Env) {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			p := filepath.Join(dir, name)
			if st, err := os.Stat(p); filepath.IsAbs(p) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				return p, nil
			}
		}
		break
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}
