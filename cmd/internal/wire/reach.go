package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/layout"
)

// boundVar tells the program, after it has begun anew, which directories it
// has made reachable: a JSON object, directory to place.
const boundVar = "GREENWRIGHT_BOUND"

// makeReachable gives directories of a root's home and the like a second place
// that the accounts of runs can pass to: it mounts them there in a mount
// namespace that only this program has, and begins anew in it, since a mount
// namespace is a thread's until then. It returns where each directory is.
// Without the right to mount they stay where they are, and the sandbox says
// what it cannot reach.
func makeReachable(state string, dirs ...string) (map[string]string, error) {
	places := map[string]string{}
	if bound := os.Getenv(boundVar); bound != "" {
		return takePlaces(state, bound)
	}
	var far []string
	for _, dir := range dirs {
		if dir != "" && !passable(filepath.Dir(dir)) {
			far = append(far, dir)
		}
	}
	if os.Geteuid() != 0 || len(far) == 0 {
		return places, nil
	}
	return places, beginAnew(state, far)
}

// takePlaces reads what this process, under the same number, has left itself.
// Anything else in the variable is refused.
func takePlaces(state, bound string) (map[string]string, error) {
	if err := os.Unsetenv(boundVar); err != nil {
		return nil, fmt.Errorf("clearing %s: %w", boundVar, err)
	}
	places := map[string]string{}
	if err := json.Unmarshal([]byte(bound), &places); err != nil {
		return nil, fmt.Errorf("reading %s: %w", boundVar, err)
	}
	for _, place := range places {
		if filepath.Dir(place) != filepath.Join(state, "bound") || !strings.HasPrefix(filepath.Base(place), strconv.Itoa(os.Getpid())+"-") {
			return nil, fmt.Errorf("%s names %s, which is not of this process: unset it", boundVar, place)
		}
	}
	return places, nil
}

// beginAnew returns only when it cannot be done.
func beginAnew(state string, dirs []string) error {
	runtime.LockOSThread() // for good: its namespace is not that of the others
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		runtime.UnlockOSThread()
		return nil //nolint:nilerr // a root without the right to mount
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	places := map[string]string{}
	for i, dir := range dirs {
		place := filepath.Join(state, "bound", strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i))
		if err := os.MkdirAll(place, 0o711); err != nil { //nolint:gosec // runs' accounts pass through it
			return fmt.Errorf("making a place for %s: %w", dir, err)
		}
		if err := unix.Mount(dir, place, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("making %s reachable: %w", dir, err)
		}
		places[dir] = place
	}
	bound, err := json.Marshal(places)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(exe, os.Args, append(os.Environ(), boundVar+"="+string(bound)))
}

// leavePlaces removes what makeReachable made.
func leavePlaces(places map[string]string) {
	for _, place := range places {
		if unix.Unmount(place, unix.MNT_DETACH) == nil {
			_ = os.Remove(place)
		}
	}
}

// passable reports whether a run's own account, which a worker that is root
// gives its commands, can pass to a directory.
func passable(dir string) bool { return os.Geteuid() != 0 || layout.Reachable(dir) }
