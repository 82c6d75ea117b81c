package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

var rules = policy.Config{}.WithDefaults()

// Put together here, so that no scanner takes this file for a leak.
var (
	awsKey     = "AKIA" + "ABCDEFGHIJKLMNOP"
	githubKey  = "ghp" + "_" + strings.Repeat("aB3", 13)
	privateKey = "-----BEGIN RSA " + "PRIVATE KEY-----"
)

// diff is a unified diff that removes and adds lines of a file.
func diff(path string, removed, added []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex 1..2 100644\n--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@ func x()\n", path, path, path, path, len(removed)+1, len(added)+1)
	b.WriteString(" context\n")
	for _, l := range removed {
		b.WriteString("-" + l + "\n")
	}
	for _, l := range added {
		b.WriteString("+" + l + "\n")
	}
	return b.String()
}

func set(files ...git.FileChange) *git.ChangeSet { return &git.ChangeSet{Files: files, Tree: "x"} }

func file(path string, added int) git.FileChange {
	return git.FileChange{Path: path, Kind: "modified", OldMode: "100644", NewMode: "100644", Added: added}
}

func TestInspect(t *testing.T) {
	one := set(file("a.go", 1))
	var many []git.FileChange
	for i := range 1001 {
		many = append(many, file(fmt.Sprintf("f%d", i), 1))
	}
	cases := []struct {
		name string
		set  *git.ChangeSet
		diff string
		want string // in the only fault; empty for none
	}{
		{"plain", one, diff("a.go", nil, []string{"x := 1"}), ""},
		{"nothing", set(), "", ""},
		{"protected", set(file(".github/workflows/ci.yml", 1)), "", `".github/workflows/ci.yml" is a protected path`},
		{"protected, removed", set(git.FileChange{Path: ".greenwright.yml", Kind: "deleted", OldMode: "100644"}), "", "protected path"},
		{"looks like protected", set(file("docs/.github/workflows/ci.yml", 1)), "", ""},
		{"too many files", set(many...), "", "1001 files"},
		{"most files", set(many[:1000]...), "", ""},
		{"too many lines", set(file("a", 50_001)), "", "50001 lines"},
		{"most lines", set(file("a", 50_000)), "", ""},

		{"secret added", one, diff("a.go", nil, []string{"key := " + awsKey}), `"a.go" would hold what looks like an AWS access key`},
		{"token added", one, diff("a.go", nil, []string{githubKey}), "a GitHub token"},
		{"private key added", one, diff("a.go", nil, []string{privateKey}), "a private key"},
		{"secret removed", one, diff("a.go", []string{awsKey}, nil), ""},
		{"secret in context", one, "--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,3 @@\n " + awsKey + "\n x\n+y\n", ""},
		{"secret in the heading of a hunk", one, "--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@ " + awsKey + "\n x\n+y\n", ""},
		{"secret in a line that looks like a header", one, diff("a.go", nil, []string{"++ b/" + awsKey}), "an AWS access key"},
		{"secret after a line that looks like a header", one, diff("a.go", nil, []string{"++ /dev/null", awsKey}), `"a.go" would hold`},
		{"secret after a removed line that looks like a header", one, diff("a.go", []string{"-- a/other"}, []string{awsKey}), `"a.go" would hold`},
		{"secret in the second file", one, diff("a.go", []string{"x"}, []string{"y"}) + diff("b/c.go", nil, []string{"z", awsKey}), `"b/c.go" would hold`},
		{"secret after a line without newline", one, "--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-x\n\\ No newline at end of file\n+y\n+" + awsKey + "\n\\ No newline at end of file\n", "an AWS access key"},
		{"secret in a new file", one, "diff --git a/a.go b/a.go\nnew file mode 100644\n--- /dev/null\n+++ b/a.go\n@@ -0,0 +1 @@\n+" + awsKey + "\n", "an AWS access key"},
		{"secret twice", one, diff("a.go", nil, []string{awsKey, awsKey}), "an AWS access key"},
		{"nearly a secret", one, diff("a.go", nil, []string{awsKey[:19], "sk-learn", "ghp_short", "xAKIA" + "ABCDEFGHIJKLMNOP"}), ""},
		{"diff is cut", one, diff("a.go", nil, []string{"x"}) + "# cut: 3 of 9 files are not shown\n", "cannot be looked through"},
		{"diff talks of a cut", one, diff("a.go", nil, []string{"# cut: 3 of 9 files are not shown"}), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := publish.Inspect(rules, c.set, c.diff)
			if c.want == "" {
				if len(got) != 0 {
					t.Errorf("faults are %v, want none", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Text, c.want) {
				t.Fatalf("faults are %v, want one with %q", got, c.want)
			}
			if protected := strings.Contains(c.want, "protected"); got[0].Approvable != protected {
				t.Errorf("a person may let it pass: %v, want %v", got[0].Approvable, protected)
			}
			for _, secret := range []string{awsKey, githubKey} {
				if strings.Contains(got[0].Text, secret) {
					t.Errorf("the fault shows the secret: %s", got[0].Text)
				}
			}
		})
	}
}

// Whatever stands around it, an added line with a secret is found.
func FuzzSecretIsFound(f *testing.F) {
	f.Add("x", "y", "z")
	f.Add("-- a/x", "++ b/x", "@@ -1 +1 @@")
	f.Add("", "diff --git a/x b/x", "++ /dev/null")
	f.Fuzz(func(t *testing.T, removed, before, after string) {
		for _, s := range []string{removed, before, after} {
			if strings.ContainsAny(s, "\n") {
				return
			}
		}
		got := publish.Inspect(rules, set(file("a.go", 1)), diff("a.go", []string{removed}, []string{before, "k " + awsKey, after}))
		if len(got) == 0 {
			t.Errorf("not found between %q, %q and %q", removed, before, after)
		}
	})
}

func FuzzSlug(f *testing.F) {
	for _, s := range []string{"Fix: the Add() overflow!", "", "   ", "Ünïcode", "../../x.lock", "refs/heads/main", "-x", "a..b", "K\u212Aelvin", strings.Repeat("long word ", 20), strings.Repeat("x", 39) + " y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, title string) {
		got := publish.Slug(title)
		if got == "" || len(got) > 40 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(got, "-") || strings.HasSuffix(got, "-") || strings.Contains(got, "--") {
			t.Errorf("Slug(%q) = %q", title, got)
		}
		for _, branch := range []string{got, "greenwright/" + got, "greenwright/7-" + got} {
			if err := vcs.ValidateBranch(branch); err != nil {
				t.Errorf("Slug(%q): %v", title, err)
			}
		}
		if publish.Slug(got) != got {
			t.Errorf("the slug of slug %q is %q", got, publish.Slug(got))
		}
	})
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Fix: the Add() overflow!": "fix-the-add-overflow", "": "change", "…": "change", "  a  b ": "a-b", "Ünïcode": "n-code",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight",
	} {
		if got := publish.Slug(title); got != want {
			t.Errorf("Slug(%q) = %q, want %q", title, got, want)
		}
	}
}
