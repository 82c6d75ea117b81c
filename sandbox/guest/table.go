package guest

import (
	"bytes"
	"os"
	"strconv"
)

// entry is one process as /proc shows it.
type entry struct {
	pid, parent, session int
	state                byte
}

// processes lists every process but pid 1.
func processes() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var out []entry
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 1 {
			continue
		}
		if e, ok := readEntry(pid); ok {
			out = append(out, e)
		}
	}
	return out
}

// readEntry reads /proc/PID/stat (proc_pid_stat(5)); the program's name, in
// brackets, may hold anything.
func readEntry(pid int) (entry, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return entry{}, false
	}
	f := bytes.Fields(b[i+1:])
	const state, parent, session = 0, 1, 3
	if len(f) <= session || len(f[state]) != 1 {
		return entry{}, false
	}
	e := entry{pid: pid, state: f[state][0]}
	e.parent, _ = strconv.Atoi(string(f[parent]))
	e.session, _ = strconv.Atoi(string(f[session]))
	return e, true
}

// gone reports a process that has ended and waits for its parent.
func (e entry) gone() bool { return e.state == 'Z' || e.state == 'X' }

// private is the memory that only this process has, in bytes: what is
// resident without what is shared with files and other processes.
func (e entry) private() int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	const resident, shared = 1, 2
	if len(f) <= shared {
		return 0
	}
	r, _ := strconv.ParseInt(string(f[resident]), 10, 64)
	s, _ := strconv.ParseInt(string(f[shared]), 10, 64)
	return max(r-s, 0) * int64(os.Getpagesize())
}

// cookieName marks the processes of a command, unless they clear it.
const cookieName = "SANDBOX_COMMAND"

// cookie is the number of the command that a process says it belongs to.
func (e entry) cookie() string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(cookieName+"=")); ok {
			return string(v)
		}
	}
	return ""
}
