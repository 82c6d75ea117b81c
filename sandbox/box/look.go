package box

import (
	"context"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/disk"
)

// diskWatch is the look at the disk while commands run. But for looking, it is
// under Box.mu.
type diskWatch struct {
	watch  *disk.Watch
	primed chan struct{}      // closed when watch is; nil before anyone asked
	stop   context.CancelFunc // ends the look; nil while nothing is looked at

	looking sync.Mutex // held by the one that uses a watch
}

func newWatch(cfg Config) *disk.Watch {
	l := cfg.Spec.Limits
	areas := []disk.Area{{Name: "workspace", Dirs: []string{cfg.Spec.Workspace}, Limit: disk.Size{Bytes: l.WorkspaceBytes, Files: l.WorkspaceFiles}}}
	if cfg.Home != "" {
		areas = append(areas, disk.Area{Name: "home and temporary files", Dirs: []string{cfg.Home, cfg.Temp}, Limit: disk.Size{Bytes: l.TempBytes, Files: l.TempFiles}})
	}
	return disk.NewWatch(disk.Config{Areas: areas})
}

// prime measures what is there, which is no command's doing, once before a
// command starts. The walk goes on when ctx ends: others wait for it too.
func (b *Box) prime(ctx context.Context) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return sandbox.ErrClosed
	}
	if b.disk.primed == nil {
		primed, watch := make(chan struct{}), b.disk.watch
		b.disk.primed = primed
		b.running.Go(func() {
			defer close(primed)
			b.disk.looking.Lock()
			defer b.disk.looking.Unlock()
			_ = watch.Prime(b.life)
		})
	}
	primed := b.disk.primed
	b.mu.Unlock()
	select {
	case <-primed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look begins to look unless it is being done. b.mu is held.
func (b *Box) look() {
	if b.disk.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(b.life) // ends with the last command, whoever began it
	watch := b.disk.watch
	b.disk.stop = cancel
	b.running.Go(func() {
		b.disk.looking.Lock() // the look of the commands before may not have ended
		defer b.disk.looking.Unlock()
		watch.Run(ctx, func(disk.Area, disk.Size) { b.overDisk(watch) })
	})
}

// rest ends the look. b.mu is held.
func (b *Box) rest() {
	if b.disk.stop != nil {
		b.disk.stop()
		b.disk.stop = nil
	}
}

// overDisk ends everything that runs. The next command gets a new watch, which
// holds what it adds to what is there now against it: one that is over its
// limit already would say nothing more.
func (b *Box) overDisk(watch *disk.Watch) {
	b.mu.Lock()
	first := b.disk.watch == watch
	if first {
		b.rest()
		b.disk.watch, b.disk.primed = newWatch(b.cfg), nil
	}
	b.mu.Unlock()
	if !first {
		return
	}
	for _, p := range b.commands() {
		p.stop(sandbox.DiskLimit)
	}
}
