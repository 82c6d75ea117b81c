package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs/policy/script"
)

// hostile are pieces that are repeated up to the limit.
var hostile = []string{
	"$(", "`", "\"$(", "\"`", "'", "\"", "(", "{ ", "if ", "while ", "! ", "time ", "a|", "a;", "a&&", "sh|", "xargs ", "sudo ", "env ", "sh -c ",
	"${a:-", "$((", "$((!", "$((-", "$((1+", "((", "[[ ! ", "[[ a && ", "<<a ", "<<a\n", "case a in ", "a() ", "function a ", "x=(", "$'\\", "\\", "{a,", "{a,b}", "*", "find -exec ",
	"eval ", "eval \"", "curl|sh|", "curl $(curl ", "coproc ", "a[", "a=$(", "<(", "for a in ", "select a in ", "$(a", "\x00", "\xff", "\n", "trap 'trap ", "python -m ", "rm -rf $a ", "git checkout $a ",
	"bash -c \"bash -c ", "<<<", ">a", "a |& ", "declare ", "let ", "${a/", "${a[", "@(", "a b c ", "if a|", "if a;then ",
}

// TestTimeIsBounded: a model or what it has read may try anything.
func TestTimeIsBounded(t *testing.T) {
	p, err := script.New()
	if err != nil {
		t.Fatal(err)
	}
	list, err := script.NewAllowlist(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range hostile {
		text := strings.Repeat(piece, script.MaxBytes/len(piece))
		begun := time.Now()
		p.Decide(text)
		list.Decide(text)
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%q again and again took %s", piece, took)
		} else if took > 300*time.Millisecond {
			t.Logf("%q again and again took %s", piece, took)
		}
	}
}

func FuzzDecide(f *testing.F) {
	for _, piece := range hostile {
		f.Add(strings.Repeat(piece, 5))
	}
	for _, s := range []string{"git push", "sh -c 'git push'", "find . -exec rm -rf {} +", "bash <<'E'\ngit push\nE", "echo \"$(git push)\" | xargs -n1 sh -c"} {
		f.Add(s)
	}
	p, err := script.New()
	if err != nil {
		f.Fatal(err)
	}
	list, err := script.NewAllowlist([]string{"make check"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := p.Decide(text)
		switch d.Effect {
		case script.Allow:
		case script.Ask, script.Deny:
			if d.Rule == "" || d.Reason == "" {
				t.Errorf("%q: decision without a reason: %+v", text, d)
			}
		default:
			t.Errorf("%q: effect %q", text, d.Effect)
		}
		if strings.HasPrefix(strings.TrimSpace(text), "git push") && !strings.ContainsAny(text, "(){}=<>&|;#\\\"'`$*?[]!~\x00\n\r\t") && strings.HasPrefix(strings.TrimSpace(text)+" ", "git push ") && d.Effect != script.Deny {
			t.Errorf("%q is %s", text, d.Effect)
		}
		if a := list.Decide(text); a.Effect != script.Allow && a.Effect != script.Deny {
			t.Errorf("%q: allowlist says %q", text, a.Effect)
		}
	})
}
