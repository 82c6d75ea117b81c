package control

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

const (
	second = time.Second
	// million is how many of the smallest unit make a US dollar.
	million = 1_000_000
)

// budget raises a thread's ceiling, within the operator's (rule B2).
func (c *Control) budget(ctx context.Context, r Request) (Answer, error) {
	add, ok := dollars(r.Text)
	switch {
	case c.cfg.Budget.Thread == 0:
		return refused("No budget is set for a thread (budgets.thread.usd), so there is nothing to raise."), nil
	case !ok:
		return refused("Say by how many US dollars, as `budget +2` or `budget +0.50`."), nil
	case c.cfg.Budget.Most == 0:
		return refused("The operator lets nobody raise a thread's budget (budgets.raise_usd)."), nil
	}
	total, err := c.cfg.Store.RaiseThread(ctx, r.Thread, r.Key, add, c.cfg.Budget.Most)
	if err != nil {
		return Answer{}, err
	}
	text := fmt.Sprintf("The budget of this thread is %s now", journal.Dollars(c.cfg.Budget.Thread+total))
	if total == c.cfg.Budget.Most {
		text += ", which is the most that the operator allows"
	}
	return said("", "%s.", text), nil
}

// dollars reads "+2" as millionths of a US dollar.
func dollars(text string) (int64, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "$"), "$")
	if strings.Trim(text, "0123456789.") != "" { // no hexadecimal, no exponent
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f > million {
		return 0, false
	}
	n := int64(math.Round(f * million))
	return n, n > 0
}

// spent says what a thread has used of its budget, where there is one.
func (c *Control) spent(ctx context.Context, job jobs.Job) (string, error) {
	if c.cfg.Budget.Thread == 0 || c.cfg.Budget.Spent == nil {
		return "", nil
	}
	used, err := c.cfg.Budget.Spent(ctx, job)
	if err != nil {
		return "", err
	}
	raised, err := c.cfg.Store.Raised(ctx, job.Thread)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(" Spent in this thread: %s of %s.", journal.Dollars(used), journal.Dollars(c.cfg.Budget.Thread+raised)), nil
}
