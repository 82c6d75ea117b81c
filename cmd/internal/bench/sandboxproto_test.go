package bench_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// The two designs that the prototype measured and that the drivers must not be
// slower than: a bubblewrap of its own for each command, and "runsc exec" in a
// long-lived rootless sandbox. Both run as a run's account. This bubblewrap is
// leaner than the prototype's: no shell script around it and no seccomp
// filter to load.

const (
	protoBwrap = "bwrap for each command"
	protoRunsc = "runsc exec"
)

// bwrapEach starts a bubblewrap for each command.
func (l *lab) bwrapEach() stand {
	dir := l.room()
	ws := l.owned(dir, "workspace")
	var made []string
	for i, f := range layout.MadeUp() {
		name := filepath.Join(dir, strconv.Itoa(i))
		l.must(os.WriteFile(name, []byte(f.Text), 0o600))
		made = append(made, name)
	}
	words := bwrapWords(ws)
	return stand{protoBwrap, func(argv ...string) (sandbox.Output, error) {
		files := make([]*os.File, 0, len(made))
		defer func() {
			for _, f := range files {
				_ = f.Close()
			}
		}()
		for _, name := range made {
			f, err := os.Open(name)
			if err != nil {
				return sandbox.Output{}, err
			}
			files = append(files, f)
		}
		return l.host(l.account.Attr(), dir, []string{}, append(words[:len(words):len(words)], argv...), files...)
	}}
}

func bwrapWords(workspace string) []string {
	words := []string{
		"bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox",
		"--cap-drop", "ALL", "--new-session", "--die-with-parent", "--clearenv", "--ro-bind", "/usr", "/usr",
	}
	for _, link := range layout.SystemLinks() {
		if link.Target == "" {
			words = append(words, "--ro-bind", link.Name, link.Name)
			continue
		}
		words = append(words, "--symlink", link.Target, link.Name)
	}
	words = append(words, "--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/dev/shm",
		"--perms", "1777", "--size", "536870912", "--tmpfs", "/tmp", "--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp",
		"--perms", "0755", "--dir", "/etc")
	for _, f := range layout.SystemFiles() {
		words = append(words, "--ro-bind-try", f, f)
	}
	const first = 3 // the descriptor of the first extra file
	for i, f := range layout.MadeUp() {
		words = append(words, "--ro-bind-data", strconv.Itoa(first+i), f.Path)
	}
	words = append(words, "--perms", "0700", "--size", "536870912", "--tmpfs", "/home/agent", "--bind", workspace, "/workspace", "--chdir", "/workspace")
	for _, kv := range [][2]string{{"HOME", "/home/agent"}, {"USER", "agent"}, {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}, {"TERM", "dumb"}, {"TMPDIR", "/tmp"}} {
		words = append(words, "--setenv", kv[0], kv[1])
	}
	return append(words, "--remount-ro", "/", "--")
}

// runscProto is the other design: one sandbox, and a "runsc exec" for each
// command.
type runscProto struct {
	lab     *lab
	program string
	bundle  string
	state   string
	log     string
}

func (l *lab) newRunscProto() (*runscProto, error) {
	program := sandboxtest.Runsc()
	if program == "" {
		var err error
		if program, err = exec.LookPath("runsc"); err != nil {
			return nil, err
		}
	}
	program, err := layout.GuestProgram(filepath.Join(l.state, "program"), program)
	if err != nil {
		return nil, err
	}
	dir := l.room()
	p := &runscProto{lab: l, program: program, bundle: filepath.Join(dir, "bundle"), state: l.owned(dir, "state"), log: filepath.Join(dir, "log")}
	return p, p.write(l.owned(dir, "workspace"), l.owned(dir, "overlay"))
}

func (p *runscProto) write(workspace, overlay string) error {
	root := filepath.Join(p.bundle, "rootfs")
	var errs []error
	for _, d := range []string{"usr", "etc/ssl", "etc/alternatives", "proc", "dev", "tmp", "home/agent", "workspace", "var"} {
		errs = append(errs, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for _, link := range layout.SystemLinks() {
		if link.Target != "" {
			errs = append(errs, os.Symlink(link.Target, filepath.Join(root, link.Name)))
		}
	}
	ro := []string{"rbind", "ro", "nosuid", "nodev"}
	type object = map[string]any
	bind := func(source, target string, options []string) object {
		return object{"destination": target, "type": "bind", "source": source, "options": options}
	}
	sized := []string{"nosuid", "nodev", "mode=1777", "size=512m"}
	none := []string{}
	text, err := json.Marshal(object{
		"ociVersion": "1.0.2", "hostname": "sandbox", "root": object{"path": "rootfs", "readonly": true},
		"process": object{
			"user": object{"uid": 0, "gid": 0}, "args": []string{"/bin/sleep", "infinity"}, "cwd": "/workspace", "noNewPrivileges": true,
			"env":          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp"},
			"capabilities": object{"bounding": none, "effective": none, "permitted": none, "inheritable": none, "ambient": none},
			"rlimits":      []object{{"type": "RLIMIT_NOFILE", "soft": 4096, "hard": 4096}},
		},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"}, {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
			{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": sized}, {"destination": "/home/agent", "type": "tmpfs", "source": "tmpfs", "options": sized},
			bind("/usr", "/usr", ro), bind("/etc/ssl", "/etc/ssl", ro), bind("/etc/alternatives", "/etc/alternatives", ro),
			bind(workspace, "/workspace", []string{"rbind", "rw", "nosuid", "nodev"}),
		},
		"linux": object{"namespaces": []object{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}}},
	})
	file := filepath.Join(p.bundle, "config.json")
	errs = append(errs, err, os.WriteFile(file, text, 0o400), p.lab.account.Give(file), os.WriteFile(filepath.Join(overlay, ".keep"), nil, 0o600), os.Chmod(p.bundle, 0o755))
	return errors.Join(errs...)
}

func (p *runscProto) words(words ...string) []string {
	flags := []string{p.program, "--root=" + p.state, "--rootless", "--network=none", "--host-uds=open", "--ignore-cgroups", "--overlay2=all:dir=" + filepath.Join(filepath.Dir(p.state), "overlay") + ",size=2g"}
	return append(flags, words...)
}

// start begins a sandbox that stays.
func (p *runscProto) start(id string) error {
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	words := p.words("run", "-detach", "-bundle", p.bundle, id)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{}, "/", p.lab.account.Attr()
	cmd.Stdout, cmd.Stderr = log, log // not pipes, which the sandbox would hold open
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(p.log)
		return errors.Join(err, errors.New(string(said)))
	}
	return nil
}

func (p *runscProto) stand(id string) stand {
	return p.lab.hostStand(protoRunsc, p.attr(), "/", []string{}, p.words("exec", "-cwd", "/workspace", id)...)
}

func (p *runscProto) remove(id string) error {
	_, err := p.lab.host(p.attr(), "/", []string{}, p.words("delete", "-force", id))
	return err
}

func (p *runscProto) attr() *syscall.SysProcAttr { return p.lab.account.Attr() }
