package journal

import (
	"cmp"
	"fmt"
	"strings"
)

// noSandbox is the name of the driver that isolates nothing.
const noSandbox = "none"

// unsafe warns of a run whose commands were not isolated.
func (r Report) unsafe() string {
	if r.Started.Sandbox != noSandbox {
		return ""
	}
	return "⚠️ **No sandbox.** The commands of this run ran on the worker's machine as they are (`sandbox.driver: none`)."
}

// sandbox names the driver and the image.
func (r Report) sandbox() string {
	name := tableCell(Line(cmp.Or(r.Started.Sandbox, noSandbox)))
	if r.Box.Image == "" {
		return name
	}
	return name + ", image " + tableCell(Code(shorten(r.Box.Image, 120))) + " (" + tableCell(Code(shorten(r.Box.Digest, 19))) + ")"
}

// shownHosts is how many hosts the network's line names.
const shownHosts = 8

// network says what was reached, and what was tried.
func (r Report) network() string {
	if r.Started.Sandbox == noSandbox {
		return "network open"
	}
	if len(r.Setups) == 0 {
		return "network closed"
	}
	var reached, refused []string
	for _, c := range r.connections() {
		host := Code(shorten(fmt.Sprintf("%s:%d", c.Host, c.Port), 80))
		if c.Verdict == "allowed" {
			reached = append(reached, fmt.Sprintf("%s (%s in, %s out)", host, size(c.BytesIn), size(c.BytesOut)))
		} else {
			refused = append(refused, host)
		}
	}
	text := "network open to set-up commands only, which reached " + list(reached, "nothing")
	if len(refused) > 0 {
		text += "; refused " + list(refused, "")
	}
	return tableCell(text)
}

func list(items []string, none string) string {
	if len(items) == 0 {
		return none
	}
	if len(items) > shownHosts {
		items = append(items[:shownHosts:shownHosts], fmt.Sprintf("%d more", len(items)-shownHosts))
	}
	return strings.Join(items, ", ")
}

// connections sums up all set-up commands by host and verdict.
func (r Report) connections() []Connection {
	var out []Connection
	for _, s := range r.Setups {
	next:
		for _, c := range s.Connections {
			for i := range out {
				if out[i].Host == c.Host && out[i].Port == c.Port && out[i].Verdict == c.Verdict {
					out[i].Count += c.Count
					out[i].BytesIn += c.BytesIn
					out[i].BytesOut += c.BytesOut
					continue next
				}
			}
			out = append(out, c)
		}
	}
	return out
}

func size(n int64) string {
	const kilo = 1000
	switch {
	case n >= kilo*kilo:
		return fmt.Sprintf("%.1f MB", float64(n)/kilo/kilo)
	case n >= kilo:
		return fmt.Sprintf("%.1f kB", float64(n)/kilo)
	}
	return fmt.Sprintf("%d B", n)
}

// setupFailures shows set-up commands that failed: what came after lacked
// what they bring.
func (r Report) setupFailures() string {
	seen := map[string]bool{}
	var items []string
	for _, s := range r.Setups {
		if s.Green() || seen[s.Command] {
			continue
		}
		seen[s.Command] = true
		items = append(items, fmt.Sprintf("Set-up command %s ended with %d (%s):\n\n%s", Code(shorten(s.Command, 200)), s.ExitCode, Line(s.Cause), Fence("text", lastLines(s.Output))))
	}
	return strings.Join(items, "\n\n")
}
