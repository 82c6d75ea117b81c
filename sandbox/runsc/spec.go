package runsc

import (
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/link"
)

// The part of the OCI runtime specification 1.0 that is used (config.md and
// config-linux.md of github.com/opencontainers/runtime-spec).
type (
	config struct {
		Version  string  `json:"ociVersion"`
		Process  process `json:"process"`
		Root     root    `json:"root"`
		Hostname string  `json:"hostname"`
		Mounts   []mount `json:"mounts"`
		Linux    linux   `json:"linux"`
	}
	process struct {
		User            user         `json:"user"`
		Args            []string     `json:"args"`
		Env             []string     `json:"env"`
		Dir             string       `json:"cwd"`
		Capabilities    capabilities `json:"capabilities"`
		Rlimits         []rlimit     `json:"rlimits"`
		NoNewPrivileges bool         `json:"noNewPrivileges"`
	}
	user struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	}
	capabilities struct {
		Bounding    []string `json:"bounding"`
		Effective   []string `json:"effective"`
		Inheritable []string `json:"inheritable"`
		Permitted   []string `json:"permitted"`
		Ambient     []string `json:"ambient"`
	}
	rlimit struct {
		Type string `json:"type"`
		Hard uint64 `json:"hard"`
		Soft uint64 `json:"soft"`
	}
	root struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	}
	mount struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options,omitempty"`
	}
	linux struct {
		Namespaces  []namespace `json:"namespaces"`
		UIDMappings []mapping   `json:"uidMappings"`
		GIDMappings []mapping   `json:"gidMappings"`
	}
	namespace struct {
		Type string `json:"type"`
	}
	mapping struct {
		ContainerID int `json:"containerID"`
		HostID      int `json:"hostID"`
		Size        int `json:"size"`
	}
)

// place is what the configuration depends on besides the Spec.
type place struct {
	links    []layout.Link  // of the host
	image    []layout.Entry // of Spec.Root, if it is set
	system   []string       // directories of the host's /etc that are shown
	dirs     layout.Dirs
	guest    string // host path of the guest's program
	rootfs   string // host path of the made-up root
	files    string // host path of the made-up files, for an image
	uid, gid int    // host account
}

// configuration is the OCI configuration of a box. It masks no paths: gVisor
// does not look at maskedPaths, since its /proc and /sys show nothing of the
// host.
func configuration(spec sandbox.Spec, p place) config {
	return config{
		Version: "1.0.2",
		Process: process{
			User: user{layout.UID, layout.UID}, Args: []string{layout.GuestPath, link.GuestArgument}, Env: []string{}, Dir: "/",
			Capabilities: allOf(guestCapabilities()), Rlimits: rlimits(spec.Limits), NoNewPrivileges: true,
		},
		Root:     root{Path: p.rootfs, Readonly: true},
		Hostname: layout.Host,
		Mounts:   mounts(spec, p),
		Linux: linux{
			Namespaces:  []namespace{{"user"}, {"pid"}, {"network"}, {"ipc"}, {"uts"}, {"mount"}},
			UIDMappings: []mapping{{layout.UID, p.uid, 1}},
			GIDMappings: []mapping{{layout.UID, p.gid, 1}},
		},
	}
}

// guestCapabilities are what pid 1 holds. None reaches a command.
func guestCapabilities() []string { return []string{} }

func allOf(names []string) capabilities {
	return capabilities{Bounding: names, Effective: names, Inheritable: names, Permitted: names, Ambient: names}
}

// rlimits are set at the start as high as the guest sets them later: without
// capabilities it could only lower them.
func rlimits(l sandbox.Limits) []rlimit {
	even := func(name string, n uint64) rlimit { return rlimit{name, n, n} }
	return []rlimit{
		even("RLIMIT_CORE", 0),
		even("RLIMIT_FSIZE", uint64(l.FileBytes)),  //nolint:gosec // positive by WithDefaults
		even("RLIMIT_NOFILE", uint64(l.OpenFiles)), //nolint:gosec // as above
		even("RLIMIT_NPROC", uint64(l.Processes)),  //nolint:gosec // as above
	}
}

func readOnly(source, target string) mount {
	return mount{Destination: target, Type: "bind", Source: source, Options: []string{"rbind", "ro", "nosuid", "nodev"}}
}

func writable(source, target string) mount {
	return mount{Destination: target, Type: "bind", Source: source, Options: []string{"rbind", "rw", "nosuid", "nodev"}}
}

// shmBytes bounds /dev/shm as other container runtimes do.
const shmBytes = "67108864"

// mounts are in an order in which each finds its place already there.
func mounts(spec sandbox.Spec, p place) []mount {
	out := []mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777", "size=" + shmBytes}},
	}
	out = append(out, systemMounts(spec, p)...)
	out = append(out, readOnly(p.guest, layout.GuestPath), writable(p.dirs.Temp, sandbox.TempDir), writable(p.dirs.Home, sandbox.HomeDir))
	for _, m := range spec.Mounts {
		out = append(out, readOnly(m.Source, m.Target))
	}
	out = append(out, writable(spec.Workspace, sandbox.WorkspaceDir))
	for _, m := range spec.Protected() {
		out = append(out, readOnly(m.Source, m.Target))
	}
	return out
}

// systemMounts show an image, or the host's own system without what names it.
func systemMounts(spec sandbox.Spec, p place) []mount {
	var out []mount
	if spec.Root == "" {
		out = append(out, readOnly("/usr", "/usr"))
		for _, l := range p.links {
			if l.Target == "" {
				out = append(out, readOnly(l.Name, l.Name))
			}
		}
		for _, dir := range p.system {
			out = append(out, readOnly(dir, dir))
		}
		return out
	}
	for _, e := range p.image {
		if e.Link == "" {
			out = append(out, readOnly(filepath.Join(spec.Root, e.Name), "/"+e.Name))
		}
	}
	for _, f := range layout.MadeUp() {
		out = append(out, readOnly(filepath.Join(p.files, filepath.Base(f.Path)), f.Path))
	}
	return out
}
