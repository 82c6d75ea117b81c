package gitlab_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
)

const projectPath = "GET projects/acme%2Fwidgets"

func TestChecks(t *testing.T) {
	job := func(id int, name, status, more string) string {
		return fmt.Sprintf(`{"id":%d,"name":%q,"status":%q,"ref":"guard","web_url":"https://gitlab.example/-/jobs/%d"%s}`, id, name, status, id, more)
	}
	f := newFake(t, map[string]string{
		projectPath + "/repository/commits/" + sha1 + "/merge_requests": "[" + mergeJSON(t, nil) + "," + mergeJSON(t, map[string]any{"iid": 5, "sha": sha2}) + "," + mergeJSON(t, map[string]any{"iid": 6, "state": "merged"}) + "]",
		projectPath + "/pipelines":                                      `[{"id":103,"source":"push"},{"id":102,"source":"merge_request_event"},{"id":101,"source":"push"}]`,
		projectPath + "/pipelines/103/jobs": "[" + strings.Join([]string{
			job(1, "lint", "success", ""), job(2, "test", "failed", `,"failure_reason":"script_failure"`), job(3, "slow", "failed", `,"failure_reason":"job_execution_timeout"`),
			job(4, "stuck", "failed", `,"failure_reason":"stuck_or_timeout_failure"`), job(5, "runner", "failed", `,"failure_reason":"runner_system_failure"`),
			job(6, "flaky", "failed", `,"allow_failure":true`), job(7, "deploy", "manual", ""), job(8, "later", "running", ""), job(9, "off", "skipped", ""),
			job(10, "stopped", "canceled", ""), job(11, "new", "waiting_for_callback", ""),
		}, ",") + "]",
		projectPath + "/pipelines/102/jobs": `[{"id":20,"name":"mr","status":"success","ref":"refs/merge-requests/4/head"}]`,
		projectPath + "/pipelines/101/jobs": "[" + job(30, "test", "failed", "") + "]",
		projectPath + "/repository/commits/" + sha1 + "/statuses": `[{"id":2,"name":"test","status":"failed"},{"id":30,"name":"test","status":"failed"},
			{"id":40,"name":"coverage","status":"failed","target_url":"https://cov.example/1","ref":"guard"}]`,
	})
	ks, err := f.forge(t).Checks(t.Context(), widgets(), sha1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range ks {
		if !slices.Equal(k.PullRequests, []int{4}) || k.HeadSHA != sha1 || k.HeadBranch != "guard" {
			t.Errorf("check is %+v", k)
		}
		got = append(got, fmt.Sprint(k.ID, " ", k.Name, " ", k.App, " ", k.Completed, " ", k.Conclusion))
	}
	want := []string{
		"1 lint gitlab-ci true success", "2 test gitlab-ci true failure", "3 slow gitlab-ci true timed_out", "4 stuck gitlab-ci true timed_out",
		"5 runner gitlab-ci true failure", "6 flaky gitlab-ci true neutral", "7 deploy gitlab-ci true skipped", "8 later gitlab-ci false ",
		"9 off gitlab-ci true skipped", "10 stopped gitlab-ci true canceled", "11 new gitlab-ci false ", "20 mr gitlab-ci true success",
		"40 coverage external true failure",
	}
	if !slices.Equal(got, want) {
		t.Errorf("checks: %s", cmp.Diff(want, got))
	}
}

// esc makes the colours and ends of a runner's log readable in a test.
var esc = strings.NewReplacer("^", "\x1b[0K", "<", "\x1b[32;1m$ ", ">", "\x1b[0;m", "|", "\r")

func TestCheckJob(t *testing.T) {
	cases := map[string]struct {
		job, trace string
		want       []string
	}{
		"failed": {`"status":"failed"`, "Running with gitlab-runner\nsection_start:1:step_script|^^\x1b[36;1mExecuting>\n<go vet ./...>\nok\n<go test ./...>\nFAIL\nERROR: Job failed: exit code 1\n",
			[]string{"1 go vet ./... success", "2 go test ./... failure"}},
		"several lines":                         {`"status":"failed"`, "<go build # collapsed multi-line command>\n<make>\n", []string{"1 go build success", "2 make failure"}},
		"with timestamps":                       {`"status":"failed"`, "2026-05-22T12:43:46.962646Z 00O section_start:1:step_script|^\n2026-05-22T12:43:46.962646Z 00O ^<make a>\n2026-05-22T12:43:47.1Z 01E+<make b>\n", []string{"1 make a success", "2 make b failure"}},
		"section on one line":                   {`"status":"failed"`, "section_start:1:step_script|^<make>\n", []string{"1 make failure"}},
		"after_script":                          {`"status":"failed"`, "<make>\nsection_end:1:step_script|^section_x\nsection_start:2:after_script|^^\x1b[36;1mRunning after_script>\n<cleanup>\n", []string{"1 make failure"}},
		"after_script, its mark behind another": {`"status":"failed"`, "<make>\nsection_end:1:step_script|^section_start:2:after_script[collapsed=true]|^^\x1b[36;1mRunning after_script>\n<cleanup>\n", []string{"1 make failure"}},
		"timed out":                             {`"status":"failed","failure_reason":"job_execution_timeout"`, "<sleep 9>\n", []string{"1 sleep 9 timed_out"}},
		"may fail":                              {`"status":"failed","allow_failure":true`, "<make>", []string{"1 make failure"}},
		"went well":                             {`"status":"success"`, "<make>\n", []string{"1 make success"}},
		"quoted by output":                      {`"status":"failed"`, "echo \x1b[32;1m$ rm -rf /\x1b[0;m\n$ plain\n<make>\n", []string{"1 make failure"}},
		"erased":                                {`"status":"failed"`, "404 {}", nil},
		"for members only":                      {`"status":"failed"`, "403 {}", nil},
		"empty":                                 {`"status":"failed"`, "", nil},
		"a very long line":                      {`"status":"failed"`, strings.Repeat("x", 1<<20) + "\n<make>\n", []string{"1 make failure"}},
		"a very long command":                   {`"status":"failed"`, "<" + strings.Repeat("y", 1<<20) + ">\n", []string{"1 " + strings.Repeat("y", 64<<10-len("\x1b[32;1m$ ")) + " failure"}},
		"too many commands":                     {`"status":"failed"`, strings.Repeat("<x>\n", 2000), nil},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{
			projectPath + "/jobs/5":       `{"id":5,"name":"test","pipeline":{"sha":"` + sha1 + `"},` + c.job + `}`,
			projectPath + "/jobs/5/trace": esc.Replace(c.trace),
		})
		j, err := f.forge(t).CheckJob(t.Context(), widgets(), vcs.Check{ID: 5, App: "gitlab-ci"})
		if err != nil || j.Name != "test" || j.HeadSHA != sha1 || j.WorkflowPath != ".gitlab-ci.yml" || j.Steps == nil {
			t.Errorf("%s: %.200v, %v", name, j, err)
		}
		if name == "too many commands" {
			if len(j.Steps) != 1000 {
				t.Errorf("%s: %d", name, len(j.Steps))
			}
			continue
		}
		var got []string
		for _, s := range j.Steps {
			got = append(got, fmt.Sprint(s.Number, " ", s.Name, " ", s.Conclusion))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %.300q, want %.300q", name, got, c.want)
		}
	}
}

