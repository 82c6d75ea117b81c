// Package agent is the loop that turns a task into a changed workspace: it
// asks a model, runs the tools that the model calls, feeds the results back,
// and ends for a stated reason within stated limits.
//
// It sits beside jobs and sandbox and knows neither: jobs/runner gives it a
// model, tools (already wrapped by policy), a [Recorder] that is the journal,
// and an [Inbox] of later messages, and gets back an [Outcome].
//
// A run that was cut off goes on by [Agent.Resume], from its entries and the
// files of [LastSnapshot]: the state is the fold of the entries, see
// [Checkpoint]. What is recorded is lived through again and not done again, by
// the same code that did it the first time: the tape of records stands in for
// model, tools and journal until it is at its end.
//
// Invariants: the state of the files is kept before a call that changed them is
// recorded as finished; every request of a run that goes on is, to the byte,
// the one that would have been sent, but for results that are uncertain and the
// word that another worker goes on; every call is recorded as intended before it runs and as
// finished after; every open call gets a result before the next request; a
// call that was cut is never run; limits are checked in one place; every end
// is an Outcome with a state from a closed set; what a model says about its
// work is a claim, and stays one.
//
// To add something that a later step depends on: a field of the run, and its
// cell in cells.go and revive.go. To let the loop listen to the Data of a tool: heed
// and decodeData. To add a tool see package tool; to add a model see package model; to add a
// way to end, add a [State] and the place in the loop that sets it.
package agent
