package guest

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ended is how a process ended, and what it used.
type ended struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// reaper waits for every child of pid 1: for the leaders of commands, and for
// the orphans that it is given.
type reaper struct {
	children chan os.Signal

	mu      sync.Mutex
	waiting map[int]chan ended // under mu; leaders
	orphans syscall.Rusage     // under mu; summed up
	none    bool               // under mu; the last look found no child at all
}

func newReaper() *reaper {
	r := &reaper{children: make(chan os.Signal, 1), waiting: map[int]chan ended{}}
	signal.Notify(r.children, syscall.SIGCHLD)
	return r
}

// start forks while nothing is reaped, so that no end is missed.
func (r *reaper) start(fork func() (int, error)) (int, <-chan ended, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan ended, 1)
	r.waiting[pid] = ch
	r.none = false
	return pid, ch, nil
}

func (r *reaper) loop() {
	for range r.children {
		r.reap()
	}
}

// reap takes up every child that has ended.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var e ended
		pid, err := syscall.Wait4(-1, &e.status, syscall.WNOHANG, &e.usage)
		if err == syscall.EINTR {
			continue
		}
		r.none = err == syscall.ECHILD
		if err != nil || pid <= 0 {
			return
		}
		if ch, ok := r.waiting[pid]; ok {
			delete(r.waiting, pid)
			ch <- e
			continue
		}
		add(&r.orphans, e.usage)
	}
}

// alone reports whether pid 1 has no child left.
func (r *reaper) alone() bool {
	r.reap()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.none
}

// takeOrphans gives what orphans used since it was last asked.
func (r *reaper) takeOrphans() syscall.Rusage {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.orphans
	r.orphans = syscall.Rusage{}
	return u
}

func add(sum *syscall.Rusage, u syscall.Rusage) {
	sum.Utime = syscall.NsecToTimeval(sum.Utime.Nano() + u.Utime.Nano())
	sum.Stime = syscall.NsecToTimeval(sum.Stime.Nano() + u.Stime.Nano())
	sum.Maxrss = max(sum.Maxrss, u.Maxrss)
	sum.Oublock += u.Oublock
}
