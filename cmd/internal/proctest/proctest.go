// Package proctest looks at the processes that tests and benchmarks start.
//
// It sits under cmd/internal for those packages; it imports no testing. What it
// reads is Linux's: elsewhere it knows nothing, which callers must not take for
// a figure.
package proctest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// look is how often a process is looked at; its peak only grows.
const look = 10 * time.Millisecond

// Peak watches the peak of a process's memory while it runs. The function that
// it returns is called when the process has ended and gives the peak in bytes, 0
// if nothing was seen. What wait4 tells of a child can be its parent's instead:
// exec keeps the maximum of the memory that it leaves (fs/exec.c, exec_mmap).
func Peak(pid int) (ended func() int64) {
	stop, done := make(chan struct{}), make(chan struct{})
	var most int64
	go func() {
		defer close(done)
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			most = max(most, highWater(pid))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return most
	}
}

// highWater reads the peak, 0 when the process is gone.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	if fields := strings.Fields(rest); found && len(fields) > 0 {
		if kb, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			return kb << 10
		}
	}
	return 0
}
