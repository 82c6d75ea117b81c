package bench_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

// machineBusy is the CPU time that all processors together have spent on
// anything, from the first line of /proc/stat (proc_stat(5)), hypervisor's
// share included.
func machineBusy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	const idle, iowait, steal = 4, 5, 8 // fields; 9 and 10 are counted in others
	if len(fields) <= steal {
		return 0, errors.New("/proc/stat is short")
	}
	var ticks int64
	for i := 1; i <= steal; i++ {
		if i == idle || i == iowait {
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