func TestMergeRequestsAtACommit(t *testing.T) {
	f := newFake(t, map[string]string{
		projectPath + "/repository/commits/" + sha1 + "/merge_requests": "[" + mergeJSON(t, nil) + "," + mergeJSON(t, map[string]any{"iid": 5, "sha": sha2}) + "," + mergeJSON(t, map[string]any{"iid": 6, "state": "merged"}) + "]",
		projectPath + "/repository/commits/" + sha2 + "/merge_requests": "[]",
	})
	for sha, want := range map[string][]int{sha1: {4}, sha2: {}} {
		if got, err := f.forge(t).PullRequestsAt(t.Context(), widgets(), sha); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", sha, got, err, want)
		}
	}
	if len(f.seen) != 2 {
		t.Errorf("%d requests for two answers: %q", len(f.seen), f.seen)
	}
	if _, err := f.forge(t).PullRequestsAt(t.Context(), widgets(), "main"); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("at a branch: %v", err)
	}
}

func TestCIFile(t *testing.T) {
	for path, want := range map[string]string{
		`null`: ".gitlab-ci.yml", `""`: ".gitlab-ci.yml", `"ci/main.yml"`: "ci/main.yml",
		`"ci.yml@acme/shared"`: "", `"ci.yml@acme/shared:main"`: "", `"https://example.com/ci.yml"`: "",
	} {
		f := newFake(t, map[string]string{
			projectPath: `{"id":81,"path_with_namespace":"acme/widgets","ci_config_path":` + path + `}`, projectPath + "/jobs/5/trace": "x",
			projectPath + "/jobs/5": `{"id":5,"name":"test","status":"failed","commit":{"id":"` + sha1 + `"}}`,
		})
		j, err := f.forge(t).CheckJob(t.Context(), widgets(), vcs.Check{ID: 5, App: "gitlab-ci"})
		if j.WorkflowPath != want || (want == "") != errors.Is(err, vcs.ErrNotFound) {
			t.Errorf("%s: %q, %v; want %q", path, j.WorkflowPath, err, want)
		}
	}
}

