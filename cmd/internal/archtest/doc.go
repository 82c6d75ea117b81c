// Package archtest holds tests that keep the structure of docs/architecture.md
// true: who may import whom, that every package says what it is for, and that
// nothing made for tests is linked into the program. It has no other code.
package archtest
