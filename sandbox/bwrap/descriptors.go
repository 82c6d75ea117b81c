package bwrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstFD is where exec puts the first extra descriptor.
const firstFD = 3

// memfile is an anonymous file with content, read from its beginning.
func memfile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("filling a memory file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("rewinding a memory file: %w", err)
	}
	return f, nil
}

// descriptors are what one bubblewrap process is given: its arguments, the
// made-up files, the seccomp program, and a file for its status.
type descriptors struct {
	files  []*os.File
	status *os.File
}

func (d *descriptors) add(name string, content []byte) (fd int, err error) {
	f, err := memfile(name, content)
	if err != nil {
		return 0, err
	}
	d.files = append(d.files, f)
	return firstFD + len(d.files) - 1, nil
}

func (d *descriptors) close() {
	for _, f := range d.files {
		_ = f.Close()
	}
}

// keepStatus leaves the status file open for whoever took it.
func (d *descriptors) keepStatus() {
	d.files = slices.DeleteFunc(d.files, func(f *os.File) bool { return f == d.status })
}

// seal keeps what this process has itself inherited from passing on: Go closes
// only what it opened, and bubblewrap hands every descriptor to the command.
func seal() error {
	err := unix.CloseRange(firstFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return fmt.Errorf("listing open descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// childPID is pid 1 of the sandbox as the host numbers it, from the lines that
// bubblewrap wrote, each a JSON object (--json-status-fd).
func childPID(f *os.File) (int, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	if err != nil {
		return 0, fmt.Errorf("reading bubblewrap's status: %w", err)
	}
	for line := range bytes.Lines(b) {
		var v struct {
			ChildPID int `json:"child-pid"`
		}
		if json.Unmarshal(line, &v) == nil && v.ChildPID != 0 {
			return v.ChildPID, nil
		}
	}
	return 0, errors.New("bubblewrap reported no process")
}

// joinArgs writes arguments as --args reads them.
func joinArgs(args []string) []byte {
	return []byte(strings.Join(args, "\x00") + "\x00")
}
