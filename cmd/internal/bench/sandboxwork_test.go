package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
)

const native = "native"

const (
	treeDirs     = 100
	treeFiles    = 100 // in each directory
	needleEvery  = 10  // of the files one holds what is looked for
	longRounds   = 2
	middleRounds = 9
	shortRounds  = 15
)

// work is what is measured: a script that is run in the workspace.
type work struct {
	name   string
	before string // not measured
	script string
	rounds int
	want   string // of its output; empty is none
}

func works() []work {
	return []work{
		{name: "git status, 10,000 files", script: "cd tree && git status --short", rounds: shortRounds},
		{name: "grep -r, 10,000 files", script: "grep -rl needle tree --include='*.txt' | wc -l", rounds: shortRounds, want: fmt.Sprint(treeDirs * treeFiles / needleEvery)},
		{name: "go test -count=1, warm", script: "cd module && go test -count=1 ./mean", rounds: middleRounds, want: "ok"},
		{name: "go build, warm", script: `cd module && go build -o "$TMPDIR/program" .`, rounds: middleRounds},
		{name: "go build, cold", before: `rm -rf "$TMPDIR/cold"`, script: `cd module && GOCACHE="$TMPDIR/cold" go build -o "$TMPDIR/program" .`, rounds: longRounds},
	}
}

// BenchmarkSandboxWork measures work that repositories ask for, natively as the
// run's account and in each sandbox, in turns, each in a tree of its own.
func BenchmarkSandboxWork(b *testing.B) {
	l, t := newLab(b), timings{}
	before, err := offspring()
	l.must(err)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	l.must(err)
	root := strings.TrimSpace(string(goroot))
	if !layout.Reachable(root) {
		b.Skipf("runs' accounts cannot reach Go in %s", root)
	}
	stands := []stand{l.nativeWork(root)}
	for _, d := range l.drivers {
		stands = append(stands, l.boxWork(d, root))
	}
	for _, w := range works() {
		for round := range w.rounds + 1 {
			for n := range stands {
				if w.rounds == longRounds && round == 0 && n > 0 {
					continue // warms the page cache alone, which natively is enough
				}
				l.must(w.once(t, stands[(round+n)%len(stands)], round == 0))
			}
		}
	}
	for _, w := range works() {
		t.show(l, w.name, native, "bwrap", "runsc")
	}
	l.ratios(t)
	m, parts, err := grown(before)
	l.must(err)
	l.note("all sandboxes after the work: Pss %.1f MB: %v", float64(m.pss)/(1<<20), parts)
	l.setting()
}

// once runs it, and forgets how long the first took.
func (w work) once(t timings, s stand, first bool) error {
	if w.before != "" {
		if _, err := s.run("/bin/sh", "-c", w.before); err != nil {
			return fmt.Errorf("%s, before %s: %w", s.name, w.name, err)
		}
	}
	if first {
		t = timings{}
	}
	return t.measure(s.name, w.name, func() error {
		out, err := s.run("/bin/sh", "-c", w.script)
		if err == nil && (w.want == "" && out.TotalBytes > 0 || !strings.HasPrefix(out.String(), w.want)) {
			err = fmt.Errorf("output %.500q, want %q", out, w.want)
		}
		return err
	})
}

// nativeWork runs on the host, where Go's own directory is what it is.
func (l *lab) nativeWork(goroot string) stand {
	dir := l.room()
	ws, home, temp := l.owned(dir, "workspace"), l.owned(dir, "home"), l.owned(dir, "tmp")
	env := hostEnv(home, temp, "PATH="+filepath.Join(goroot, "bin")+":/usr/local/bin:/usr/bin:/bin")
	s := l.hostStand(native, l.account.Attr(), ws, env)
	l.furnish(s, ws, l.account.UID, l.account.GID)
	return s
}

// boxWork runs in a sandbox that sees Go where it is, or at a place for it.
func (l *lab) boxWork(d sandbox.Driver, goroot string) stand {
	spec := l.spec()
	spec.Path = []string{filepath.Join(goroot, "bin")}
	if !strings.HasPrefix(goroot, "/usr/") {
		const place = "/opt/go"
		spec.Path = []string{place + "/bin"}
		spec.Mounts = []sandbox.Mount{{Source: goroot, Target: place}}
	}
	box := l.start(d, spec)
	s := l.boxStand(d.Name(), box)
	uid, gid := box.Owner()
	l.furnish(s, spec.Workspace, uid, gid)
	return s
}

// furnish fills a workspace. What git keeps is made where it is used, so that
// its index knows the files as they are seen there.
func (l *lab) furnish(s stand, workspace string, uid, gid int) {
	l.b.Helper()
	files := map[string]string{
		"module/go.mod":            "module example.com/widgets\n\ngo 1.22\n",
		"module/main.go":           "package main\n\nimport (\n\t\"encoding/json\"\n\t\"log\"\n\t\"os\"\n\t\"text/template\"\n\n\t\"example.com/widgets/mean\"\n)\n\nfunc main() {\n\tt := template.Must(template.New(\"\").Parse(\"{{.}}\\n\"))\n\tif err := t.Execute(os.Stdout, mean.Of(1, 2)); err != nil {\n\t\tlog.Fatal(err)\n\t}\n\t_ = json.NewEncoder(os.Stdout).Encode(mean.Of(3, 4))\n}\n",
		"module/mean/mean.go":      "// Package mean has means.\npackage mean\n\n// Of is the mean of two.\nfunc Of(a, b float64) float64 { return (a + b) / 2 }\n",
		"module/mean/mean_test.go": "package mean_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/widgets/mean\"\n)\n\nfunc TestOf(t *testing.T) {\n\tif mean.Of(1, 3) != 2 {\n\t\tt.Error(\"not 2\")\n\t}\n}\n",
	}
	for d := range treeDirs {
		for f := range treeFiles {
			text := strings.Repeat(fmt.Sprintf("Line of file %d in %d.\n", f, d), 20)
			if f%needleEvery == 0 {
				text += "needle\n"
			}
			files[fmt.Sprintf("tree/d%02d/f%02d.txt", d, f)] = text
		}
	}
	for name, text := range files {
		path := filepath.Join(workspace, name)
		l.must(os.MkdirAll(filepath.Dir(path), 0o755))
		l.must(os.WriteFile(path, []byte(text), 0o644))
	}
	if os.Geteuid() == 0 {
		l.must(filepath.WalkDir(workspace, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, uid, gid)
			}
			return err
		}))
	}
	const commit = "cd tree && git init -q && git add . && git -c gc.auto=0 -c maintenance.auto=false -c user.name=Bench -c user.email=bench@example.com commit -qm all && git gc -q --prune=now && git status --short"
	if out, err := s.run("/bin/sh", "-c", commit); err != nil || out.TotalBytes > 0 {
		l.b.Fatalf("%s: committing: %v: %.500s", s.name, err, out)
	}
}

// ratios are what the sandboxes cost.
func (l *lab) ratios(t timings) {
	for _, d := range l.drivers {
		figures, lines := map[string]float64{}, []string{}
		for _, w := range works() {
			over := func(q float64) float64 {
				return float64(t.at(d.Name(), w.name, q)) / float64(t.at(native, w.name, q))
			}
			ratio := over(0.5)
			lines = append(lines, fmt.Sprintf("%-28s %6.2f of native, the fastest %6.2f", w.name, ratio, over(0)))
			figures[strings.NewReplacer(", ", "-", " ", "-").Replace(w.name)] = ratio
		}
		l.show(d.Name()+" to native", figures, lines...)
	}
}
