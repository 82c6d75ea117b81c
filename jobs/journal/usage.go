package journal

import (
	"fmt"
	"slices"
	"strings"
)

// usageRows are the facts on tokens and money, by kind; a row for each model
// when several have answered, and what earlier attempts used.
func (r Report) usageRows() [][2]string {
	var rows [][2]string
	total := Spent{Steps: r.Steps, Usage: r.Usage, CostMicroUSD: r.cost()}
	if total.Usage.InputTotal()+total.Usage.Output > 0 {
		rows = append(rows, [2]string{"Tokens", total.words() + r.notCounted()})
	}
	if len(r.ByModel) > 1 {
		for _, m := range r.ByModel {
			if m.Usage.InputTotal()+m.Usage.Output > 0 {
				rows = append(rows, [2]string{"Tokens of one", tableCell(Code(m.Model)) + ": " + plural(m.Steps, "step") + ", " + m.words()})
			}
		}
	}
	if c := r.Started.Carried; c != nil && c.Steps > 0 {
		rows = append(rows, [2]string{"Earlier attempts", plural(c.Steps, "step") + ", " + c.words()})
	}
	return rows
}

// words are the tokens by kind, and the cost where there is one.
func (s Spent) words() string {
	u := s.Usage
	out := fmt.Sprintf("%d fresh, %d read from cache, %d written to cache, %d out", u.Input, u.CacheRead, u.CacheWrite, u.Output)
	if s.CostMicroUSD > 0 {
		out += ", " + Dollars(s.CostMicroUSD)
	}
	return out
}

// Dollars writes millionths of a US dollar for people.
func Dollars(micro int64) string {
	const million = 1e6
	return fmt.Sprintf("$%.4f", float64(micro)/million)
}

// notCounted names the models whose price is not known.
func (r Report) notCounted() string {
	var names []string
	for _, m := range r.Models {
		if name := tableCell(Code(m.Model)); m.Unpriced && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; the cost of " + strings.Join(names, ", ") + " is not known: the operator can set models.prices"
}
