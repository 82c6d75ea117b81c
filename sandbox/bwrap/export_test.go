package bwrap

import "golang.org/x/net/bpf"

// Filter is the whole seccomp filter.
func Filter() ([]bpf.Instruction, error) { return seccompFilter() }
