package guest

import "runtime"

// forker is the thread that every command is forked on. It alone is restricted
// (Landlock) and of low priority, which commands inherit: restricting each
// thread of this process by itself, as Landlock before its version 8 does,
// would keep commands that were forked on different threads, and this process,
// from looking at each other, and the marks of commands could not be read.
type forker struct{ work chan func() }

// newForker starts the thread, restricted by what is given.
func newForker(restrict func() error) (*forker, error) {
	f := &forker{work: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // for good; the runtime makes no threads from a locked one
		err := restrict()
		ready <- err
		if err != nil {
			return
		}
		for w := range f.work {
			w()
		}
	}()
	return f, <-ready
}

// do runs a function on the thread and waits for it.
func (f *forker) do(w func()) {
	done := make(chan struct{})
	f.work <- func() {
		defer close(done)
		w()
	}
	<-done
}
