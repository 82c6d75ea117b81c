//go:build !linux

package git

// limitFileSize does nothing: only Linux limits other processes.
func limitFileSize(int, int64) error { return nil }
