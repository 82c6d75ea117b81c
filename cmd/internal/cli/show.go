package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/progress"
)

// shower prints what a run does: live on a terminal, lines in a pipe, JSON
// Lines when asked.
type shower interface {
	status(progress.Status)
	say(format string, args ...any)
	done()
	result(wire.RunResult) error
	failed(error) // before there could be a result
}

func newShow(out, errOut io.Writer, asJSON bool) shower {
	if asJSON {
		return &jsonShow{enc: json.NewEncoder(out)}
	}
	lines := &lineShow{out: out, note: errOut, stop: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		lines.width, _, _ = term.GetSize(int(f.Fd()))
		lines.ticking.Go(lines.tick)
	}
	return lines
}

// lineShow prints a line per phase and step; on a terminal the current one is
// rewritten in place.
type lineShow struct {
	out, note io.Writer
	width     int // of the terminal, 0 for a pipe

	mu    sync.Mutex
	state jobs.State    // under mu
	now   string        // under mu
	last  string        // under mu: the command that ended last
	text  string        // under mu: of the live line, without its clock
	since time.Time     // under mu: when it began
	begun time.Duration // under mu: what the clock said then
	live  bool          // under mu: a line without an end stands on the terminal

	stop    chan struct{}
	ticking sync.WaitGroup
}

// tick keeps the live line's clock going, so that a long command does not look
// as if it hung.
func (l *lineShow) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case now := <-ticker.C:
			l.mu.Lock()
			if l.live {
				l.rewrite(clock(l.begun+now.Sub(l.since)) + l.text)
			}
			l.mu.Unlock()
		}
	}
}

func (l *lineShow) status(s progress.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.State != l.state && !s.State.Final() {
		l.state, l.now = s.State, ""
		l.printf("%s %s", clock(s.Elapsed), s.State)
	}
	if s.Done != "" && s.Done != l.last {
		l.clearLive()
		l.printf("%s     %s", clock(s.Elapsed), oneLine(s.Done, 120))
	}
	l.last = s.Done
	if s.Now == "" || s.Now == l.now {
		return
	}
	l.now = s.Now
	l.text = "   " + oneLine(s.Now, 120)
	if s.Tokens > 0 {
		l.text += fmt.Sprintf("  [%d steps, %d tokens]", s.Steps, s.Tokens)
	}
	if l.width > 0 {
		l.since, l.begun = time.Now(), s.Elapsed
		l.rewrite(clock(s.Elapsed) + l.text)
		return
	}
	l.printf("%s%s", clock(s.Elapsed), l.text)
}

func clock(d time.Duration) string { return fmt.Sprintf("%6.1fs", d.Seconds()) }

func oneLine(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	for i, c := range r {
		if c < ' ' || c == 0x7f {
			r[i] = '?'
		}
	}
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// rewrite replaces the live line.
func (l *lineShow) rewrite(text string) {
	if r := []rune(text); len(r) >= l.width && l.width > 1 {
		text = string(r[:l.width-1])
	}
	_, _ = fmt.Fprintf(l.out, "\r\x1b[K%s", text)
	l.live = true
}

func (l *lineShow) printf(format string, args ...any) {
	l.endLive()
	_, _ = fmt.Fprintf(l.out, format+"\n", args...)
}

func (l *lineShow) endLive() {
	if l.live {
		_, _ = fmt.Fprintln(l.out)
		l.live = false
	}
}

// clearLive takes the live line away.
func (l *lineShow) clearLive() {
	if l.live {
		_, _ = fmt.Fprint(l.out, "\r\x1b[K")
		l.live = false
	}
}

func (l *lineShow) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLive()
	sayTo(l.note, format, args...)
}

func (l *lineShow) done() {
	close(l.stop)
	l.ticking.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLive()
}

func (l *lineShow) result(res wire.RunResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", plaintext.Readable(res.Report.Markdown()))
	if c := res.Report.Change; c != nil && len(c.Files) > 0 {
		added, deleted := c.Stat()
		fmt.Fprintf(&b, "files changed: %d, insertions: %d, deletions: %d\n", len(c.Files), added, deleted)
	}
	if res.Branch != "" && (res.State == jobs.Verified || res.State == jobs.Unverified) {
		fmt.Fprintf(&b, "branch   %s in %s (look at it: git -C %s show %s)\n", res.Branch, res.Repo, shellWord(res.Repo), res.Branch)
	}
	fmt.Fprintf(&b, "journal  %s\n", res.Journal)
	_, err := io.WriteString(l.out, b.String())
	return err
}

// failed leaves the error to whoever prints errors.
func (l *lineShow) failed(error) {}

// shellWord quotes a path that a shell would take apart.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// jsonShow prints one object a line: "status" as it goes, "note", and one
// "result" at the end.
type jsonShow struct {
	mu  sync.Mutex
	enc *json.Encoder // under mu
}

func (j *jsonShow) emit(v any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.enc.Encode(v)
}

func (j *jsonShow) status(s progress.Status) {
	_ = j.emit(struct {
		Type    string     `json:"type"`
		State   jobs.State `json:"state"`
		Now     string     `json:"now,omitempty"`
		Steps   int        `json:"steps"`
		Calls   int        `json:"calls"`
		Tokens  int64      `json:"tokens"`
		Elapsed float64    `json:"elapsed_s"`
	}{"status", s.State, s.Now, s.Steps, s.Calls, s.Tokens, s.Elapsed.Seconds()})
}

func (j *jsonShow) say(format string, args ...any) {
	_ = j.emit(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"note", fmt.Sprintf(format, args...)})
}

func (j *jsonShow) done() {}

func (j *jsonShow) result(res wire.RunResult) error {
	return j.emit(struct {
		Type    string     `json:"type"`
		State   jobs.State `json:"state"`
		Cause   string     `json:"cause,omitempty"`
		Branch  string     `json:"branch,omitempty"`
		Commit  string     `json:"commit,omitempty"`
		Diff    string     `json:"diff,omitempty"`
		Report  string     `json:"report"`
		Journal string     `json:"journal"`
	}{"result", res.State, res.Cause, res.Branch, res.Commit, res.Diff, res.Report.Markdown(), res.Journal})
}

func (j *jsonShow) failed(err error) {
	_ = j.emit(struct {
		Type  string `json:"type"`
		Error string `json:"error"`
	}{"error", err.Error()})
}
