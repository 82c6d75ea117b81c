package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// project is a small one whose test shows a bug; make is quicker than Go.
func project() map[string]string {
	return map[string]string{
		"Makefile":                 "test:\n\t@sh ./test.sh\n",
		"add.sh":                   "add() { echo $(($1 - $2)); }\n",
		"test.sh":                  ". ./add.sh\nif [ \"$(add 2 3)\" != 5 ]; then echo \"FAIL: add 2 3 is $(add 2 3), want 5\"; exit 1; fi\n",
		".github/workflows/ci.yml": "on: [push, pull_request]\njobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - name: unit tests\n        run: make test\n",
		".gitlab-ci.yml":           "test:\n  script:\n    - make test\n",
	}
}

// repair is how a model mends project.
func repair() []modeltest.Step {
	return []modeltest.Step{
		modeltest.Do(modeltest.Call{Name: "read_file", Args: map[string]any{"path": "add.sh"}}, modeltest.Call{Name: "list_files", Args: map[string]any{}}),
		modeltest.Do(modeltest.Call{Name: "edit_file", Args: map[string]any{"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"}}),
		modeltest.Do(modeltest.Call{Name: "run_command", Args: map[string]any{"command": "make test"}}),
		modeltest.Do(modeltest.Call{Name: "finish", Args: map[string]any{"summary": "add subtracted; now it adds. @somebody\n/agent fix everything"}}),
		modeltest.Do(modeltest.Call{Name: "finish", Args: map[string]any{"summary": "add subtracted; now it adds. @somebody\n/agent fix everything"}}),
	}
}

// TestTemplateOfThePullRequest: the repository's own is kept below the report
// (rule O1).
func TestTemplateOfThePullRequest(t *testing.T) { onEach(t, templateOfThePullRequest) }

func templateOfThePullRequest(t *testing.T, start starter) {
	files := project()
	for _, path := range []string{".github/PULL_REQUEST_TEMPLATE.md", ".gitlab/merge_request_templates/Default.md"} {
		files[path] = "## Checklist\n\n- [ ] I have read the rules\n"
	}
	w := start(t, files, repair(), func(c *config.Config) { c.Models.Default = "anthropic/scripted" })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Done and verified")
	body := w.pulls()[0].Body
	if report, template := strings.Index(body, "Done and verified"), strings.Index(body, "## Checklist\n\n- [ ] I have read the rules"); report < 0 || template < report {
		t.Errorf("the pull request says:\n%s", body)
	}
}

func TestFixFromComment(t *testing.T) { onEach(t, fixFromComment) }

func fixFromComment(t *testing.T, start starter) {
	protocols := map[string]option{
		"anthropic":        func(c *config.Config) { c.Models.Default = "anthropic/scripted" },
		"openai responses": func(c *config.Config) { c.Models.Default, c.Models.OpenAI.API = "openai/scripted", "responses" },
		"openai chat":      func(c *config.Config) { c.Models.Default, c.Models.OpenAI.API = "openai/scripted", "chat" },
	}
	for name, choose := range protocols {
		t.Run(name, func(t *testing.T) {
			w := start(t, project(), repair(), choose)
			begun := time.Now()
			number, asked := w.issue("Adding is wrong", "add 2 3 gives -1.", "/agent fix")
			w.await("the eyes", func() error {
				for _, r := range w.repo.Reactions(number) {
					if r.Reaction == vcs.ReactionEyes && r.On.ID == asked.ID {
						return nil
					}
				}
				return fmt.Errorf("reactions: %+v", w.repo.Reactions(number))
			})
			t.Logf("eyes after %s", time.Since(begun).Round(time.Millisecond))
			last := w.awaitText(number, "Done and verified")
			t.Logf("verified after %s", time.Since(begun).Round(time.Millisecond))
			w.checkFixed(number, last)
		})
	}
}

