//go:build race

package redact_test

const slowed = true // tenfold, by the race detector
