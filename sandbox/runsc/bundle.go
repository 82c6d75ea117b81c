package runsc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// What a box's directory holds.
const (
	lockName   = "lock"
	rootName   = "rootfs"
	filesName  = "files"
	stateName  = "state" // gVisor's own, remade at every start
	pidName    = "sandbox.pid"
	configName = "config.json"
)

// passable lets the run's account through and tells it no names.
const passable = 0o711

// bundle writes what gVisor reads of a box, and the places of its mounts: what
// is missing it would make itself, in an image as well.
func bundle(dir string, spec sandbox.Spec, acct *account.Account, p place) error {
	p.rootfs, p.files = filepath.Join(dir, rootName), filepath.Join(dir, filesName)
	var err error
	if spec.Root != "" {
		if p.image, err = layout.TopLevel(spec.Root); err != nil {
			return err
		}
		err = imageRoot(spec, p)
	} else {
		p.system, err = hostRoot(p)
	}
	if err == nil {
		err = ownPlaces(spec, p)
	}
	if err != nil {
		return fmt.Errorf("making the root of the sandbox: %w", err)
	}
	text, err := json.MarshalIndent(configuration(spec, p), "", "  ")
	if err != nil {
		return fmt.Errorf("writing the sandbox's configuration: %w", err)
	}
	file := filepath.Join(dir, configName)
	if err := errors.Join(os.WriteFile(file, text, 0o400), acct.Give(file)); err != nil {
		return fmt.Errorf("writing the sandbox's configuration: %w", err)
	}
	return nil
}

// ownPlaces makes what every sandbox has, and the places of further mounts.
func ownPlaces(spec sandbox.Spec, p place) error {
	dirs := []string{"/proc", "/dev", "/sys", sandbox.TempDir, sandbox.WorkspaceDir, path.Dir(layout.GuestPath)}
	if spec.Root == "" {
		dirs = append(dirs, sandbox.HomeDir)
	}
	var errs []error
	for _, d := range dirs {
		errs = append(errs, directory(p.rootfs, d))
	}
	errs = append(errs, file(p.rootfs, layout.GuestPath, nil))
	for _, m := range spec.Mounts {
		errs = append(errs, target(spec, p, m))
	}
	return errors.Join(errs...)
}

// target makes the place of a mount, which inside a directory that is itself
// mounted must be there already.
func target(spec sandbox.Spec, p place, m sandbox.Mount) error {
	clean := path.Clean(m.Target)
	if under, ok := covered(spec, p, clean); ok {
		if !within(under.Source, strings.TrimPrefix(clean, under.Destination)) {
			return fmt.Errorf("mount at %s: there is no such place in %s", m.Target, under.Source)
		}
		return nil
	}
	st, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("mount at %s: %w", m.Target, err)
	}
	if st.IsDir() {
		return directory(p.rootfs, clean)
	}
	return errors.Join(directory(p.rootfs, path.Dir(clean)), file(p.rootfs, clean, nil))
}

// covered finds the mount of the system that a path is in.
func covered(spec sandbox.Spec, p place, name string) (mount, bool) {
	for _, m := range systemMounts(spec, p) {
		if strings.HasPrefix(name, m.Destination+"/") {
			return m, true
		}
	}
	return mount{}, false
}

// within reports whether a path exists below a directory, without leaving it.
func within(dir, name string) bool {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	_, err = r.Stat(strings.TrimPrefix(name, "/"))
	return err == nil
}

// imageRoot makes the image's top level: each entry is a mount or a link.
func imageRoot(spec sandbox.Spec, p place) error {
	var errs []error
	for _, e := range p.image {
		if e.Link != "" {
			errs = append(errs, os.MkdirAll(p.rootfs, 0o755), os.Symlink(e.Link, filepath.Join(p.rootfs, e.Name))) //nolint:gosec // shown inside
			continue
		}
		st, err := os.Lstat(filepath.Join(spec.Root, e.Name))
		switch {
		case err != nil:
			errs = append(errs, err)
		case st.IsDir():
			errs = append(errs, directory(p.rootfs, e.Name))
		default:
			errs = append(errs, file(p.rootfs, e.Name, nil))
		}
	}
	for _, f := range layout.MadeUp() {
		errs = append(errs, file(p.files, filepath.Base(f.Path), []byte(f.Text)))
	}
	return errors.Join(errs...)
}

// maxCopied bounds a copied file of /etc; ld.so.cache, the largest, has some
// 100 kB on a full system.
const maxCopied = 4 << 20

// hostRoot makes the host's top level and /etc. Small files are copied, which
// spares mounts; the directories of /etc that are to be mounted are returned.
func hostRoot(p place) (system []string, err error) {
	errs := []error{directory(p.rootfs, "/usr"), directory(p.rootfs, "/var"), directory(p.rootfs, "/etc"), os.Symlink("../tmp", filepath.Join(p.rootfs, "var/tmp"))}
	for _, l := range p.links {
		if l.Target == "" {
			errs = append(errs, directory(p.rootfs, l.Name))
			continue
		}
		errs = append(errs, os.Symlink(l.Target, filepath.Join(p.rootfs, l.Name)))
	}
	for _, f := range layout.MadeUp() {
		errs = append(errs, file(p.rootfs, f.Path, []byte(f.Text)))
	}
	for _, name := range layout.SystemFiles() {
		st, err := os.Stat(name)
		switch {
		case err != nil: // this host has none
		case st.IsDir():
			system = append(system, name)
			errs = append(errs, directory(p.rootfs, name))
		case st.Mode().IsRegular() && st.Size() <= maxCopied:
			text, err := os.ReadFile(name)
			errs = append(errs, err, file(p.rootfs, name, text))
		}
	}
	return system, errors.Join(errs...)
}

// directory and file make what commands see; the modes hold whatever the
// worker's umask is.
func directory(root, name string) error {
	full := root
	for part := range strings.SplitSeq(path.Clean("/"+name), "/") {
		full = filepath.Join(full, part)
		if err := os.MkdirAll(full, 0o755); err != nil { //nolint:gosec // shown inside
			return err
		}
		if err := os.Chmod(full, 0o755); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

func file(root, name string, text []byte) error {
	full := filepath.Join(root, name)
	if err := directory(root, path.Dir("/"+name)); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(full, text, 0o644), os.Chmod(full, 0o644)) //nolint:gosec // shown inside
}
