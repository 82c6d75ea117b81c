package gitlabhook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// head is the object name of the stored payloads' heads.
const head = "8bd1f2e5a9c34d7f8e6b0a1c2d3e4f5061728394"

func TestHostileVariants(t *testing.T) {
	p, all := newParser(t), webhooktest.GitLabHostile()
	for _, v := range all {
		t.Run(v.What, func(t *testing.T) {
			name, _ := sample(t, v.Payload)
			changed, err := v.Body()
			if err != nil {
				t.Fatal(err)
			}
			r := read(t, p, name, changed)
			if got := line(r); got != v.Want && (v.Want != webhooktest.VariantRefused || r.Error == "") {
				t.Errorf("gives %q, want %q", got, v.Want)
			}
			if r.Event != nil {
				validate(t, *r.Event)
			}
		})
	}
	t.Logf("%d hostile variants", len(all))
}

// validate holds what no event may be without.
func validate(t *testing.T, e vcs.Event) {
	t.Helper()
	var faults []error
	if !e.Repo.IsZero() {
		faults = append(faults, e.Repo.Validate())
	}
	if pr := e.PullRequest; pr != nil {
		faults = append(faults, vcs.ValidateBranch(pr.Head.Name), vcs.ValidateBranch(pr.Base.Name))
		if !pr.Head.Repo.IsZero() {
			faults = append(faults, pr.Head.Repo.Validate())
		}
		if pr.Head.SHA != "" {
			faults = append(faults, vcs.ValidateSHA(pr.Head.SHA))
		}
	}
	if c := e.Check; c != nil {
		faults = append(faults, vcs.ValidateSHA(c.HeadSHA))
		if c.HeadBranch != "" {
			faults = append(faults, vcs.ValidateBranch(c.HeadBranch))
		}
	}
	if e.Kind != vcs.EventUnsupported && (e.Repo.IsZero() || e.Repo.ID <= 0 || e.Object == "") {
		faults = append(faults, errors.New("no project or object"))
	}
	if strings.ContainsAny(e.Key(), "\n\r\x00") {
		faults = append(faults, errors.New("key with a line break"))
	}
	if err := errors.Join(faults...); err != nil {
		t.Errorf("%s %s: %v", e.Name, e.Kind, err)
	}
}

func TestHostileStructures(t *testing.T) {
	cases := map[string]string{
		"nothing":          "",
		"a list":           "[]",
		"a word":           "null",
		"cut off":          `{"object_kind":"note","project":{"path_with_name`,
		"text behind":      `{"object_kind":"note","project":{"path_with_namespace":"a/b"}} x`,
		"lists in lists":   `{"object_kind":"issue","labels":` + strings.Repeat("[", 3_000_000),
		"objects forever":  strings.Repeat(`{"project":`, 1_000_000),
		"unknown forever":  `{"x":` + strings.Repeat("[", 3_000_000),
		"attributes twice": `{"object_kind":"note","object_attributes":{},"object_attributes":{}}`,
		"object twice":     `{"object_kind":"note","object_kind":"issue"}`,
	}
	p := newParser(t)
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			for _, event := range []string{"Note Hook", "Issue Hook", "System Hook", "Job Hook"} {
				if _, err := p.Peek(event, []byte(body)); !errors.Is(err, webhook.ErrUnusable) {
					t.Errorf("%s: looking at it: %v", event, err)
				}
				if _, err := p.Parse(event, "d", []byte(body)); !errors.Is(err, vcs.ErrInvalid) {
					t.Errorf("%s: reading it: %v", event, err)
				}
			}
		})
	}
}

// TestNamesOfEvents: a name that is not known is never looked into.
func TestNamesOfEvents(t *testing.T) {
	p := newParser(t)
	for _, name := range []string{"", "Emoji Hook", "Deployment Hook", "Member Hook", "Confidential Push", "note hook", "Note Hook\n", "../x"} {
		g, err := p.Peek(name, []byte("{"))
		if err != nil || g.Ignore != "event not used" {
			t.Errorf("%q: %+v, %v", name, g, err)
		}
		if e, err := p.Parse(name, "d", []byte("{")); err != nil || e.Kind != vcs.EventUnsupported || strings.ContainsAny(e.Name, "\n/") {
			t.Errorf("%q: %+v, %v", name, e, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"note.issue", "note.diff", "issue.update.labels", "merge_request.open.fork", "pipeline.failed.merge_request", "job.failed", "push", "work_item.epic"} {
		name, body := sample(f, file)
		f.Add(name, body)
	}
	f.Add("System Hook", []byte(`{"event_name":"user_create"}`))
	p := newParser(f)
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		if _, err := p.Peek(name, body); err != nil && !errors.Is(err, webhook.ErrUnusable) {
			t.Errorf("looking at it: %v", err)
		}
		e, err := p.Parse(name, "d", body)
		if err != nil {
			if !errors.Is(err, webhook.ErrUnusable) || !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("reading it: %v", err)
			}
			return
		}
		validate(t, e)
	})
}
