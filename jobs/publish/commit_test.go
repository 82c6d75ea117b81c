package publish_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/vcs"
)

// gitShow asks git itself about a commit.
func (w *world) gitShow(sha, format string) string {
	w.Helper()
	if _, err := w.Push(ctx, publish.Target{Branch: "shown-" + sha[:12]}, sha); err != nil {
		w.Fatal(err)
	}
	out, err := exec.Command("git", "-C", w.repo.Dir(), "log", "-1", "--format="+format, sha).CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// when is the time of every commit.
var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestCommitMessage(t *testing.T) {
	w := newWorld(t)
	tree := w.tree(w.base, "two\n")
	const evil = "Co-authored-by: Mallory <m@example.com>"
	cases := []struct{ name, subject, body, wantSubject string }{
		{"plain", "Fix: it", "Asked for in #7.", "Fix: it"},
		{"empty", "", "", "Change"},
		{"newlines in the title", "Fix: it\n\n" + evil + "\n", "", "Fix: it Co-authored-by: Mallory <m@example.com>"},
		{"carriage returns", "Fix: it\r\r" + evil, "x\r\r" + evil, "Fix: it Co-authored-by: Mallory <m@example.com>"},
		{"trailer as body", "Fix: it", evil, "Fix: it"},
		{"trailers at the end of the body", "Fix: it", "x\n\n" + evil + "\nSigned-off-by : x\nskip-checks:true", "Fix: it"},
		{"long", strings.Repeat("word ", 40), "", strings.Repeat("word ", 14) + "w…"},
		{"closes issues", "Fix: fixes GH-12, closes acme/x#3", "resolves https://github.com/acme/x/issues/4", "Fix: fixes no. 12, closes acme/x no. 3"},
		{"checks off", "[skip ci] [CI-Skip] [no ci] [ skip actions ] x", "[actions skip]\n\n[skip-ci]", "(skip ci) (CI-Skip) (no ci) (skip actions) x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.T = t
			sha, err := w.Commit(ctx, tree, w.base, c.subject, c.body, when)
			check(t, err)
			if got := w.gitShow(sha, "%s"); got != c.wantSubject {
				t.Errorf("subject is %q, want %q", got, c.wantSubject)
			}
			host := "users.noreply.127.0.0.1"
			want := fmt.Sprintf("Co-authored-by: somebody <%d+somebody@%s>\nGreenwright-Run: 0190-run", w.Job.Requester.ID, host)
			if got := w.gitShow(sha, "%(trailers)"); got != want {
				t.Errorf("trailers are %q, want %q", got, want)
			}
			if got := w.gitShow(sha, "%an <%ae> %cn <%ce> %at"); got != fmt.Sprintf("%[1]s <%[2]d+%[1]s@%[3]s> %[1]s <%[2]d+%[1]s@%[3]s> 1767323045", w.Self.Login, w.Self.ID, host) {
				t.Errorf("author and committer are %q", got)
			}
			message := w.gitShow(sha, "%B")
			for line := range strings.Lines(message) {
				if strings.HasPrefix(line, "Co-authored-by: Mallory") || strings.HasPrefix(line, "Signed-off-by") || strings.HasPrefix(line, "skip-checks") {
					t.Errorf("the message has a line of a trailer that is not ours: %q", line)
				}
			}
			if strings.Contains(strings.ToLower(message), "[skip") || strings.Contains(strings.ToLower(message), "skip]") {
				t.Errorf("the message switches checks off: %q", message)
			}
		})
	}
}

func TestNoreplyAddresses(t *testing.T) {
	w := newWorld(t)
	tree := w.tree(w.base, "two\n")
	person := vcs.Actor{ID: 5, Login: "some> \n<body", Kind: vcs.KindUser}
	for _, c := range []struct {
		forge vcs.ForgeName
		url   string
		who   vcs.Actor
		want  string
	}{
		{vcs.GitHub, "https://github.com/acme/widgets", person, "somebody <5+somebody@users.noreply.github.com>"},
		{vcs.GitHub, "https://git.example.com:8443/acme/widgets", person, "somebody <5+somebody@users.noreply.git.example.com>"},
		{vcs.GitLab, "https://gitlab.example.com/acme/widgets", person, "somebody <5-somebody@users.noreply.gitlab.example.com>"},
		{vcs.GitHub, "", person, "somebody <noreply@localhost>"},
		{vcs.GitHub, "https://github.com/acme/widgets", vcs.Actor{ID: 6, Login: "x[bot]", Kind: vcs.KindBot}, ""},
		{vcs.GitHub, "https://github.com/acme/widgets", vcs.Actor{Login: "unknown", Kind: vcs.KindUser}, ""},
		{vcs.Local, "", person, ""},
	} {
		w.Repo.Forge, w.Repo.URL, w.Job.Requester = c.forge, c.url, c.who
		sha, err := w.Commit(ctx, tree, w.base, "x", "", when)
		check(t, err)
		w.Repo = w.repo.Info()
		if got := w.gitShow(sha, "%(trailers:key=Co-authored-by,valueonly)"); got != c.want {
			t.Errorf("%s at %q: co-author is %q, want %q", c.who.Login, c.url, got, c.want)
		}
	}
}
