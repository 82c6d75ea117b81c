//go:build !race

package redact_test

const slowed = false
