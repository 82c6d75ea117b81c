package bwrap

import (
	"strconv"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/link"
)

// place is what the argument list depends on besides the Spec.
type place struct {
	links  []layout.Link  // of the host
	image  []layout.Entry // of Spec.Root, if it is set
	dirs   layout.Dirs
	guest  string
	dataFD int // descriptor of the first made-up file; the others follow
	seccFD int
}

// arguments builds bubblewrap's options, without the command. The order
// matters: a later mount covers an earlier one.
func arguments(spec sandbox.Spec, p place) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--disable-userns", "--uid", strconv.Itoa(layout.UID), "--gid", strconv.Itoa(layout.UID), "--hostname", layout.Host,
		"--cap-drop", "ALL", "--new-session", "--die-with-parent", "--clearenv", "--as-pid-1",
	}
	args = append(args, rootArgs(spec, p)...)
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/dev/shm",
		"--bind", p.dirs.Temp, sandbox.TempDir, "--tmpfs", "/run")
	for i, f := range layout.MadeUp() {
		args = append(args, "--ro-bind-data", strconv.Itoa(p.dataFD+i), f.Path)
	}
	args = append(args, "--bind", p.dirs.Home, sandbox.HomeDir)
	for _, m := range spec.Mounts {
		args = append(args, "--ro-bind", m.Source, m.Target)
	}
	args = append(args, "--bind", spec.Workspace, sandbox.WorkspaceDir)
	for _, m := range spec.Protected() {
		args = append(args, "--ro-bind", m.Source, m.Target)
	}
	args = append(args, "--ro-bind", p.guest, layout.GuestPath, "--chdir", "/",
		"--remount-ro", "/run", "--remount-ro", "/dev", "--seccomp", strconv.Itoa(p.seccFD), "--remount-ro", "/")
	return args
}

// rootArgs show an image, or the host's own system without what names it.
func rootArgs(spec sandbox.Spec, p place) []string {
	if spec.Root != "" {
		return imageArgs(spec.Root, p.image)
	}
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, l := range p.links {
		if l.Target == "" {
			args = append(args, "--ro-bind", l.Name, l.Name)
			continue
		}
		args = append(args, "--symlink", l.Target, l.Name)
	}
	args = append(args, "--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--perms", "0755", "--dir", "/etc")
	for _, f := range layout.SystemFiles() {
		args = append(args, "--ro-bind-try", f, f)
	}
	return args
}

// imageArgs show an image's top level entry by entry, so that places for
// further mounts can be made beside them.
func imageArgs(root string, entries []layout.Entry) []string {
	var args []string
	for _, e := range entries {
		if e.Link != "" {
			args = append(args, "--symlink", e.Link, "/"+e.Name)
			continue
		}
		args = append(args, "--ro-bind", root+"/"+e.Name, "/"+e.Name)
	}
	return args
}

// command is what bubblewrap becomes inside.
func command() []string { return []string{layout.GuestPath, link.GuestArgument} }
