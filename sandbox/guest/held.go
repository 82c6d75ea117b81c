package guest

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// held is what processes keep open though no directory names it.
type held struct {
	memory int64 // files in memory (memfd_create(2)), bytes
	disk   int64 // files that were removed, bytes on disk
	// by is the disk's part of each process.
	by map[int]int64
}

// heldBy looks through the descriptors of processes. Each file counts once.
func heldBy(all []entry) held {
	h := held{by: map[int]int64{}}
	type file struct{ dev, ino uint64 }
	seen := map[file]bool{}
	for _, e := range all {
		dir := "/proc/" + strconv.Itoa(e.pid) + "/fd/"
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			target, err := os.Readlink(dir + n.Name())
			if err != nil || !strings.HasSuffix(target, " (deleted)") {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(dir+n.Name(), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[file{st.Dev, st.Ino}] {
				continue
			}
			seen[file{st.Dev, st.Ino}] = true
			size := st.Blocks * 512 // stat(2)
			if strings.HasPrefix(target, "/memfd:") {
				h.memory += size
				continue
			}
			h.disk += size
			h.by[e.pid] += size
		}
	}
	return h
}

// smallShare is shared memory that is not worth a second look.
const smallShare = 16 << 20

// shares is a process's part of memory that is shared and of no file on disk.
func (e entry) shares() int64 {
	dir := "/proc/" + strconv.Itoa(e.pid)
	if kilobytes(dir+"/status", "RssShmem:")<<10 < smallShare {
		return 0
	}
	return kilobytes(dir+"/smaps_rollup", "Pss_Shmem:") << 10
}

// kilobytes reads one line of a file of /proc.
func kilobytes(file, name string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) > 1 && string(f[0]) == name {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return n
		}
	}
	return 0
}
