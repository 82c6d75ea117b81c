// Package cli holds the subcommands of greenwright, a file each: flags in, one
// call of wire, its outcome out. It decides nothing else.
//
// To add a subcommand: a file with a function that returns a *cobra.Command,
// named in root.go.
package cli
