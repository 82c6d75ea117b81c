package bwrap

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
)

// The identity inside, whatever it is outside.
const (
	insideUID  = "1000"
	insideUser = "agent"
)

// defaultPath is where a Debian or Ubuntu system and the usual tool chains
// keep programs below /usr, the only part of the host that is visible.
var defaultPath = []string{"/usr/local/go/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// quietEnv keeps tools from asking, paging, colouring and animating.
var quietEnv = []string{
	"CI=1", "TERM=dumb", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive",
	"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat", "MANPAGER=cat",
	"GIT_EDITOR=true", "EDITOR=true", "VISUAL=true",
	"PIP_PROGRESS_BAR=off", "npm_config_yes=true", "npm_config_update_notifier=false",
	"GOTOOLCHAIN=local", "GOTELEMETRY=off",
}

// systemFiles are the parts of /etc that programs need and that name nobody.
var systemFiles = []string{
	"/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/mime.types", "/etc/localtime",
}

// madeUp are files written for the sandbox, so that the host's are not shown.
var madeUp = []struct{ path, text string }{
	{"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"/etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
	{"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
}

// layout is what the argument list depends on besides the Spec and the Cmd.
type layout struct {
	links  []link // /bin and its like, as the host has them
	home   string
	temp   string
	dataFD int // descriptor of the first made-up file; the others follow
	seccFD int
}

// link is a top-level directory that is a symbolic link on merged-usr systems
// (target set) or a real directory (target empty).
type link struct{ name, target string }

// systemLinks reads how the host lays out its top level.
func systemLinks() []link {
	var out []link
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(name); err == nil {
			out = append(out, link{name, target})
		} else if st, err := os.Stat(name); err == nil && st.IsDir() {
			out = append(out, link{name: name})
		}
	}
	return out
}

// arguments builds bubblewrap's options, without the command. The order
// matters: a later mount covers an earlier one.
func arguments(spec sandbox.Spec, cmd sandbox.Cmd, l layout) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--disable-userns", "--uid", insideUID, "--gid", insideUID, "--hostname", "sandbox",
		"--cap-drop", "ALL", "--new-session", "--die-with-parent", "--clearenv",
		"--ro-bind", "/usr", "/usr",
	}
	args = append(args, linkArgs(l.links)...)
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/dev/shm",
		"--bind", l.temp, sandbox.TempDir,
		"--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--perms", "0755", "--dir", "/etc")
	for _, f := range systemFiles {
		args = append(args, "--ro-bind-try", f, f)
	}
	for i, f := range madeUp {
		args = append(args, "--ro-bind-data", strconv.Itoa(l.dataFD+i), f.path)
	}
	args = append(args, "--bind", l.home, sandbox.HomeDir)
	for _, m := range spec.Mounts {
		args = append(args, "--ro-bind", m.Source, m.Target)
	}
	args = append(args, "--bind", spec.Workspace, sandbox.WorkspaceDir, "--chdir", "/")
	for _, kv := range environment(spec, cmd) {
		name, value, _ := strings.Cut(kv, "=")
		args = append(args, "--setenv", name, value)
	}
	return append(args, "--remount-ro", "/", "--seccomp", strconv.Itoa(l.seccFD))
}

func linkArgs(links []link) []string {
	var args []string
	for _, l := range links {
		if l.target == "" {
			args = append(args, "--ro-bind", l.name, l.name)
			continue
		}
		args = append(args, "--symlink", strings.TrimPrefix(l.target, "/"), l.name)
	}
	return args
}

// insideDir places a directory under the workspace, whatever it says.
func insideDir(dir string) string {
	return path.Join(sandbox.WorkspaceDir, path.Join("/", dir))
}

// environment is made from nothing; of two settings of a name the last counts.
func environment(spec sandbox.Spec, cmd sandbox.Cmd) []string {
	env := slices.Concat([]string{
		"HOME=" + sandbox.HomeDir, "USER=" + insideUser, "LOGNAME=" + insideUser,
		"PATH=" + strings.Join(slices.Concat(spec.Path, defaultPath), ":"),
		"LANG=C.UTF-8", "TMPDIR=" + sandbox.TempDir,
	}, quietEnv, spec.Env, cmd.Env)
	seen := map[string]bool{}
	out := make([]string, 0, len(env))
	for _, kv := range slices.Backward(env) {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || seen[name] || strings.ContainsRune(kv, 0) {
			continue
		}
		seen[name] = true
		out = append(out, kv)
	}
	slices.Reverse(out)
	return out
}

// limitScript lowers the resource limits, soft and hard, goes to the directory
// given as its first argument, and becomes the command given as the others.
// That the directory is not there is the command's failure, not the sandbox's:
// what ran before may have removed it. dash names the process limit -p, bash -u.
func limitScript(l sandbox.Limits, ownAccount bool) string {
	const block = 512 // POSIX: ulimit -f counts 512-byte blocks
	s := "ulimit -c 0; ulimit -f " + strconv.FormatInt(l.FileBytes/block, 10) + "; ulimit -n " + strconv.Itoa(l.OpenFiles) + " 2>/dev/null; "
	if ownAccount {
		n := strconv.Itoa(l.Processes)
		s += "ulimit -p " + n + " 2>/dev/null || ulimit -u " + n + "; "
	}
	return s + `cd "$1" || exit ` + strconv.Itoa(cannotRun) + `; shift; exec "$@"`
}

// cannotRun is the exit code of a command that cannot be executed (POSIX shell).
const cannotRun = 126

// maxWord is Linux's limit for one argument or variable, its NUL included
// (MAX_ARG_STRLEN).
const maxWord = 128 << 10

// unable says why the kernel would not take a command, empty if it would.
func unable(cmd sandbox.Cmd) string {
	if strings.ContainsRune(cmd.Script, 0) {
		return "the script holds a NUL byte"
	}
	for _, word := range append([]string{cmd.Script}, cmd.Env...) {
		if len(word) >= maxWord {
			return "the script, or a variable, is longer than 128 kB: put it into a file"
		}
	}
	return ""
}

// command is what bubblewrap executes.
func command(cmd sandbox.Cmd, l sandbox.Limits, ownAccount bool) []string {
	shell := cmd.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	argv := []string{"/bin/sh", "-c", limitScript(l, ownAccount), "sh", insideDir(cmd.Dir)}
	return append(append(argv, shell...), cmd.Script)
}
