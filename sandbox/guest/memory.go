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

// heldEvery is how many looks at memory go by before one at open files.
const heldEvery = 5

// look sums up, and ends the greediest command when a sum is over its limit.
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
	if g.looks++; g.looks%heldEvery == 0 {
		g.held = heldBy(all)
		g.lookAtDisk(all, parents)
	}
	sum, used := g.memoryOf(all, parents)
	for _, c := range g.live {
		c.peak = max(c.peak, sum)
	}
	if c := g.greediest(used); sum > g.setup.MemoryBytes && c != nil {
		c.oom = true
		g.endGreedy(c, all, parents)
	}
	return true
}

// memoryOf is what all processes take together, and each command of it.
func (g *guest) memoryOf(all []entry, parents map[int]int) (sum int64, used map[*command]int64) {
	used = map[*command]int64{}
	var shared int64
	for _, e := range all {
		private, share := e.private(), e.shares()
		sum += private
		shared += share
		if c := g.owner(e, parents); c != nil {
			used[c] += private + share
		}
	}
	if all, ok := g.kernelSum(); ok {
		return all, used
	}
	return sum + max(shared, g.held.memory), used // a memory file may be mapped as well
}

// lookAtDisk ends the command that holds the most of removed files, when they
// are more than the disk's limit: the host cannot see them.
func (g *guest) lookAtDisk(all []entry, parents map[int]int) {
	if g.setup.RemovedBytes <= 0 || g.held.disk <= g.setup.RemovedBytes {
		return
	}
	used := map[*command]int64{}
	for _, e := range all {
		if c := g.owner(e, parents); c != nil {
			used[c] += g.held.by[e.pid]
		}
	}
	if c := g.greediest(used); c != nil {
		c.full = true
		g.endGreedy(c, all, parents)
	}
}

// greediest is the live command that uses the most. g.mu is held.
func (g *guest) greediest(used map[*command]int64) *command {
	var most *command
	for _, c := range g.live {
		if most == nil || used[c] > used[most] {
			most = c
		}
	}
	return most
}

// endGreedy kills a command's leader and what is known to be its; the rest of
// its tree follows when the leader's end is taken up.
func (g *guest) endGreedy(c *command, all []entry, parents map[int]int) {
	_ = syscall.Kill(c.leader, syscall.SIGKILL)
	for _, e := range all {
		if g.owner(e, parents) == c {
			_ = syscall.Kill(e.pid, syscall.SIGKILL)
		}
	}
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
