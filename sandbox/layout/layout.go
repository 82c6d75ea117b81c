package layout

import (
	"os"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
)

// The identity inside, whatever it is outside.
const (
	UID  = 1000
	User = "agent"
	Host = "sandbox"
)

// GuestPath is where the guest's program stands inside.
const GuestPath = "/run/greenwright/init"

// File is a file written for the sandbox, so that the host's is not shown.
type File struct{ Path, Text string }

// MadeUp are the files of /etc that name people and hosts.
func MadeUp() []File {
	return []File{
		{"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{"/etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
		{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
		{"/etc/hosts", "127.0.0.1 localhost " + Host + "\n::1 localhost\n"},
	}
}

// SystemFiles are the parts of the host's /etc that programs need and that
// name nobody.
func SystemFiles() []string {
	return []string{
		"/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/mime.types", "/etc/localtime",
	}
}

// Link is a top-level directory that is a symbolic link on merged-usr systems
// (Target set) or a real directory (Target empty).
type Link struct{ Name, Target string }

// SystemLinks reads how the host lays out its top level.
func SystemLinks() []Link {
	var out []Link
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(name); err == nil {
			out = append(out, Link{name, strings.TrimPrefix(target, "/")})
		} else if st, err := os.Stat(name); err == nil && st.IsDir() {
			out = append(out, Link{Name: name})
		}
	}
	return out
}

// Writable are the directories that commands may write to.
func Writable() []string {
	return []string{sandbox.WorkspaceDir, sandbox.HomeDir, sandbox.TempDir, "/dev", "/proc"}
}

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

// Environment is made from nothing; of two settings of a name the last counts.
func Environment(spec sandbox.Spec, cmd sandbox.Cmd) []string {
	env := slices.Concat([]string{
		"HOME=" + sandbox.HomeDir, "USER=" + User, "LOGNAME=" + User,
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
