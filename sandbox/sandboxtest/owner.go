package sandboxtest

import (
	"os"
	"syscall"
)

// ownerOf is the account a file belongs to, -1 when not known.
func ownerOf(st os.FileInfo) int {
	if st == nil {
		return -1
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