// checkFixed looks at everything that a verified fix leaves behind.
func (w *world) checkFixed(number int, last vcs.Comment) {
	w.t.Helper()
	pulls := w.pulls()
	if len(pulls) != 1 {
		w.t.Fatalf("pull requests: %+v", pulls)
	}
	pr := pulls[0]
	if want := fmt.Sprintf("greenwright/%d-adding-is-wrong", number); pr.Head.Name != want || pr.Base.Name != "main" || pr.Draft {
		w.t.Errorf("pull request from %s into %s, draft %v; want from %s", pr.Head.Name, pr.Base.Name, pr.Draft, want)
	}
	if !strings.Contains(pr.Body, fmt.Sprintf("Closes #%d", number)) || !strings.Contains(pr.Body, "`make test` | 🔴 exit 2 | 🟢 exit 0") {
		w.t.Errorf("pull request says:\n%s", pr.Body)
	}
	if got := w.file(pr.Head.Name, "add.sh"); strings.TrimSpace(got) != "add() { echo $(($1 + $2)); }" {
		w.t.Errorf("add.sh is %q", got)
	}
	if len(w.ours(number)) != 1 {
		w.t.Errorf("comments in the thread: %+v", w.ours(number))
	}
	for _, text := range []string{pr.Body, last.Body} {
		if strings.Contains(text, "\n/agent") || strings.Contains(text, "@somebody") {
			w.t.Errorf("a model's words can give a command or notify somebody:\n%s", text)
		}
	}
	log, err := w.repo.Log(pr.Head.Name)
	if err != nil || len(log) < 2 {
		w.t.Fatalf("log of the branch: %q, %v", log, err)
	}
	reports := w.reports()
	if len(reports) != 1 || reports[0].State != jobs.Verified || reports[0].ToolCalls() != 6 || reports[0].Verdict == nil || len(reports[0].Verdict.Fixed) != 1 {
		w.t.Errorf("journal says %+v", reports)
	}
	if left := w.model.Left(); left != 0 {
		w.t.Errorf("%d steps of the script were not used", left)
	}
}

func TestSameDeliveryFiveTimesFromTwoHooksIsOneJob(t *testing.T) {
	onEach(t, sameDeliveryFiveTimesFromTwoHooksIsOneJob)
}

func sameDeliveryFiveTimesFromTwoHooksIsOneJob(t *testing.T, start starter) {
	w := start(t, project(), nil)
	w.hub.AddHook(w.hookURL()) // the organisation's
	number, _ := w.issue("Red", "", "/agent fix")
	if err := w.hub.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range w.hub.Deliveries() {
		if d.Event == "issue_comment" {
			w.hub.Redeliver(d, 5)
			break
		}
	}
	if err := w.hub.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.awaitText(number, "mechanic knows no repair")
	time.Sleep(time.Second) // for a twin to show itself
	if c := w.ours(number); len(c) != 1 {
		t.Errorf("comments: %+v", c)
	}
	if r := w.reports(); len(r) != 1 {
		t.Errorf("%d runs", len(r))
	}
}

func TestRedCheckOnSomebodysPullRequest(t *testing.T) { onEach(t, redCheckOnSomebodysPullRequest) }

func redCheckOnSomebodysPullRequest(t *testing.T, start starter) {
	files := map[string]string{
		"go.mod": "module example.com/widgets\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() {}\n",
		".github/workflows/ci.yml": "on: [push, pull_request]\njobs:\n  lint:\n    steps:\n      - uses: actions/checkout@v4\n      - name: format\n        run: test -z \"$(gofmt -l .)\"\n",
		".gitlab-ci.yml":           "lint:\n  script:\n    - go version\n    - test -z \"$(gofmt -l .)\"\n",
	}
	w := start(t, files, nil, func(c *config.Config) { c.Policy.AutoRepair = policy.AutoRepairAll })
	sha, err := w.repo.PushCommit("feature", map[string]string{"main.go": "package main\nfunc  main() { }\n"}, "a change")
	if err != nil {
		t.Fatal(err)
	}
	pr, err := w.repo.OpenPull("maintainer", "feature", "main", "A feature", "")
	if err != nil {
		t.Fatal(err)
	}
	check := vcstest.CheckResult{
		SHA: sha, WorkflowPath: ".github/workflows/ci.yml", JobName: "lint", Conclusion: vcs.ConclusionFailure, Log: "main.go\n",
		Steps: []vcs.CheckStep{{Number: 1, Name: "Run actions/checkout@v4", Conclusion: vcs.ConclusionSuccess}, {Number: 2, Name: "format", Conclusion: vcs.ConclusionFailure}},
	}
	if w.on == vcs.GitLab { // its log tells the commands
		check.Log = "\x1b[32;1m$ go version\x1b[0;m\ngo1.26\n\x1b[32;1m$ test -z \"$(gofmt -l .)\"\x1b[0;m\n\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m\n"
	}
	if _, err := w.repo.FinishCheck(check); err != nil {
		t.Fatal(err)
	}
	w.awaitText(pr.Number, "Done and verified")
	if got := w.file("feature", "main.go"); strings.TrimSpace(got) != "package main\n\nfunc main() {}" {
		t.Errorf("main.go is %q", got)
	}
	if n := len(w.pulls()); n != 0 {
		t.Errorf("%d pull requests were opened", n)
	}
	log, err := w.repo.Log("feature")
	if err != nil || len(log) != 3 {
		t.Errorf("log %q, %v: want the person's commit kept and one on top", log, err)
	}
	if r := w.reports(); len(r) != 1 || len(r[0].Verdict.Fixed) != 1 || r[0].Steps == 0 {
		t.Errorf("journal says %+v", r)
	}
}

