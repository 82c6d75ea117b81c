package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// watch tells what Greenwright does about one thread, as it happens.
type watch struct {
	*stage
	o        *outcome
	begun    time.Time
	requests int // of the forge that were looked at

	reactions int
	comments  map[int64]string // body by id
	branches  map[string]string
	pulls     []int
	first     bool // a branch list was read
	hinted    bool // at why it takes long
}

func (s *stage) watch(o *outcome) *watch {
	w := &watch{stage: s, o: o, begun: time.Now(), comments: map[int64]string{}, branches: map[string]string{}}
	w.requests = len(s.forge.Requests())
	return w
}

// untilEnded shows what happens until the job's comment says its last word.
func (w *watch) untilEnded(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errHung)
	defer cancel()
	err := poll(ctx, w.server, func() (bool, error) {
		if err := w.look(); err != nil {
			return false, err
		}
		c, ok := w.progress(w.o)
		return ok && ended(c.Body), nil
	})
	if err != nil {
		return err
	}
	w.out.say("", "that was %s from the request to the last word", round(time.Since(w.begun)))
	return w.ciAgain(ctx, w.o)
}

// look tells what is new.
func (w *watch) look() error {
	if err := w.lookAtLog(); err != nil {
		return err
	}
	w.lookAtReactions()
	if err := w.lookAtBranches(); err != nil {
		return err
	}
	w.lookAtPulls()
	w.lookAtComments()
	if !w.hinted && w.out.now().Sub(w.out.last) > silence {
		w.hinted = true
		w.out.say("", "… a run's build cache begins empty: go test compiles the standard library first")
	}
	return nil
}

// silence is how long nothing may be said before the reason is.
const silence = 2 * time.Second

// phases are what the worker does in the states of a job.
var phases = map[jobs.State]string{
	jobs.Preparing:  "prepare: read the thread, fetch, make a workspace",
	jobs.Baseline:   "baseline: the CI's own commands, in the sandbox, before any edit",
	jobs.Working:    "work: in the sandbox",
	jobs.Verifying:  "verify: the same commands on the new commit, in a sandbox that has seen no work",
	jobs.Publishing: "publish: look through the diff, push, read back",
}

// lookAtLog tells what the worker does; the forge does not see all of it.
func (w *watch) lookAtLog() error {
	records, err := w.server.log.next()
	for _, r := range records {
		switch r.Message {
		case "state changed":
			if text := phases[jobs.State(r.State)]; text != "" {
				w.out.say("worker", "%s", text)
			}
		case "verifying command ran":
			w.out.say("worker", "  %s: %s", r.Command, w.out.exit(r.ExitCode))
		}
	}
	return err
}

func (w *watch) lookAtReactions() {
	all := w.o.repo.Reactions(w.o.thread)
	for _, r := range all[w.reactions:] {
		if r.By.Is(w.forge.Bot()) {
			w.out.say("greenwright", "reacts with %s, %s after the comment", emoji(r.Reaction), round(time.Since(w.begun)))
		}
	}
	w.reactions = len(all)
}

func emoji(r vcs.Reaction) string {
	if r == vcs.ReactionEyes {
		return "👀"
	}
	return string(r)
}

// lookAtBranches asks git, which costs a process, only after a push.
func (w *watch) lookAtBranches() error {
	requests := w.forge.Requests()
	pushed := slices.ContainsFunc(requests[w.requests:], func(r vcstest.Request) bool {
		return strings.HasSuffix(r.Path, "/git-receive-pack")
	})
	w.requests = len(requests)
	if w.first && !pushed {
		return nil
	}
	tips, err := w.o.repo.Branches()
	if err != nil {
		return fmt.Errorf("reading the branches: %w", err)
	}
	for name, sha := range tips {
		if w.first && w.branches[name] != sha {
			w.out.say("greenwright", "pushes %s to branch %s", short(sha), name)
		}
	}
	w.branches, w.first = tips, true
	return nil
}

func (w *watch) lookAtPulls() {
	for _, p := range w.o.repo.Pulls() {
		if p.Author.Is(w.forge.Bot()) && !slices.Contains(w.pulls, p.Number) {
			w.pulls = append(w.pulls, p.Number)
			w.out.say("greenwright", "opens %s %s: %s", w.forge.words.PullRequest, p.Label(), p.Title)
		}
	}
}

func (w *watch) lookAtComments() {
	for _, c := range w.o.repo.Comments(w.o.thread) {
		before, known := w.comments[c.ID]
		if !c.Author.Is(w.forge.Bot()) || known && before == c.Body {
			continue
		}
		w.comments[c.ID] = c.Body
		what := "comments"
		if known {
			what = "edits the comment"
		}
		w.out.say("greenwright", "%s: %s", what, gist(c.Body))
	}
}

// progress is the comment in which the job says how it stands.
func (s *stage) progress(o *outcome) (vcs.Comment, bool) {
	for _, c := range o.repo.Comments(o.thread) {
		if c.Author.Is(s.forge.Bot()) {
			return c, true
		}
	}
	return vcs.Comment{}, false
}

// lastBox is the last line of the list that stands in the comment until the
// job has ended.
const lastBox = "- [ ] publish"

func ended(body string) bool { return !strings.Contains(body, lastBox) }

// gist is a comment in a line: its first sentence and what is being done.
func gist(body string) string {
	var first, now string
	for line := range strings.Lines(plaintext.Readable(body)) {
		line = strings.TrimSpace(line)
		if _, what, ok := strings.Cut(line, " — "); ok && strings.HasPrefix(line, "- [ ]") {
			now = ", " + what
		}
		if first == "" && line != "" && !strings.HasPrefix(line, "➡️") {
			first = strings.ReplaceAll(line, "**", "")
		}
	}
	return first + now
}

func short(sha string) string { return sha[:min(len(sha), 10)] }
