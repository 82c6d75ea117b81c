// Package tool is the vocabulary of what the agent can do: the seam ([Tool]),
// the shape of a [Result] with its closed set of codes, strict validation of
// arguments, the registry that runs calls, and the one sanitiser that all text
// passes on its way to a model or a journal.
//
// It sits between agent, which drives it, and its children (files, edit,
// search, shell, history, plan, finish), which are the tools. It knows no
// forge, queue, policy or sandbox: commands go through an [Executor] and
// differences come from a [Differ], both supplied from outside.
//
// Invariants: arguments are checked against the tool's schema before the tool
// sees them, and no required field is ever filled in; a call that was cut is
// never run; text in a Result that left [Registry.Call] is valid UTF-8 without
// escape sequences and within the tool's output budget; a tool never panics
// through the registry.
//
// To add a tool: a package with the argument struct, a prompt text (.md,
// embedded) and a constructor that returns [Typed]; then hand it to
// agent.Config.Tools. Policy is a decorator: a Tool that wraps another and
// returns its Spec unchanged.
package tool
