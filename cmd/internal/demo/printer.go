package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
)

// The colours (ECMA-48, SGR).
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// printer writes short lines; it is used by one goroutine.
type printer struct {
	w     io.Writer
	color bool
	now   func() time.Time
	begun time.Time
	last  time.Time // something was said
}

func newPrinter(w io.Writer, color bool, now func() time.Time) *printer {
	return &printer{w: w, color: color, now: now, begun: now(), last: now()}
}

func (p *printer) paint(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// maxLine keeps lines short, in characters.
const maxLine = 110

// say tells what somebody does, with the time since the start.
func (p *printer) say(who, format string, args ...any) {
	p.last = p.now()
	at := fmt.Sprintf("%6.1fs", p.last.Sub(p.begun).Seconds())
	text := clip(fmt.Sprintf(format, args...), maxLine)
	p.line("%s  %s %s", p.paint(dim, at), p.paint(cyan, fmt.Sprintf("%-12s", who)), text)
}

func (p *printer) heading(text string) { p.line("%s\n", p.paint(bold, text)) }

func (p *printer) section(format string, args ...any) {
	p.line("\n%s", p.paint(bold, "── "+fmt.Sprintf(format, args...)))
}

// block prints a text of several lines, indented.
func (p *printer) block(text string) {
	for line := range strings.Lines(text) {
		p.line("%s", strings.TrimRightFunc("   "+visible(line), unicode.IsSpace))
	}
}

// diff prints a patch.
func (p *printer) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(visible(line), "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			line = p.paint(green, line)
		case strings.HasPrefix(line, "-"):
			line = p.paint(red, line)
		case strings.HasPrefix(line, "@@"):
			line = p.paint(dim, line)
		}
		p.line("%s", strings.TrimRightFunc("   "+line, unicode.IsSpace))
	}
}

// exit shows an exit code, red or green.
func (p *printer) exit(code int) string {
	if code == 0 {
		return p.paint(green, "exit 0")
	}
	return p.paint(red, fmt.Sprintf("exit %d", code))
}

// The part of a log that is shown, from its end.
const (
	tailLines = 20
	tailBytes = 16 << 10
	tailWidth = 200
)

// tail prints the last lines of a log.
func (p *printer) tail(path string) {
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return
	}
	content = content[max(0, len(content)-tailBytes):]
	lines := bytes.Split(bytes.TrimSpace(content), []byte{'\n'})
	p.section("The last lines of the server's log")
	for _, l := range lines[max(0, len(lines)-tailLines):] {
		p.line("   %s", clip(visible(string(l)), tailWidth))
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// visible keeps text of others from steering the terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return '·'
		}
		return r
	}, s)
}
