// Package agent is the loop that turns a task into a changed workspace: it
// asks a model, runs the tools that the model calls, feeds the results back,
// and ends for a stated reason within stated limits.
//
// It sits beside jobs and sandbox and knows neither: jobs/runner gives it a
// model, tools (already wrapped by policy), a [Recorder] that is the journal,
// and an [Inbox] of later messages, and gets back an [Outcome].
//
// Invariants: every call is recorded as intended before it runs and as
// finished after; every open call gets a result before the next request; a
// call that was cut is never run; limits are checked in one place; every end
// is an Outcome with a state from a closed set; what a model says about its
// work is a claim, and stays one.
//
// To add a tool see package tool; to add a model see package model; to add a
// way to end, add a [State] and the place in the loop that sets it.
package agent
