package command

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/jobs"
)

// entry is one verb of the language.
type entry struct {
	verb    jobs.Verb
	aliases []string
	args    string
	does    string
	ready   bool // whether this version carries it out
}

// verbs is the whole language, in the order of the help text.
var verbs = []entry{
	{verb: jobs.VerbFix, args: "[text]", does: "change the code as the thread (and the text) asks, prove it, and publish it", ready: true},
	{verb: jobs.VerbAsk, aliases: []string{"explain"}, args: "text", does: "answer a question about the code; changes nothing", ready: true},
	{verb: jobs.VerbStatus, does: "say what is going on in this thread", ready: true},
	{verb: jobs.VerbStop, aliases: []string{"cancel"}, does: "stop what is going on in this thread", ready: true},
	{verb: jobs.VerbHelp, does: "show this text", ready: true},
	{verb: jobs.VerbPlan, args: "[text]", does: "post a plan and wait for approval"},
	{verb: jobs.VerbReview, does: "review a pull request"},
	{verb: jobs.VerbRebase, does: "bring a pull request up to date with its base"},
	{verb: jobs.VerbRetry, does: "try the last job again", ready: true},
	{verb: jobs.VerbContinue, args: "[text]", does: "go on where the last job ended", ready: true},
	{verb: jobs.VerbApprove, args: "[id]", does: "approve what waits for approval", ready: true},
	{verb: jobs.VerbDeny, args: "[id] [why]", does: "refuse what waits for approval", ready: true},
	{verb: jobs.VerbBudget, args: "+N", does: "raise this thread's budget", ready: true},
	{verb: jobs.VerbUnlock, does: "forget a job that is stuck", ready: true},
}

// Known reports whether there is such a verb.
func Known(v jobs.Verb) bool {
	for _, e := range verbs {
		if e.verb == v {
			return true
		}
	}
	return false
}

// Ready reports whether this version carries the verb out.
func Ready(v jobs.Verb) bool {
	for _, e := range verbs {
		if e.verb == v {
			return e.ready
		}
	}
	return false
}

// lookup finds a verb or an alias, in any case.
func lookup(word string) (jobs.Verb, bool) {
	word = strings.ToLower(word)
	for _, e := range verbs {
		if string(e.verb) == word {
			return e.verb, true
		}
		for _, a := range e.aliases {
			if a == word {
				return e.verb, true
			}
		}
	}
	return "", false
}

// Help is the text that `help` answers with, as Markdown. No line of it is a
// command.
func (p Parser) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A line that begins with `%s` is a command. What follows on the line, and the lines after it, belong to it.\n\n", p.Prefix)
	b.WriteString("| Command | What it does |\n|---|---|\n")
	for _, e := range verbs {
		if e.ready {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(p.Prefix+" "+string(e.verb)+" "+e.args), e.does)
		}
	}
	b.WriteString("\nOptions, right after the verb: `--model driver/name`, `--base branch`, `--dry-run` (show the change, publish nothing), `--no-verify`.")
	return b.String()
}

// Nearest is the name closest to word, empty when none is close.
func Nearest(word string, names []string) string {
	best, bestDistance := "", 1+(len(word)+1)/2
	for _, n := range names {
		if d := distance(strings.ToLower(word), n); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

func verbNames() []string {
	var out []string
	for _, e := range verbs {
		out = append(out, string(e.verb))
		out = append(out, e.aliases...)
	}
	return out
}

// maxWord bounds the words that are compared: no verb is longer.
const maxWord = 32

// distance is Levenshtein's, over bytes.
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
