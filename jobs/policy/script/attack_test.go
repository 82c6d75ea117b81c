package script_test

import (
	"testing"

	"github.com/greenwright/greenwright/jobs/policy/script"
)

// TestBothDialects: /bin/sh may be dash or bash.
func TestBothDialects(t *testing.T) {
	p, err := script.New()
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]script.Effect{
		"true &>/dev/null git push":     script.Ask,
		"[[ x || git push ]]":           script.Deny,
		"((git push))":                  script.Deny,
		"a=(1 2)":                       script.Ask,
		"bash -c 'a=(1 2); [[ -f x ]]'": script.Allow,
		"dash -c '[[ x || git push ]]'": script.Deny,
		"$'git' push":                   script.Deny,
	} {
		if d := p.Decide(s); d.Effect != want {
			t.Errorf("%q is %s (%s), want %s", s, d.Effect, d.Reason, want)
		}
	}
}

// TestHiddenCommands are ways to hand a command to something that runs it.
func TestHiddenCommands(t *testing.T) {
	p, err := script.New()
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]script.Effect{
		"env -S'git push'":               script.Deny,
		"env --split-string='git push'":  script.Deny,
		"env -iS 'git push'":             script.Deny,
		"trap -- 'git push' EXIT":        script.Deny,
		"flock /tmp/l -c 'git push'":     script.Deny,
		"script -qc 'git push' x":        script.Deny,
		"script --command='git push'":    script.Deny,
		"watch 'git push'":               script.Deny,
		"watch -n 2 git push":            script.Deny,
		"parallel 'git push' ::: a":      script.Deny,
		"parallel ::: 'git push'":        script.Deny,
		"eval -- 'git push'":             script.Deny,
		"su -c 'git push'":               script.Deny,
		"perl -lne 'system(1)' x":        script.Ask,
		"python3 -X dev -c 'x'":          script.Ask,
		"python3 -Ic 'x'":                script.Ask,
		"python3 -c'x'":                  script.Ask,
		"ruby -ne 'x' f":                 script.Ask,
		"node --eval='x'":                script.Ask,
		"node -r a -e 'x'":               script.Ask,
		"awk 'BEGIN{system(\"x\")}'":     script.Ask,
		"awk '{print | \"sh\"}' f":       script.Ask,
		"awk '$1 == 2 || $3 {print}' f":  script.Allow,
		"perl -Ilib t.pl":                script.Allow,
		"python3 -u x.py --count":        script.Allow,
		"timeout 5 ./x -c y":             script.Allow,
		"bash -co pipefail 'git push'":   script.Deny,
		"echo x | xargs -I{} sh -c '{}'": script.Ask,
	} {
		if d := p.Decide(s); d.Effect != want {
			t.Errorf("%q is %s (%s), want %s", s, d.Effect, d.Reason, want)
		}
	}
}
