//go:build !amd64

package main

import "fmt"

// foreign are entries into the kernel that only amd64 has.
func foreign() table { return table{"int80": ports, "x32": ports} }

// ports of the processor are a thing of amd64.
func ports([]string) error { return fmt.Errorf("%w: amd64 only", errMissing) }
