package guest

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// memoryEvery is how often memory is looked at while a command runs. A process
// can touch a few hundred megabytes meanwhile: where there is a control group,
// it holds harder.
const memoryEvery = 50 * time.Millisecond

// watch begins to look at memory unless it is being done. g.mu is held.
func (g *guest) watch() {
	if g.watching || g.setup.MemoryBytes <= 0 {
		return
	}
	g.watching = true
	go func() {
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for range tick.C {
			if !g.look() {
				return
			}
		}
	}()
}

// look sums up, and ends the greediest command when the sum is over the limit.
// It is false when nothing runs any more.
func (g *guest) look() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.live) == 0 {
		g.watching = false
		return false
	}
	all := processes()
	parents := make(map[int]int, len(all))
	for _, e := range all {
		parents[e.pid] = e.parent
	}
	var sum int64
	used := map[*command]int64{}
	for _, e := range all {
		m := e.private()
		sum += m
		if c := g.owner(e, parents); c != nil {
			used[c] += m
		}
	}
	if all, ok := g.kernelSum(); ok {
		sum = all
	}
	var greediest *command
	for _, c := range g.live {
		c.peak = max(c.peak, sum)
		if greediest == nil || used[c] > used[greediest] {
			greediest = c
		}
	}
	if sum > g.setup.MemoryBytes && greediest != nil {
		greediest.oom = true
		_ = syscall.Kill(greediest.leader, syscall.SIGKILL) // the rest of its tree follows
		for _, e := range all {
			if g.owner(e, parents) == greediest {
				_ = syscall.Kill(e.pid, syscall.SIGKILL)
			}
		}
	}
	return true
}

// ownKernel reports a kernel that this sandbox has for itself (gVisor names
// itself there): what it says of all memory is what the sandbox takes.
func ownKernel() bool {
	b, err := os.ReadFile("/proc/version")
	return err == nil && bytes.Contains(b, []byte("gvisor"))
}

// kernelSum is what the sandbox's own kernel says is in use, files in memory
// among it. In gVisor the sum over processes counts what they share again and
// again, since its statm tells no shares.
func (g *guest) kernelSum() (int64, bool) {
	if !g.own {
		return 0, false
	}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) > 1 && string(f[0]) == "AnonPages:" { // anonymous memory and tmpfs: pkg/sentry/fsimpl/proc/tasks_files.go
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
