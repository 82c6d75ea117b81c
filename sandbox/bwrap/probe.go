package bwrap

import (
	"context"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/box"
)

// Probe starts a real sandbox and tries what must hold.
func (d *Driver) Probe(ctx context.Context) (sandbox.Report, error) {
	return box.Probe(ctx, d, d.state, d.groups)
}
