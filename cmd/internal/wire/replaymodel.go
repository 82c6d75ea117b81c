package wire

import (
	"context"
	"sync"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
)

// spoken is what the models of a turn said from a step on, by what they were
// asked for. It is safe for concurrent use.
type spoken struct {
	name string

	mu                     sync.Mutex // guards what is left to say
	steps, sums, secondOps []model.Response
}

// newSpoken reads the replies out of entries.
func newSpoken(name string, entries []agent.Entry) *spoken {
	s := &spoken{name: name}
	var role agent.Role
	for _, e := range entries {
		switch {
		case e.Kind == agent.EntryRequest && e.Request != nil:
			role = e.Request.Role
		case e.Kind != agent.EntryReply || e.Reply == nil:
		case role == agent.RoleSummarise:
			s.sums = append(s.sums, *e.Reply)
		case role == agent.RoleReview:
			s.secondOps = append(s.secondOps, *e.Reply)
		default:
			s.steps = append(s.steps, *e.Reply)
		}
	}
	return s
}

// roles are the models of the turn: one that looks at the change only where
// one did.
func (s *spoken) roles() (steps model.Model, roles agent.Roles) {
	roles.Summarise = &scripted{s, &s.sums}
	if len(s.secondOps) > 0 {
		roles.Review = &scripted{s, &s.secondOps}
	}
	return &scripted{s, &s.steps}, roles
}

// scripted is a model that says what the journal's said.
type scripted struct {
	spoken *spoken
	left   *[]model.Response // under spoken.mu
}

// Name implements model.Model.
func (m *scripted) Name() string { return m.spoken.name }

// Complete implements model.Model.
func (m *scripted) Complete(ctx context.Context, _ model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	m.spoken.mu.Lock()
	defer m.spoken.mu.Unlock()
	if len(*m.left) == 0 {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: "the journal holds no further reply"}
	}
	reply := (*m.left)[0]
	*m.left = (*m.left)[1:]
	return reply, nil
}
