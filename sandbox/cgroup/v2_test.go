package cgroup_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/cgroup"
)

// kernel is a model of the version 2 file system: the rules for members,
// controllers and directories, and none of the effects. It shows that the
// right values are written in an order that the real one would take; that the
// limits then hold is shown by nothing here but version 1's tests.
type kernel struct {
	self   string                       // path of the worker's group
	groups map[string]map[string]string // path below /cg → file → content
	denied string                       // no directory can be made here
}

func newKernel(self string, others ...string) *kernel {
	k := &kernel{self: self, groups: map[string]map[string]string{}}
	k.groups["/"] = map[string]string{"cgroup.controllers": "cpu io memory pids\n", "cgroup.subtree_control": "", "cgroup.procs": "1\n"}
	k.groups["/"]["cgroup.subtree_control"] = "cpu memory pids\n"
	for at := "/"; at != self; {
		rest := strings.TrimPrefix(strings.TrimPrefix(self, at), "/")
		at = path.Join(at, strings.SplitN(rest, "/", 2)[0])
		k.add(at)
		if at != self {
			k.groups[at]["cgroup.subtree_control"] = "cpu memory pids\n"
			k.refresh(at)
		}
	}
	k.refresh(self)
	members := append([]string{strconv.Itoa(os.Getpid())}, others...)
	k.groups[self]["cgroup.procs"] = strings.Join(members, "\n") + "\n"
	return k
}

func (k *kernel) add(at string) {
	k.groups[at] = map[string]string{"cgroup.procs": "", "cgroup.type": "domain\n", "cgroup.subtree_control": "", "cgroup.kill": ""}
	k.refresh(at)
}

// refresh gives a group the files of the controllers that its parent hands on.
func (k *kernel) refresh(at string) {
	if at == "/" {
		return
	}
	g, handed := k.groups[at], k.groups[path.Dir(at)]["cgroup.subtree_control"]
	g["cgroup.controllers"] = handed
	for controller, files := range map[string][]string{
		"memory": {"memory.max", "memory.swap.max", "memory.oom.group"}, "pids": {"pids.max"}, "cpu": {"cpu.max"},
	} {
		for _, f := range files {
			if _, ok := g[f]; strings.Contains(handed, controller) && !ok {
				g[f] = "unset"
			}
		}
	}
}

func (k *kernel) file(name string) (group, file string) {
	return path.Dir(strings.TrimPrefix(name, "/cg")), path.Base(name)
}

func (k *kernel) ReadFile(name string) ([]byte, error) {
	if name == "/proc/self/cgroup" {
		return []byte("0::" + k.self + "\n"), nil
	}
	g, f := k.file(name)
	content, ok := k.groups[g][f]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(content), nil
}

func (k *kernel) WriteFile(name, data string) error {
	at, f := k.file(name)
	g, ok := k.groups[at]
	if _, has := g[f]; !ok || !has {
		return fs.ErrNotExist
	}
	switch f {
	case "cgroup.procs":
		for _, other := range k.groups {
			other["cgroup.procs"] = strings.ReplaceAll(other["cgroup.procs"], data+"\n", "")
		}
		g[f] += data + "\n"
	case "cgroup.subtree_control":
		if at != "/" && g["cgroup.procs"] != "" {
			return syscall.EBUSY // no inner members
		}
		for w := range strings.FieldsSeq(data) {
			w = strings.TrimPrefix(w, "+")
			if !slices.Contains(strings.Fields(g["cgroup.controllers"]), w) {
				return syscall.EINVAL
			}
			g[f] += w + " "
		}
		for child := range k.groups {
			if child != "/" && path.Dir(child) == at {
				k.refresh(child)
			}
		}
	default:
		g[f] = data
	}
	return nil
}

func (k *kernel) Mkdir(name string) error {
	at := strings.TrimPrefix(name, "/cg")
	if k.groups[at] != nil {
		return fs.ErrExist
	}
	if k.groups[path.Dir(at)] == nil {
		return fs.ErrNotExist
	}
	if k.denied != "" && strings.HasPrefix(at, k.denied) {
		return fs.ErrPermission
	}
	k.add(at)
	return nil
}

func (k *kernel) Rmdir(name string) error {
	at := strings.TrimPrefix(name, "/cg")
	if k.groups[at] == nil {
		return fs.ErrNotExist
	}
	for child := range k.groups {
		if child != "/" && path.Dir(child) == at {
			return syscall.EBUSY
		}
	}
	if k.groups[at]["cgroup.procs"] != "" {
		return syscall.EBUSY
	}
	delete(k.groups, at)
	return nil
}

func (k *kernel) Dirs(name string) ([]string, error) {
	at := strings.TrimPrefix(name, "/cg")
	if k.groups[at] == nil {
		return nil, fs.ErrNotExist
	}
	var names []string
	for child := range k.groups {
		if child != "/" && path.Dir(child) == at {
			names = append(names, path.Base(child))
		}
	}
	return names, nil
}

