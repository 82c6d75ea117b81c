package git

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitFileSize caps the files a process and its children write.
func limitFileSize(pid int, bytes int64) error {
	limit := uint64(max(bytes, 0))
	lim := unix.Rlimit{Cur: limit, Max: limit}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &lim, nil); err != nil {
		return fmt.Errorf("setting file size limit: %w", err)
	}
	return nil
}
