package bwrap_test

import (
	"testing"

	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// newDriver is a driver that works here, or the end of the test.
func newDriver(t *testing.T, state string, groups *cgroup.Controller) *bwrap.Driver {
	t.Helper()
	driver, err := bwrap.New(bwrap.Config{StateDir: state, Guest: sandboxtest.Guest(t), Cgroup: groups})
	if err == nil {
		_, err = driver.Probe(t.Context())
	}
	if err != nil {
		sandboxtest.Missing(t, "bwrap", err)
	}
	return driver
}

// TestConformance is with the control groups that this machine has.
func TestConformance(t *testing.T) {
	groups, err := cgroup.Open(cgroup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	state := sandboxtest.Passable(t)
	sandboxtest.Run(t, newDriver(t, state, groups), state)
}

// TestMemoryWithoutControlGroups is what a worker has that is neither root nor
// was given a control group.
func TestMemoryWithoutControlGroups(t *testing.T) {
	state := sandboxtest.Passable(t)
	sandboxtest.RunMemory(t, newDriver(t, state, nil), state)
}
