// Package script decides which shell scripts may run: it parses them and asks
// its rules about each simple command in them, also those inside of $( ),
// pipes, functions, `sh -c '…'`, xargs and the like.
//
// It sits under jobs/policy and is pure: text in, a [Decision] out. The
// sandbox is the boundary; these rules lower surprise, and they tell a model
// at once what would not work anyway. A program that a script builds, renames
// or downloads is not seen through.
//
// Invariants: the strictest decision of all commands and rules wins; what
// cannot be resolved and might be what a rule means is at least [Ask]; the zero
// Decision denies; a script costs time in proportion to its length.
//
// A script is decided as bash reads it and as a plain sh does, since either may
// be /bin/sh; what only one can read is at least [Ask]. The [Allowlist] names
// all flags and words that a command may have, and needs both to agree.
//
// To add a rule: an entry in rules.yml with its own examples, which a test and
// [New] run; to allow one more form at tier test, one in tests.yml. To see
// through another wrapper program: a line in wrapper.go.
package script
