package demo

import "testing"

func TestGist(t *testing.T) {
	working := "**Baseline**\n\n- [x] prepare\n- [ ] baseline: run — `go test ./...`\n- [ ] work\n- [ ] verify\n- [ ] publish\n\n<sub>at `0123`</sub>\n"
	if got := gist(working); got != "Baseline, `go test ./...`" || ended(working) {
		t.Errorf("got %q, ended %t", got, ended(working))
	}
	done := "➡️ http://forge/pull/2\n\nDone and verified: **all** green.\n\n| a | b |\n"
	if got := gist(done); got != "Done and verified: all green." || !ended(done) {
		t.Errorf("got %q, ended %t", got, ended(done))
	}
}

func TestChooseModel(t *testing.T) {
	cases := []struct {
		name    string
		environ []string
		want    string
	}{
		{"no key", []string{"GREENWRIGHT_MODEL=openai/x"}, ""},
		{"anthropic", []string{"ANTHROPIC_API_KEY=k"}, anthropicModel},
		{"openai", []string{"OPENAI_API_KEY=k"}, openAIModel},
		{"named", []string{"OPENAI_API_KEY=k", "GREENWRIGHT_MODEL=openai/x"}, "openai/x"},
		{"mechanic is no language model", []string{"ANTHROPIC_API_KEY=k", "GREENWRIGHT_MODEL=mechanic/auto"}, anthropicModel},
		{"own server, named", []string{"OPENAI_BASE_URL=http://localhost", "GREENWRIGHT_MODEL=openai/x"}, "openai/x"},
		{"own server, not named", []string{"OPENAI_BASE_URL=http://localhost"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := chooseModel(c.environ)
			if got.name != c.want || (got.name == "") != (got.why != "") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
