package outline_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/outline"
)

func build(t *testing.T, tree outline.Tree) *outline.Index {
	t.Helper()
	x, err := outline.NewBuilder(0, nil).Build(context.Background(), tree)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func shop() memory {
	return memory{
		"go.mod":                   "module shop\n",
		"README.md":                "# Shop\n\nSells things.\n",
		"cart/cart.go":             "package cart\n\n// AddToBasket adds.\nfunc AddToBasket(n int) int { return n }\n\nfunc helper() {}\n",
		"cart/cart_test.go":        "package cart\n\nfunc TestAdd() { AddToBasket(1) }\n",
		"order/checkout.go":        "package order\n\nimport \"shop/cart\"\n\nfunc Checkout() error {\n\tcart.AddToBasket(2)\n\treturn fail(\"basket holds no item\")\n}\n",
		"order/ship.go":            "package order\n\nfunc Ship() { Checkout(); Checkout() }\n",
		"web/src/app.js":           "export function renderPage() {\n  throw new Error('x');\n}\n",
		"app/models/user.py":       "class User:\n    def full_name(self):\n        return self.first\n",
		"src/main/java/a/Bar.java": "package a;\nclass Bar {\n  void baz() {\n  }\n}\n",
		"src/lib.rs":               "pub fn parse_all() {\n}\n",
		"vendor/x/cart.go":         "package cart\n\nfunc AddToBasket() {}\n",
	}
}

func TestIndex(t *testing.T) {
	x := build(t, shop())
	defs := x.Definitions("AddToBasket")
	if len(defs) != 2 || defs[0].Path != "cart/cart.go" || defs[0].From != 4 || defs[1].Path != "vendor/x/cart.go" {
		t.Errorf("definitions: %+v", defs)
	}
	want := []outline.Mentions{{Path: "cart/cart_test.go", Count: 1}, {Path: "order/checkout.go", Count: 1}}
	if diff := cmp.Diff(want, x.References("AddToBasket")); diff != "" {
		t.Error(diff)
	}
	if got := x.References("Checkout"); len(got) != 1 || got[0].Count != 2 {
		t.Errorf("references: %+v", got)
	}
	if len(x.Paths()) != len(shop()) || x.LeftOut() != (outline.LeftOut{}) {
		t.Errorf("%v %v", x.Paths(), x.LeftOut())
	}
}

func TestSeed(t *testing.T) {
	x := build(t, shop())
	cases := []struct{ name, task, first, symbol string }{
		{"path", "crash in order/ship.go", "order/ship.go", ""},
		{"go frame", "panic: boom\n\ngoroutine 1 [running]:\nshop/order.Checkout(...)\n\t/home/ci/build/shop/order/checkout.go:6 +0x1d\n", "order/checkout.go", "Checkout"},
		{"python frame", "Traceback:\n  File \"/srv/app/models/user.py\", line 3, in full_name\nTypeError", "app/models/user.py", "full_name"},
		{"js frame", "Error: x\n    at renderPage (/usr/app/web/src/app.js:2:9)\n", "web/src/app.js", "renderPage"},
		{"java frame", "java.lang.NullPointerException\n\tat a.Bar.baz(Bar.java:3)\n", "src/main/java/a/Bar.java", "baz"},
		{"rust frame", "thread 'main' panicked at src/lib.rs:1:5:\n", "src/lib.rs", "parse_all"},
		{"name", "`AddToBasket` ignores its argument", "cart/cart.go", "AddToBasket"},
		{"quoted", `says "basket holds no item" although there is one`, "order/checkout.go", ""},
		{"words", "users lack their full name", "app/models/user.py", ""},
	}
	for _, c := range cases {
		got := outline.Seed(c.task, x, nil)
		if len(got) == 0 || got[0].Path != c.first || len(got[0].Why) == 0 {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if c.symbol != "" && !strings.Contains(strings.Join(got[0].Symbols, " "), c.symbol) {
			t.Errorf("%s: symbols %v", c.name, got[0].Symbols)
		}
	}
	if got := outline.Seed("", x, nil); len(got) != 0 {
		t.Errorf("from nothing: %+v", got)
	}
}

func TestSeedAsksWhatChangesTogether(t *testing.T) {
	x := build(t, shop())
	var asked []string
	got := outline.Seed("crash in order/ship.go", x, func(paths []string) []string {
		asked = paths
		return []string{"src/lib.rs", "not/there.go"}
	})
	if len(asked) == 0 || asked[0] != "order/ship.go" {
		t.Errorf("asked about %v", asked)
	}
	found := false
	for _, c := range got {
		found = found || c.Path == "src/lib.rs" && c.Why[0] == "changed together with the others"
		if c.Path == "not/there.go" {
			t.Error("a file that does not exist is a candidate")
		}
	}
	if !found {
		t.Errorf("%+v", got)
	}
}

func TestMap(t *testing.T) {
	tree := shop()
	tree["evil\nname.go"] = "package x\n\nfunc EvilNameHere() {}\n"
	tree["uses.go"] = "package y\n\nfunc U() { EvilNameHere() }\n"
	x := build(t, tree)
	text := outline.Map("the checkout", x, 0)
	if text != outline.Map("the checkout", build(t, tree), 0) {
		t.Error("two maps of one tree differ")
	}
	for _, want := range []string{"cart/cart.go\n     4│func AddToBasket(n int) int\n", `"evil\nname.go"`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "cart/cart.go") > strings.Index(text, "web/src/app.js") {
		t.Errorf("what is referred to is not in front:\n%s", text)
	}
	for _, budget := range []int{1, 50, 100, 200} {
		if got := outline.Map("", x, budget); len(got) > budget {
			t.Errorf("%d bytes for a budget of %d", len(got), budget)
		}
	}
	ship := outline.Map("see Ship in order/ship.go", x, 120)
	if !strings.Contains(ship, "Checkout") {
		t.Errorf("the map is not drawn to what the task names:\n%s", ship)
	}
}

// disk is a Tree of a directory that counts what it reads.
type disk struct {
	root  string
	reads *atomic.Int64
}

func (d disk) Walk(ctx context.Context, visit func(outline.Entry) error) error {
	return filepath.WalkDir(d.root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(d.root, p)
		if err != nil {
			return err
		}
		return visit(outline.Entry{Path: rel, Size: info.Size(), Info: info})
	})
}

func (d disk) Read(p string) ([]byte, error) {
	d.reads.Add(1)
	return os.ReadFile(filepath.Join(d.root, p))
}

func TestSecondBuildReadsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		name := filepath.Join(dir, fmt.Sprintf("f%d.go", i))
		if err := os.WriteFile(name, fmt.Appendf(nil, "package a\n\nfunc F%d() {}\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The clock of the builder is an hour ahead, so that the files are old.
	builder := outline.NewBuilder(0, func() time.Time { return time.Now().Add(time.Hour) })
	tree := disk{dir, new(atomic.Int64)}
	step := func(want int64) *outline.Index {
		t.Helper()
		before := tree.reads.Load()
		x, err := builder.Build(context.Background(), tree)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.reads.Load() - before; got != want {
			t.Errorf("%d files read, want %d", got, want)
		}
		return x
	}
	step(50)
	step(0)
	// Same size, and the time of the last write put back.
	name := filepath.Join(dir, "f7.go")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("package a\n\nfunc G7() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	x := step(1)
	if len(x.Definitions("G7")) != 1 || len(x.Definitions("F7")) != 0 {
		t.Error("the change was not seen")
	}
}

// TestFreshFilesAreNotTrusted: a stamp from within the last two seconds proves
// nothing, so the file is read again.
func TestFreshFilesAreNotTrusted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	builder := outline.NewBuilder(0, nil)
	tree := disk{dir, new(atomic.Int64)}
	for range 2 {
		if _, err := builder.Build(context.Background(), tree); err != nil {
			t.Fatal(err)
		}
	}
	if got := tree.reads.Load(); got != 2 {
		t.Errorf("%d reads", got)
	}
}

func TestBuildIsBounded(t *testing.T) {
	tree := memory{"big.go": strings.Repeat("x", outline.MaxBytes+1)}
	for i := range outline.MaxFiles + 50 {
		tree[fmt.Sprintf("d%d/f.go", i)] = "package a\n"
	}
	x := build(t, tree)
	left := x.LeftOut()
	if left.Large != 1 || left.Files != 50 || !strings.Contains(left.String(), "50 files beyond the limits") {
		t.Errorf("%+v %q", left, left)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := outline.NewBuilder(0, nil).Build(ctx, tree); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestBigTree measures a build over the module cache, where there is one.
func TestBigTree(t *testing.T) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	root := strings.TrimSpace(string(out))
	if _, statErr := os.Stat(root); err != nil || statErr != nil || testing.Short() {
		t.Skip("SKIPPED: no module cache to index")
	}
	builder := outline.NewBuilder(0, nil)
	tree := disk{root, new(atomic.Int64)}
	for range 2 {
		start := time.Now()
		x, err := builder.Build(context.Background(), tree)
		if err != nil {
			t.Fatal(err)
		}
		built := time.Since(start)
		start = time.Now()
		text := outline.Map("the flag parser loses a value", x, 0)
		mapped := time.Since(start)
		start = time.Now()
		seeds := outline.Seed("the flag parser loses a value", x, nil)
		t.Logf("%d paths, %d reads: built in %v, map of %d bytes in %v, %d candidates in %v; %s",
			len(x.Paths()), tree.reads.Load(), built, len(text), mapped, len(seeds), time.Since(start), x.LeftOut())
		if len(text) > outline.MapBytes {
			t.Errorf("map of %d bytes", len(text))
		}
		if built > 2*outline.MaxBuildTime {
			t.Errorf("built in %v", built)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		t.Logf("%d MB in use with the index and the cache", m.HeapAlloc>>20)
		runtime.KeepAlive(x)
	}
}

// TestHostileTask wants the ranking of a large text over a large tree to stay
// quick: both are chosen by strangers.
func TestHostileTask(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a large tree")
	}
	tree := memory{}
	var task strings.Builder
	for i := range 5_000 {
		name := fmt.Sprintf("SomeLongName%d", i)
		tree[fmt.Sprintf("d%d/index.go", i)] = fmt.Sprintf("package a\n\nfunc %s() { Shared() }\n\nfunc Shared() {}\n", name)
		fmt.Fprintf(&task, "`%s` x/index.go:%d \"%s and %d\" ", name, i, name, i)
	}
	x := build(t, tree)
	start := time.Now()
	seeds := outline.Seed(task.String(), x, nil)
	text := outline.Map(task.String(), x, 0)
	took := time.Since(start)
	t.Logf("%d candidates, map of %d bytes, %v", len(seeds), len(text), took)
	if took > 5*time.Second || len(seeds) != outline.MaxCandidates || text == "" {
		t.Errorf("took %v, %d candidates", took, len(seeds))
	}
}

func FuzzSeed(f *testing.F) {
	f.Add("at a.b.Bar.baz(Bar.java:3) `AddToBasket` \"no item\"", "src/x.go", "package x\n\nfunc AddToBasket() {}\n")
	f.Add("File \"x\\y.py\", line 3", "x/y.py", "def f(): pass\n")
	f.Fuzz(func(t *testing.T, task, name, src string) {
		tree := memory{name: src, "other.go": "package other\n\nfunc Other() { AddToBasket() }\n"}
		x, err := outline.NewBuilder(0, nil).Build(context.Background(), tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range outline.Seed(task, x, nil) {
			if _, ok := tree[c.Path]; !ok {
				t.Fatalf("%q is no file", c.Path)
			}
		}
		text := outline.Map(task, x, 500)
		if len(text) > 500 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\r\x00") {
			t.Fatalf("%q", text)
		}
	})
}