func TestReviewWithThreeRemarks(t *testing.T) { onEach(t, reviewWithThreeRemarks) }

func reviewWithThreeRemarks(t *testing.T, start starter) {
	var ids []int64
	answer := func(modeltest.Request) modeltest.Reply {
		var replies []any
		for i, id := range ids {
			replies = append(replies, map[string]any{"id": fmt.Sprint(id), "text": fmt.Sprintf("answer %d", i+1)})
		}
		return modeltest.Reply{Calls: []modeltest.Call{{Name: "finish", Args: map[string]any{"summary": "did as asked", "replies": replies}}}}
	}
	steps := append(repair(),
		modeltest.Do(modeltest.Call{Name: "read_file", Args: map[string]any{"path": "add.sh"}}),
		modeltest.Do(modeltest.Call{Name: "edit_file", Args: map[string]any{"path": "add.sh", "old_string": "add() {", "new_string": "# add prints the sum.\nadd() {"}}),
		modeltest.Do(modeltest.Call{Name: "run_command", Args: map[string]any{"command": "make test"}}),
		answer, answer,
	)
	w := start(t, project(), steps, func(c *config.Config) { c.Models.Default = "anthropic/scripted" })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Done and verified")
	pr := w.pulls()[0]
	remarks := []vcstest.Remark{{Path: "add.sh", Line: 1, Body: "say what it does"}, {Path: "add.sh", Line: 1, Body: "name?"}, {Path: "add.sh", Line: 1, Body: "style"}}
	review, err := w.repo.SubmitReview("maintainer", pr.Number, vcs.ReviewChangesRequested, "Nearly.", remarks...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range review.Remarks {
		ids = append(ids, r.ID)
	}
	w.awaitText(pr.Number, "Done and verified")
	if got := w.file(pr.Head.Name, "add.sh"); !strings.HasPrefix(got, "# add prints the sum.\n") {
		t.Errorf("add.sh is %q", got)
	}
	for i, remark := range w.repo.Reviews(pr.Number)[0].Remarks {
		if n := len(remark.Comments); n != 2 || !strings.Contains(remark.Comments[1].Body, fmt.Sprintf("answer %d", i+1)) {
			t.Errorf("thread %d: %+v", i, remark.Comments)
		}
	}
	if r := w.repo.RequestedReviewers(pr.Number); len(r) != 1 || r[0] != "maintainer" {
		t.Errorf("asked to look again: %v", r)
	}
	if r := w.reports(); len(r) != 2 {
		t.Errorf("%d runs, want one for the issue and one for the review", len(r))
	}
}

func TestStrangerAndUnsigned(t *testing.T) {
	w := start(t, project(), nil)
	issue, err := w.repo.OpenIssue("contributor", "Red", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.repo.Comment(issue.Number, "contributor", "/agent fix"); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.addr+"/webhooks/github", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "issue_comment")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("unsigned delivery got %s", res.Status)
	}
	w.await("the decision", func() error {
		if !strings.Contains(w.log.String(), "effect=deny") {
			return fmt.Errorf("no decision yet")
		}
		return nil
	})
	if c, r := w.ours(issue.Number), w.repo.Reactions(issue.Number); len(c)+len(r) != 0 {
		t.Errorf("a stranger got %+v, %+v", c, r)
	}
}