func TestOtherChecks(t *testing.T) {
	f := newFake(t, map[string]string{projectPath + "/jobs/6": `{"id":6,"pipeline":{"sha":"main"}}`})
	g := f.forge(t)
	for what, k := range map[string]vcs.Check{"none": {}, "external": {ID: 5, App: "external"}, "no app": {ID: 5}, "not there": {ID: 5, App: "gitlab-ci"}} {
		if _, err := g.CheckJob(t.Context(), widgets(), k); !errors.Is(err, vcs.ErrNotFound) {
			t.Errorf("job of %s: %v", what, err)
		}
		if _, err := g.CheckLog(t.Context(), widgets(), k); !errors.Is(err, vcs.ErrNotFound) {
			t.Errorf("log of %s: %v", what, err)
		}
	}
	if _, err := g.CheckJob(t.Context(), widgets(), vcs.Check{ID: 6, App: "gitlab-ci"}); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("a job without a commit: %v", err)
	}
}

// TestLogIsAsStored: sections and colours are for whoever reads it.
func TestLogIsAsStored(t *testing.T) {
	raw := esc.Replace("section_start:1:step_script|^<make>\nexit code 1\n")
	f := newFake(t, map[string]string{projectPath + "/jobs/5/trace": raw})
	rc, err := f.forge(t).CheckLog(t.Context(), widgets(), vcs.Check{ID: 5, App: "gitlab-ci"})
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if b, err := io.ReadAll(rc); err != nil || string(b) != raw {
		t.Errorf("log is %q, %v", b, err)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(esc.Replace("<make>\nsection_start:2:after_script|^\n<x>"), "failed")
	f.Add("section_start:\r\x1b[0Ksection_end\r\x1b[0K\n2026-05-22T12:43:46Z 00O \x1b[32;1m$ \n", "success")
	f.Fuzz(func(t *testing.T, trace, status string) {
		if strings.ContainsAny(status, "\"\\") || !isPlain(status) || len(trace) > 1<<16 {
			return
		}
		srv := newFake(t, map[string]string{
			projectPath + "/jobs/5": `{"id":5,"pipeline":{"sha":"` + sha1 + `"},"status":"` + status + `"}`, projectPath + "/jobs/5/trace": "200 " + trace,
		})
		j, err := srv.forge(t).CheckJob(t.Context(), widgets(), vcs.Check{ID: 5, App: "gitlab-ci"})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range j.Steps {
			if s.Number != i+1 || s.Name == "" || strings.ContainsAny(s.Name, "\n") || i < len(j.Steps)-1 && s.Conclusion != vcs.ConclusionSuccess {
				t.Errorf("step %d of %q is %+v", i, trace, s)
			}
		}
	})
}

func isPlain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
