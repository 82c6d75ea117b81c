package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// offspring are the processes that descend from this one.
func offspring() (map[int]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	type process struct {
		parent int
		name   string
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		var state string
		var parent int
		if _, err := fmt.Sscan(string(text[end+1:]), &state, &parent); err != nil {
			return nil, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		all[pid] = process{parent, string(text[open+1 : end])}
	}
	out := map[int]string{}
	for pid, p := range all {
		for up := p.parent; up != 0; up = all[up].parent {
			if up == os.Getpid() {
				out[pid] = p.name
				break
			}
		}
	}
	return out, nil
}

// grown is the memory of the processes that have come since; those that are
// gone again count nothing.
func grown(before map[int]string) (total memory, parts []string, err error) {
	now, err := offspring()
	if err != nil {
		return total, nil, err
	}
	for pid, name := range now {
		if _, old := before[pid]; old {
			continue
		}
		m, err := memoryOf(pid)
		if err != nil {
			continue // it has ended, or has no memory of its own
		}
		total.rss += m.rss
		total.pss += m.pss
		parts = append(parts, fmt.Sprintf("%s %.1f", commandOf(pid, name), float64(m.pss)/(1<<20)))
	}
	slices.Sort(parts)
	return total, parts, nil
}

// commandOf tells gVisor's processes apart, which are all one program.
func commandOf(pid int, name string) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		return name
	}
	words := strings.Split(string(line), "\x00")
	for _, word := range words[1:] {
		if word == "boot" || word == "gofer" || word == "run" {
			return name + " " + word
		}
	}
	return strings.TrimSpace(name)
}

func TestGrownSeesGrandchildren(t *testing.T) {
	before, err := offspring()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "sleep 60 & echo; wait")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 1)) // now the grandchild is there
	m, parts, err := grown(before)
	if err != nil || m.rss == 0 || m.pss == 0 || m.pss > m.rss {
		t.Errorf("memory %+v of %v: %v", m, parts, err)
	}
	if len(parts) != 2 {
		t.Errorf("processes %v, want a shell and its child", parts)
	}
	now, err := offspring()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range now {
		if _, old := before[pid]; !old && pid != cmd.Process.Pid {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
	_ = cmd.Wait()
}

func TestSinkKeepsTheBeginning(t *testing.T) {
	var s sink
	want := strings.Repeat("0123456789", sinkHead/10+1)
	for range 2 {
		if n, err := s.Write([]byte(want)); n != len(want) || err != nil {
			t.Fatalf("wrote %d: %v", n, err)
		}
	}
	if diff := cmp.Diff(want[:sinkHead], string(s.head)); diff != "" {
		t.Error(diff)
	}
	if s.total != int64(2*len(want)) {
		t.Errorf("counted %d", s.total)
	}
}
