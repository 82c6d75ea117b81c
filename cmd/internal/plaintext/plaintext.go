// Package plaintext shows the Markdown that Greenwright writes on a terminal,
// about as a person reads it on the forge. It is pure and knows no more of
// Markdown and HTML than that needs. `greenwright run` and the demonstration
// use it.
package plaintext

import (
	"regexp"
	"strings"
)

// htmlComment is what a forge does not show.
var htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)

// elements are the few of HTML that Greenwright writes, and what stands for
// them.
var elements = []string{"<details><summary>", "▾ ", "</summary>", "", "</details>", "", "<sub>", "", "</sub>", "", "\r", ""}

// Readable shows a comment's Markdown about as a person reads it: what is
// hidden is left out, tables are aligned, empty lines do not pile up.
func Readable(body string) string {
	var out []string
	var table [][]string
	flush := func() {
		out = append(out, align(table)...)
		table = nil
	}
	for line := range strings.Lines(strings.NewReplacer(elements...).Replace(htmlComment.ReplaceAllString(body, ""))) {
		line = strings.TrimRight(line, " \n")
		if strings.HasPrefix(line, "|") {
			table = append(table, cells(line))
			continue
		}
		flush()
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	flush()
	return strings.TrimSpace(strings.Join(out, "\n")) + "\n"
}

// cells splits a row of a table; an escaped bar belongs to its cell.
func cells(line string) []string {
	line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00")
	parts := strings.Split(line, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, "\x00", "|"))
	}
	return parts
}

// firstPictograph begins the blocks of emoji that a terminal shows two columns
// wide (Unicode, block 1F000 and on).
const firstPictograph = 0x1F000

// columns is how wide a text is on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= firstPictograph {
			n++
		}
	}
	return n
}

// align gives each column its width and leaves out the rows that only rule.
func align(table [][]string) []string {
	widths := map[int]int{}
	var rows [][]string
	for _, row := range table {
		if strings.Trim(strings.Join(row, ""), "-: ") == "" {
			continue
		}
		rows = append(rows, row)
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-columns(cell)+2))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}
