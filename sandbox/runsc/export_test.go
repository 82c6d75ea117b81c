package runsc

import (
	"encoding/json"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// Configuration is what a box on a made-up machine is told.
func Configuration(spec sandbox.Spec) ([]byte, error) {
	p := place{
		links:  []layout.Link{{Name: "/bin", Target: "usr/bin"}, {Name: "/opt64"}},
		image:  []layout.Entry{{Name: "bin", Link: "usr/bin"}, {Name: "etc"}, {Name: "usr"}},
		system: []string{"/etc/ssl"}, dirs: layout.DirsIn("/scratch"), guest: "/opt/guest", rootfs: "/box/rootfs", files: "/box/files", uid: 60100, gid: 60101,
	}
	return json.MarshalIndent(configuration(spec, p), "", "  ")
}

// Arguments, BuiltOn, Remedy and ProcessesOf are the parts below the driver.
var (
	Arguments   = arguments
	BuiltOn     = builtOn
	Remedy      = remedy
	ProcessesOf = processesOf
)

// Boxes is the directory that holds one directory for each box.
func (d *Driver) Boxes() string { return d.boxes() }
