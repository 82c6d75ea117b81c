package verify

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/jobs/journal"
)

const needsNetwork = "needs the network"

// Remedy says how an operator gives commands what Environment says they lack;
// it is empty when that is not known.
func Remedy(environment string) string {
	switch environment {
	case "":
		return ""
	case needsNetwork, "needs modules that are not here", "needs packages that are not installed":
		return "let set-up commands download what is missing: `sandbox.egress` (e.g. `presets: [go]`), and `setup` in .greenwright.yml."
	}
	return "put what is missing where the sandbox sees it: below /usr, by `sandbox.mounts` and `sandbox.path`, or by an image."
}

// missing are the marks of a failure that is the sandbox's and not the
// project's: no network, or a program that is not there.
var missing = []struct{ mark, what string }{
	{"dial tcp: lookup", needsNetwork},
	{"Could not resolve host", needsNetwork},
	{"Temporary failure in name resolution", needsNetwork},
	{"network is unreachable", needsNetwork},
	{"Network is unreachable", needsNetwork},
	{"getaddrinfo ENOTFOUND", needsNetwork},
	{"getaddrinfo EAI_AGAIN", needsNetwork},
	{"EAI_AGAIN", needsNetwork},
	{"module lookup disabled by GOPROXY=off", "needs modules that are not here"},
	{"(running go 1.", "needs a newer Go than is here"},
	{"Cannot find module", "needs packages that are not installed"},
	{"ModuleNotFoundError", "needs packages that are not installed"},
	{"node_modules missing", "needs packages that are not installed"},
}

// notFound is the exit code of a shell for a program that is not there.
const notFound = 127

// Environment says what a failed command lacks here, empty when the failure
// is the project's own.
func Environment(exitCode int, output string) string {
	if exitCode == 0 {
		return ""
	}
	for _, m := range missing {
		if strings.Contains(output, m.mark) {
			return m.what
		}
	}
	if exitCode == notFound || strings.Contains(output, ": command not found") || strings.Contains(output, "sh: 1: ") && strings.Contains(output, ": not found") {
		return "needs a program that is not installed"
	}
	return ""
}

// Judge compares the commands before and after. What a command lacks here
// excuses it only if it lacked it before the change as well: after it, the
// words of the output are the change's own.
func Judge(before, after []journal.CheckRan) journal.Verdict {
	was := map[string]journal.CheckRan{}
	for _, c := range before {
		was[key(c)] = c
	}
	var v journal.Verdict
	green, unable := 0, 0
	for _, c := range after {
		b, known := was[key(c)]
		switch {
		case c.Green():
			green++
			if known && !b.Green() && b.Environment == "" {
				v.Fixed = append(v.Fixed, c.Command)
			}
		case known && b.Green():
			v.NewlyRed = append(v.NewlyRed, c.Command)
		case c.Environment != "" && (!known || b.Environment != ""):
			unable++
		default:
			v.StillRed = append(v.StillRed, c.Command)
		}
	}
	v.Verified = green > 0 && unable+len(v.StillRed)+len(v.NewlyRed) == 0
	v.Why = why(v, green, unable)
	return v
}

func key(c journal.CheckRan) string { return c.Name + "\x00" + c.Command + "\x00" + c.Dir }

func why(v journal.Verdict, green, unable int) string {
	switch {
	case green+unable+len(v.StillRed)+len(v.NewlyRed) == 0:
		return "no verifying command is known for this repository: name some under `verify` in .greenwright.yml"
	case len(v.NewlyRed) > 0:
		return fmt.Sprintf("%d of the verifying commands became red", len(v.NewlyRed))
	case len(v.StillRed) > 0:
		return fmt.Sprintf("%d of the verifying commands are still red", len(v.StillRed))
	case green == 0:
		return "none of the verifying commands can run in the sandbox"
	case unable > 0:
		return fmt.Sprintf("green by every command that can run in the sandbox, but %d cannot", unable)
	}
	return "every verifying command is green"
}
