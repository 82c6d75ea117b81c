package githubhook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/githubhook"
)

func TestHostileStructures(t *testing.T) {
	p, err := githubhook.New([]vcs.Secret{"x"})
	if err != nil {
		t.Fatal(err)
	}
	const repo = `"repository":{"id":11,"name":"widgets","full_name":"acme/widgets","owner":{"login":"acme","id":1,"type":"Organization"}}`
	cases := map[string]string{
		"lists in lists":  `{"action":"opened","issue":{"number":1,"labels":` + strings.Repeat("[", 5_000_000),
		"a member twice":  `{"action":"created","sender":{"login":"a","id":1,"type":"User"},"sender":{"login":"b","id":2,"type":"User"},` + repo + `}`,
		"objects forever": strings.Repeat(`{"issue":`, 1_000_000),
		"unknown forever": `{"x":` + strings.Repeat("[", 5_000_000),
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			for _, event := range []string{"issues", "issue_comment"} {
				if _, err := p.Parse(event, "d", []byte(body)); !errors.Is(err, vcs.ErrInvalid) {
					t.Errorf("%s: %v", event, err)
				}
			}
		})
	}
}
