package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// quiet waits until nobody holds, does or waits for anything: no lease, no
// thread, no place, no reservation, no mail, no task, no room on any machine
// that lives. All this is given back at the end of a job, a moment after it is
// told.
func (c *chaos) quiet() {
	c.t.Helper()
	rdb := c.client()
	c.awaitFor(time.Minute, "quiet", func() error {
		ctx := c.t.Context()
		var left []string
		for _, pattern := range []string{"greenwright:lease:*", "greenwright:thread:*", "greenwright:slot:*", "greenwright:line:*", "greenwright:waiter:*", "greenwright:inbox:*", "greenwright:pending:*", "greenwright:jobs:live"} {
			keys, err := rdb.Keys(ctx, pattern).Result()
			if err != nil {
				return err
			}
			left = append(left, keys...)
		}
		for _, queue := range []string{"events", "runs"} {
			for _, list := range c.lists() {
				k := "asynq:{" + queue + "}:" + list
				kind, err := rdb.Type(ctx, k).Result()
				if err != nil {
					return err
				}
				if kind != "none" {
					left = append(left, k)
				}
			}
		}
		rooms, err := c.rooms()
		if err != nil {
			return err
		}
		if left = append(left, rooms...); len(left) > 0 {
			return fmt.Errorf("left behind: %s", strings.Join(left, " "))
		}
		return nil
	})
}

// lists are those of a queue that must be empty. What a dead worker had stays
// active for about a minute, until asynq's recoverer finds it, and comes to
// nothing then: its job has ended, or is in another's hands.
func (c *chaos) lists() []string {
	lists := []string{"pending", "scheduled", "retry", "archived"}
	for cmd := range c.addrs {
		if killed(cmd) {
			return lists
		}
	}
	return append(lists, "active")
}

// killed: the worker had no time to clean up.
func killed(cmd *exec.Cmd) bool { return cmd.ProcessState != nil && !cmd.ProcessState.Exited() }

// rooms are the directories of runs on machines whose worker is not dead.
func (c *chaos) rooms() ([]string, error) {
	var left []string
	for cmd := range c.addrs {
		if killed(cmd) {
			continue // killed: its rooms go when that machine comes back
		}
		dir := c.machine(cmd)
		entries, err := os.ReadDir(filepath.Join(dir, "runs"))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, e := range entries {
			left = append(left, filepath.Join(filepath.Base(dir), "runs", e.Name()))
		}
	}
	return left, nil
}

// machine is the data directory of a worker.
func (c *chaos) machine(cmd *exec.Cmd) string {
	dir := ""
	for _, kv := range cmd.Env {
		if v, ok := strings.CutPrefix(kv, "GREENWRIGHT_DATA_DIR="); ok {
			dir = v // the last one counts
		}
	}
	return dir
}

// awaitFor is await with a limit of its own, for what is promised.
func (w *world) awaitFor(limit time.Duration, what string, check func() error) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited %s for %s: %v", limit, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
