package runsc_test

import (
	"testing"

	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// TestConformance is with the control groups that this machine has.
func TestConformance(t *testing.T) {
	groups, err := cgroup.Open(cgroup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	state := sandboxtest.Passable(t)
	sandboxtest.Run(t, driverWith(t, state, groups), state)
}

// driverWith is a driver that works here, or the end of the test.
func driverWith(t *testing.T, state string, groups *cgroup.Controller) *runsc.Driver {
	t.Helper()
	driver, err := runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: state, Guest: sandboxtest.Guest(t), Cgroup: groups})
	if err == nil {
		_, err = driver.Probe(t.Context())
	}
	if err != nil {
		sandboxtest.Missing(t, "runsc", err)
	}
	return driver
}

// TestMemoryWithoutControlGroups is what a worker has that is neither root nor
// was given a control group.
func TestMemoryWithoutControlGroups(t *testing.T) {
	state := sandboxtest.Passable(t)
	sandboxtest.RunMemory(t, driverWith(t, state, nil), state)
}
