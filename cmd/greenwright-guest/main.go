// Command greenwright-guest is pid 1 of a sandbox and nothing else. The program
// greenwright can be that as well; this one is a tenth of its size, so that a
// sandbox starts faster and takes less memory. It is used where it stands beside
// greenwright.
package main

import (
	"os"

	"github.com/greenwright/greenwright/sandbox/guest"
)

func main() { os.Exit(guest.Main()) }
