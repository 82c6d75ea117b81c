package e2e_test

import (
	"strings"

	"github.com/greenwright/greenwright/agent/model/modeltest"
)

// The scripts of random schedules, by a word of the thread's title.
const (
	scriptWhole  = "wholly"    // chaosScript
	scriptTwice  = "twofold"   // the first change is red
	scriptPerson = "doubtful"  // asks a person
	scriptAnswer = "wondering" // is asked a question
)

func scriptNames() []string {
	return []string{scriptWhole, scriptTwice, scriptPerson, scriptAnswer}
}

// request is how the thread's job is asked for.
func request(script string) string {
	if script == scriptAnswer {
		return "/agent ask why is it wrong?"
	}
	return "/agent fix"
}

// byTitle plays the script that a thread's title names.
func byTitle() []modeltest.Step {
	whole := chaosScript()
	step := func(r modeltest.Request) modeltest.Reply {
		raw := string(r.Raw)
		switch {
		case strings.Contains(raw, scriptTwice):
			return twofold(r)
		case strings.Contains(raw, scriptPerson):
			return inTurn(r, calls(read("add.sh")), calls(does("ask_person", map[string]any{"question": "May it add?"})))
		case strings.Contains(raw, scriptAnswer):
			return inTurn(r, calls(read("add.sh")), calls(does("finish", map[string]any{"summary": "read it", "answer": "It subtracts."})))
		}
		return whole[0](r)
	}
	return forever(step)
}

func forever(step modeltest.Step) []modeltest.Step {
	out := make([]modeltest.Step, 10_000)
	for i := range out {
		out[i] = step
	}
	return out
}

func inTurn(r modeltest.Request, turns ...modeltest.Reply) modeltest.Reply {
	return turns[min(spoken(r), len(turns)-1)]
}

// twofold mends in two turns: the first change is wrong, and so it is red.
func twofold(r modeltest.Request) modeltest.Reply {
	const round = 4 // replies
	switch spoken(r) % round {
	case 0:
		return calls(read("add.sh"))
	case 1:
		if strings.Contains(strings.Join(r.LastResults(), "\n"), "$1 * $2") {
			return calls(edit("add.sh", "$1 * $2", "$1 + $2"))
		}
		return calls(edit("add.sh", "$1 - $2", "$1 * $2"))
	}
	return calls(finish("it adds"))
}
