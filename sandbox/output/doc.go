// Package output is what is kept of a program's output: of a command's the head
// and the tail, of a sandbox program's the end. It is used by the drivers under
// sandbox; memory is bounded whatever is written.
package output
