// Command greenwright is a self-hosted bot that turns red into green.
package main

import (
	"context"
	"os"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/sandbox/guest"
)

// version is set by the linker.
var version = "dev"

func main() {
	if guest.Asked(os.Args) { // pid 1 of a sandbox
		os.Exit(guest.Main())
	}
	os.Exit(cli.Main(context.Background(), version, os.Args[1:], os.Stdout, os.Stderr))
}
