package guest

import (
	"strconv"
	"syscall"
	"time"
)

// endLimit bounds the end of a command's processes. The kernel needs
// milliseconds; what takes longer is stuck in it.
const endLimit = 3 * time.Second

// pause between two looks at what is left.
const pause = 2 * time.Millisecond

// end kills all that the command started, and reports whether all is gone.
func (g *guest) end(c *command) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, c.leader)
	deadline := time.Now().Add(endLimit)
	if len(g.live) == 0 {
		return g.endAll(deadline)
	}
	return g.endOthers(deadline)
}

// endAll kills every process at once, which nothing can outrun: the kernel
// lets no killed process fork.
func (g *guest) endAll(deadline time.Time) bool {
	for !g.reaper.alone() {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		if time.Now().After(deadline) {
			return g.reaper.alone()
		}
		if !g.reaper.alone() {
			<-time.After(pause)
		}
	}
	return true
}

// endOthers kills what belongs to no live command. Everything is stopped
// before anything is killed, since a stopped process cannot fork.
func (g *guest) endOthers(deadline time.Time) bool {
	for running := true; running && time.Now().Before(deadline); {
		running = false
		for _, e := range g.strangers() {
			if e.state != 'T' {
				running = syscall.Kill(e.pid, syscall.SIGSTOP) == nil || running
			}
		}
		if running {
			<-time.After(pause)
		}
	}
	for time.Now().Before(deadline) {
		left := g.strangers()
		if len(left) == 0 {
			return true
		}
		for _, e := range left {
			_ = syscall.Kill(e.pid, syscall.SIGKILL)
		}
		<-time.After(pause)
	}
	return len(g.strangers()) == 0
}

// strangers are the processes that belong to no live command: not below its
// leader, not in its session, and without its cookie. A process that hides all
// three dies with the next command that ends. g.mu is held.
func (g *guest) strangers() []entry {
	all := processes()
	parents := make(map[int]int, len(all))
	for _, e := range all {
		parents[e.pid] = e.parent
	}
	cookies := map[string]bool{}
	for _, c := range g.live {
		cookies[c.cookie] = true
	}
	var out []entry
	for _, e := range all {
		if e.gone() || g.live[e.session] != nil || g.below(e.pid, parents) || cookies[e.cookie()] {
			continue
		}
		out = append(out, e)
	}
	return out
}

// below reports whether a process descends from a live leader.
func (g *guest) below(pid int, parents map[int]int) bool {
	for range parents {
		if g.live[pid] != nil {
			return true
		}
		next, ok := parents[pid]
		if !ok || next <= 1 {
			return false
		}
		pid = next
	}
	return false
}

// owner is the live command that a process belongs to, nil when unknown.
// g.mu is held.
func (g *guest) owner(e entry, parents map[int]int) *command {
	for pid := e.pid; pid > 1; pid = parents[pid] {
		if c := g.live[pid]; c != nil {
			return c
		}
	}
	if c := g.live[e.session]; c != nil {
		return c
	}
	number := e.cookie()
	for _, c := range g.live {
		if c.cookie == number {
			return c
		}
	}
	return nil
}

func cookieOf(number int64) string { return strconv.FormatInt(number, 10) }
