// Package process runs one host process for a sandbox driver: it owns the
// output pipe, keeps head and tail, ends the process on a time, idle or output
// limit, and waits for the process rather than for the pipe.
//
// It is used by the drivers under sandbox and by nothing else. It knows
// nothing of isolation: that the death of the process is the death of all it
// started is the driver's business.
package process
