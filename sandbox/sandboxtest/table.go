package sandboxtest

import (
	"fmt"
	"slices"
	"strings"
)

const tableHead = `# What was tried against the sandboxes

Written by the test of sandbox/sandboxtest from a recorded run of the conformance suite
(how: see TestTable there); do not edit. Every attempt is also made without a sandbox, by
the account named under *control*, and succeeds there: what was never possible proves
nothing when it is refused. *not provable here* means that the machine of the recorded run
has no such thing, so that the attempt had nothing to reach; it was made all the same.
*open* is what a driver does not block, with the reason.

`

// Table is the document of a recorded run: outcomes by driver, and those of
// the workspace traps.
func Table(recorded map[string][]Outcome, traps []Outcome) string {
	drivers := make([]string, 0, len(recorded))
	for name := range recorded {
		drivers = append(drivers, name)
	}
	slices.Sort(drivers)
	var b strings.Builder
	b.WriteString(tableHead)
	summary(&b, drivers, recorded)
	var group Group
	for _, a := range Attempts() {
		if a.Group != group {
			group = a.Group
			fmt.Fprintf(&b, "\n## %s\n\n| attempt | what it tries | control | %s |\n|---|---|---|%s\n", title(group), strings.Join(drivers, " | "), strings.Repeat("---|", len(drivers)))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", cell(a.Name), cell(a.Tries), a.Control)
		for _, d := range drivers {
			fmt.Fprintf(&b, " %s |", cell(said(a, d, recorded[d])))
		}
		b.WriteByte('\n')
	}
	trapTable(&b, traps)
	return b.String()
}

func summary(b *strings.Builder, drivers []string, recorded map[string][]Outcome) {
	fmt.Fprintf(b, "| driver | attempts | blocked | open | not provable here |\n|---|---|---|---|---|\n")
	for _, d := range drivers {
		count := map[Verdict]int{}
		for _, o := range recorded[d] {
			count[o.Verdict]++
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", d, len(recorded[d]), count[Blocked], count[Open], count[Unprovable])
	}
}

func trapTable(b *strings.Builder, traps []Outcome) {
	fmt.Fprintf(b, "\n## %s\n\n", title(Traps))
	b.WriteString("What a command can leave for whoever reads the workspace afterwards. No sandbox answers these:\n" +
		"the worker's own readers do (the commit builder, the agent's file tools, the measuring of disks,\n" +
		"the removal), with both drivers. *Plain tools* is the control: what a person would type there.\n\n" +
		"| trap | what it leaves | plain tools | Greenwright |\n|---|---|---|---|\n")
	for _, trap := range WorkspaceTraps() {
		verdict := "not recorded"
		if slices.ContainsFunc(traps, func(o Outcome) bool { return o.Name == trap.Name && o.Verdict == Blocked }) {
			verdict = "unharmed"
		}
		fmt.Fprintf(b, "| %s | %s | caught | %s |\n", cell(trap.Name), cell(trap.Tries), verdict)
	}
}

// said is what the run found of an attempt.
func said(a Attempt, driver string, outcomes []Outcome) string {
	i := slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Group == a.Group && o.Name == a.Name })
	if i < 0 {
		return "not recorded"
	}
	o := outcomes[i]
	text := string(o.Verdict)
	if o.Detail != "" {
		text += ": " + o.Detail
	}
	if o.Verdict == Blocked && slices.Contains(a.NeededBy, driver) {
		text += "; " + unheld(a.Needs)
	}
	return text
}

func title(g Group) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// cell keeps a text from ending a table's cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "*", `\*`, "<", "&lt;").Replace(text)
}
