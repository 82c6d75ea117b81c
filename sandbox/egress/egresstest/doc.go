// Package egresstest has what tests of a closed network need outside: a Go
// module proxy and an npm registry with one tiny package each, and a resolver
// whose names are a table. It sits beside egress and imports net/http only.
//
// To add a registry: write its http.Handler and a Start function.
package egresstest
