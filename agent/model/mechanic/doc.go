// Package mechanic is a model driver without a language model: it knows how
// formatters, linters and generators mend what they complain about, and speaks
// the same tool calls as any other model.
//
// It reads the task's facts (model.TaskFacts), not its prose: for each red
// verifying command that a [rule] knows it calls run_command with the tool's
// own fix, then with the verifying command, and then it finishes.
//
// It keeps no state: what to do next is read off the transcript. It calls
// nothing but the tools it is given and the two names run_command and finish.
//
// To add a tool: a rule in rules.go, and its cases in rules_test.go with the
// real program.
package mechanic
