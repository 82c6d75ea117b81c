package agent

import (
	"context"
	_ "embed"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

//go:embed review.md
var reviewPrompt string

const (
	// reviewTokens caps what a second reader may write.
	reviewTokens = 1_500
	reviewBytes  = 6_000
)

// secondLook asks the model of [RoleReview], if there is one, what is wrong
// with the difference. It is advice: without an answer the review goes on.
func (r *run) secondLook(ctx context.Context, diff string) string {
	m := r.agent.model(RoleReview)
	if m == nil || strings.TrimSpace(diff) == "" || r.agent.cfg.Differ == nil {
		return ""
	}
	shown, _ := tool.Cut(tool.Clean(diff), r.window.Bytes(window.ItemShare), 0.6)
	req := model.Request{
		System:          []string{reviewPrompt},
		Messages:        []model.Message{model.Text(model.RoleUser, r.first.Plain()+"\n"+quote("the difference", "", shown))},
		MaxOutputTokens: reviewTokens,
	}
	reply, err := r.send(ctx, RoleReview, req)
	if err != nil {
		r.agent.cfg.Log.Warn("no second look at the difference", "run_id", r.task.ID, "error", err)
		return ""
	}
	text := strings.TrimSpace(tool.Clean(reply.Message.Plain()))
	if strings.EqualFold(strings.Trim(text, ". "), "nothing") {
		return ""
	}
	text, _ = tool.Cut(text, reviewBytes, 0.9)
	return text
}
