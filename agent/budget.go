package agent

import "fmt"

// wrapUpShare is when the model is told that a budget is nearly used up.
const wrapUpShare = 0.8

// spending is the budget that is used up the most.
type spending struct {
	what   string
	share  float64
	state  State
	reason string
}

// spent is the one place where limits are compared with what was used.
func (r *run) spent() spending {
	all := []spending{
		ratio("steps", int64(r.out.Steps), int64(r.limits.Steps), StateStepLimit),
		ratio("tool calls", int64(r.out.ToolCalls), int64(r.limits.ToolCalls), StateCallLimit),
		ratio("wall clock", int64(r.elapsed()), int64(r.limits.WallClock), StateTimeLimit),
		ratio("input tokens", r.out.Usage.InputTotal(), r.limits.InputTokens, StateOutOfBudget),
		ratio("output tokens", r.out.Usage.Output, r.limits.OutputTokens, StateOutOfBudget),
		ratio("cost", r.out.CostMicroUSD, r.limits.CostMicroUSD, StateOutOfBudget),
	}
	if shared := r.agent.cfg.Shared; shared != nil {
		share, what := shared()
		s := ratio(what, 0, 0, StateOutOfBudget)
		s.share = share
		all = append(all, s)
	}
	most := all[0]
	for _, s := range all[1:] {
		if s.share > most.share {
			most = s
		}
	}
	return most
}

// ratio is what is used of a limit; no limit is never used up.
func ratio(what string, used, limit int64, state State) spending {
	s := spending{what: what, state: state, reason: fmt.Sprintf("the limit on %s is used up", what)}
	if limit > 0 {
		s.share = float64(used) / float64(limit)
	}
	return s
}

func wrapUpText(s spending) string {
	return fmt.Sprintf("Platform notice: %d %% of the limit on %s is used. Start nothing new. Bring what you have into "+
		"a state that passes the verifying commands, then call `finish`.", int(s.share*100), s.what)
}

func lastStepText(s spending) string {
	return fmt.Sprintf("Platform notice: the limit on %s is used up, and tools are no longer available. Write in plain "+
		"text what was wrong, what you changed, what you ran, and what is left to do.", s.what)
}