func (k *kernel) paths() []string {
	var all []string
	for p := range k.groups {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

func openOn(t *testing.T, k *kernel) *cgroup.Controller {
	t.Helper()
	c, err := cgroup.Open(cgroup.Config{Root: "/cg", Files: k})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestV2Delegated(t *testing.T) {
	for self, base := range map[string]string{
		"/system.slice/gw.service":        "/system.slice/gw.service",
		"/system.slice/gw.service/worker": "/system.slice/gw.service", // DelegateSubgroup=worker
		"/":                               "/",
	} {
		k := newKernel(self)
		c := openOn(t, k)
		if c.Mode() != cgroup.V2 || c.Why() != "" {
			t.Errorf("%s: mode %s: %s", self, c.Mode(), c.Why())
			continue
		}
		before := k.paths()
		g, err := c.Make("run1", sandbox.Limits{MemoryBytes: 1 << 30, Processes: 100, CPUs: 1.5}, 10)
		if err != nil {
			t.Errorf("%s: Make: %v", self, err)
			continue
		}
		at := path.Join(base, "greenwright", "run1")
		got := map[string]string{}
		for _, f := range []string{"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max"} {
			got[f] = k.groups[at][f]
		}
		want := map[string]string{
			"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "0",
			"pids.max": "111", "cpu.max": "150000 100000",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: settings (-want +got):\n%s", self, d)
		}
		if err := g.Remove(t.Context()); err != nil {
			t.Errorf("%s: Remove: %v", self, err)
		}
		if d := cmp.Diff(before, k.paths()); d != "" {
			t.Errorf("%s: after Remove (-before +after):\n%s", self, d)
		}
	}
}

func TestV2Refusals(t *testing.T) {
	shared := newKernel("/user.slice/session.scope", "4242")
	foreign := newKernel("/system.slice/gw.service")
	foreign.denied = "/system.slice/gw.service/"
	poor := newKernel("/system.slice/gw.service")
	poor.groups["/system.slice"]["cgroup.subtree_control"] = "cpu\n"
	poor.refresh("/system.slice/gw.service")
	for want, k := range map[string]*kernel{"other members": shared, "delegated?": foreign, "not available": poor} {
		before := k.paths()
		c := openOn(t, k)
		if c.Mode() != cgroup.None || !strings.Contains(c.Why(), want) {
			t.Errorf("mode %s, why %q; want none, %q", c.Mode(), c.Why(), want)
		}
		if m, p, u := c.Enforces(); m || p || u {
			t.Errorf("%s: enforces something: %v %v %v", want, m, p, u)
		}
		if d := cmp.Diff(before, k.paths()); d != "" {
			t.Errorf("%s: groups were made:\n%s", want, d)
		}
	}
}

func TestV2AFailedMakeLeavesNothing(t *testing.T) {
	k := newKernel("/")
	c := openOn(t, k)
	before := k.paths()
	broken := &brokenKernel{kernel: k}
	c2, err := cgroup.Open(cgroup.Config{Root: "/cg", Files: broken})
	if err != nil || c2.Mode() != cgroup.V2 {
		t.Fatalf("%v, %s", err, c2.Mode())
	}
	broken.file = "pids.max"
	if _, err := c2.Make("run1", sandbox.Limits{}, 0); err == nil || !errors.Is(err, syscall.EIO) {
		t.Errorf("Make: %v", err)
	}
	if d := cmp.Diff(before, k.paths()); d != "" {
		t.Errorf("left behind:\n%s", d)
	}
	_ = c
}

type brokenKernel struct {
	*kernel
	file string
}

func (b *brokenKernel) WriteFile(name, data string) error {
	if path.Base(name) == b.file {
		return syscall.EIO
	}
	return b.kernel.WriteFile(name, data)
}

func TestNoneDoesNothing(t *testing.T) {
	c, err := cgroup.Open(cgroup.Config{Root: t.TempDir()})
	if err != nil || c.Mode() != cgroup.None || c.Why() == "" {
		t.Fatalf("Open: %v, mode %s, why %q", err, c.Mode(), c.Why())
	}
	g, err := c.Make("run1", sandbox.Limits{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, g, self("membership"))
	if err != nil || !strings.HasPrefix(out, "uid ") {
		t.Errorf("Start: %v: %s", err, out)
	}
	err = errors.Join(g.Add(os.Getpid()), g.Kill(t.Context()), g.Remove(t.Context()), c.Sweep(t.Context(), func(string) bool { return false }))
	if err != nil || g.Usage() != (cgroup.Usage{}) {
		t.Errorf("%v, %+v", err, g.Usage())
	}
}

// TestV2OnTheKernel uses the real hierarchy without its controllers.
func TestV2OnTheKernel(t *testing.T) {
	under := "/sys/fs/cgroup/unified"
	if _, err := os.Stat(under + "/cgroup.procs"); err != nil {
		under = "/sys/fs/cgroup"
	}
	name := fmt.Sprintf("test-%d", os.Getpid())
	g, err := cgroup.BareV2(under, name)
	if err != nil {
		t.Skipf("SKIPPED, version 2 is tested on a model only: %v", err)
	}
	cmd := self("membership")
	out, err := run(t, g, cmd)
	if err != nil || !strings.Contains(out, "0::/greenwright/"+name+"\n") {
		t.Errorf("Start: %v: %s", err, out)
	}
	if cmd.SysProcAttr != nil {
		t.Errorf("the command's attributes were changed: %+v", cmd.SysProcAttr)
	}
	fountain := self("fountain")
	startReady(t, g, fountain)
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := g.Remove(ctx); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if left := groupsNamed(t, name); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
