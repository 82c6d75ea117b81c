// Program init is the guest alone, for tests: a small static program, which the
// test's own binary is not.
package main

import (
	"os"

	"github.com/greenwright/greenwright/sandbox/guest"
)

func main() { os.Exit(guest.Main()) }
