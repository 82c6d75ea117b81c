package modeltest

import (
	"fmt"
	"regexp"

	"github.com/greenwright/greenwright/agent/model"
)

// Check says whether a transcript is one that every service accepts: it begins
// with the user, calls have legal and unique ids, and each reply with calls is
// followed at once by exactly their results.
func Check(messages []model.Message) error {
	if len(messages) == 0 || messages[0].Role != model.RoleUser {
		return fmt.Errorf("the transcript does not begin with the user")
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := make(map[string]bool)
	for i, m := range messages {
		if m.Role == model.RoleTool && (i == 0 || len(messages[i-1].Calls()) == 0) {
			return fmt.Errorf("message %d: results without calls before them", i)
		}
		calls := m.Calls()
		for _, c := range calls {
			if !legal.MatchString(c.ID) || seen[c.ID] {
				return fmt.Errorf("message %d: call id %q is illegal or repeated", i, c.ID)
			}
			seen[c.ID] = true
		}
		if len(calls) == 0 {
			continue
		}
		if err := answered(calls, messages[i+1:]); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// answered checks that the next message holds the result of each call.
func answered(calls []model.ToolCall, rest []model.Message) error {
	if len(rest) == 0 || rest[0].Role != model.RoleTool {
		return fmt.Errorf("%d calls are not followed by their results", len(calls))
	}
	results := make(map[string]int)
	for _, p := range rest[0].Parts {
		if p.Result != nil {
			results[p.Result.CallID]++
		}
	}
	for _, c := range calls {
		if results[c.ID] != 1 {
			return fmt.Errorf("call %s has %d results", c.ID, results[c.ID])
		}
	}
	if len(results) != len(calls) {
		return fmt.Errorf("%d results for %d calls", len(results), len(calls))
	}
	return nil
}
