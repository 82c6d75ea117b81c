package sandbox

import (
	"cmp"
	"time"
)

// Limits bound what runs in a sandbox. Zero fields take the default of
// WithDefaults.
type Limits struct {
	WallClock   time.Duration `yaml:"wall_clock"`   // one command
	Idle        time.Duration `yaml:"idle"`         // one command without output
	OutputBytes int64         `yaml:"output_bytes"` // one command's whole stream; beyond it the command is ended
	FileBytes   int64         `yaml:"file_bytes"`   // one file (RLIMIT_FSIZE)
	OpenFiles   int           `yaml:"open_files"`   // one process (RLIMIT_NOFILE)

	Processes   int     `yaml:"processes"`    // all processes and threads together
	MemoryBytes int64   `yaml:"memory_bytes"` // all processes together
	CPUs        float64 `yaml:"cpus"`         // all processes together, in processors; 0 is no limit

	WorkspaceBytes int64 `yaml:"workspace_bytes"` // what the workspace takes on disk
	WorkspaceFiles int64 `yaml:"workspace_files"` // files, directories and links in it
	TempBytes      int64 `yaml:"temp_bytes"`      // home and temporary directories together
	TempFiles      int64 `yaml:"temp_files"`
}

// The defaults: tests get 15 minutes in all and 5 without output; 64 MB of
// output is more than any log a person reads; 4 GiB of memory build most
// things and leave an 8 GiB machine alive; a million files hold the largest
// public node_modules several times.
const (
	defaultWallClock   = 15 * time.Minute
	defaultIdle        = 5 * time.Minute
	defaultOutputBytes = 64 << 20
	defaultFileBytes   = 4 << 30
	defaultOpenFiles   = 16384
	defaultProcesses   = 4096
	defaultMemoryBytes = 4 << 30
	defaultDiskBytes   = 8 << 30
	defaultDiskFiles   = 1_000_000
)

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	return Limits{
		WallClock:   cmp.Or(max(l.WallClock, 0), defaultWallClock),
		Idle:        cmp.Or(max(l.Idle, 0), defaultIdle),
		OutputBytes: cmp.Or(max(l.OutputBytes, 0), defaultOutputBytes),
		FileBytes:   cmp.Or(max(l.FileBytes, 0), defaultFileBytes),
		OpenFiles:   cmp.Or(max(l.OpenFiles, 0), defaultOpenFiles),
		Processes:   cmp.Or(max(l.Processes, 0), defaultProcesses),
		MemoryBytes: cmp.Or(max(l.MemoryBytes, 0), defaultMemoryBytes),
		CPUs:        max(l.CPUs, 0),

		WorkspaceBytes: cmp.Or(max(l.WorkspaceBytes, 0), defaultDiskBytes),
		WorkspaceFiles: cmp.Or(max(l.WorkspaceFiles, 0), defaultDiskFiles),
		TempBytes:      cmp.Or(max(l.TempBytes, 0), defaultDiskBytes),
		TempFiles:      cmp.Or(max(l.TempFiles, 0), defaultDiskFiles),
	}
}
