package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// explained is what `event explain` prints of a stored payload.
type explained struct {
	Decision, Kind, Reason, Key string
}

// explain runs the command on a file, with everything that can be left out
// left out.
func explain(t *testing.T, body []byte, more ...string) explained {
	t.Helper()
	file := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := append([]string{"event", "explain", "--forge", "gitlab", "--permission", "write", file}, more...)
	if code := cli.Main(t.Context(), "v0.0.0-test", args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var e explained
	if err := json.Unmarshal(out.Bytes(), &e); err != nil || e.Decision == "" || e.Reason == "" {
		t.Fatalf("%v: prints %s", err, out.String())
	}
	return e
}

// TestExplainRecordedPayloads runs it on the payloads that the authors of
// GitLab's SDK recorded.
func TestExplainRecordedPayloads(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/xanzy/go-gitlab").Output()
	files, globErr := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "webhooks", "*.json"))
	if err != nil || globErr != nil || len(files) == 0 {
		t.Fatalf("the SDK's recorded payloads are not on this machine: %v, %v", err, globErr)
	}
	want := map[string]string{
		"note_issue":            "the comment is somebody else's", // as recorded
		"note_merge_request":    "no command",
		"issue":                 "the opening text is somebody else's",
		"merge_request":         "the opening text is somebody else's",
		"service_merge_request": "nothing reacts to Merge Request Hook update",
		"note_commit":           "note on something else",
		"note_snippet":          "note on something else",
		"pipeline":              "check is not red: success",
		"job":                   "the pipeline's own end counts, when all its jobs have settled",
		"build":                 "check has not ended",
		"push":                  "nothing reacts to Push Hook",
		"group_merge_request":   "delivery not usable: payload of Merge Request Hook: invalid: project id 0", // its recorder left the ids out
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			reason, known := want[name]
			if !known {
				reason = "event not used"
			}
			if got := explain(t, body); got.Decision != "ignored" || got.Reason != reason {
				t.Errorf("%+v, want it ignored because: %s", got, reason)
			}
		})
	}
	t.Logf("%d recorded payloads", len(files))
}

func TestExplainStoredPayloads(t *testing.T) {
	want := map[string]string{
		"note.issue":                       "job fix",
		"note.issue.updated":               "job fix",
		"note.issue.updated_by_another":    "ignored ",
		"note.issue.before_16":             "job fix",
		"note.issue.internal":              "reply fix",
		"note.merge_request":               "job fix",
		"note.diff.before_15":              "job fix",
		"note.by_token":                    "ignored ",
		"issue.update.description":         "job fix",
		"merge_request.update.description": "ignored ", // long after it was opened
		"pipeline.failed":                  "job check_repair",
		"pipeline.failed.merge_request":    "job check_repair",
		"pipeline.failed.forgiven":         "job check_repair",
		"pipeline.failed.child":            "ignored ",
		"job.failed":                       "ignored ",
	}
	for name, decision := range want {
		body, err := webhooktest.GitLabPayload(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := explain(t, body); got.Decision+" "+got.Kind != decision {
			t.Errorf("%s: %+v, want %s", name, got, decision)
		}
	}
}

func TestExplainHostileVariants(t *testing.T) {
	t.Setenv("GREENWRIGHT_GITLAB_URL", "https://git.example.com/gitlab")
	variants, refused := webhooktest.GitLabHostile(), 0
	for _, v := range variants {
		t.Run(v.What, func(t *testing.T) {
			original, err := webhooktest.GitLabPayload(v.Payload)
			if err != nil {
				t.Fatal(err)
			}
			name, nameErr := gitlabhook.EventName(original)
			body, err := v.Body()
			if err != nil || nameErr != nil {
				t.Fatal(err, nameErr)
			}
			got := explain(t, body, "--event", name)
			if reason, ignored := strings.CutPrefix(v.Want, "ignored: "); ignored && got.Reason != reason {
				t.Errorf("%+v, want it ignored because: %s", got, reason)
			}
			if v.Want != webhooktest.VariantRefused {
				return
			}
			refused++
			if got.Decision != "ignored" || got.Key != "" {
				t.Errorf("%+v, want it ignored", got)
			}
		})
	}
	t.Logf("%d hostile variants, of which %d are of no use", len(variants), refused)
}
