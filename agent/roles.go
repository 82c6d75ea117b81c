package agent

import "github.com/greenwright/greenwright/agent/model"

// Role is what a request is for; an operator may set a model for each.
type Role string

// The closed set of roles.
const (
	RolePlan      Role = "plan"      // steps until something is changed
	RoleEdit      Role = "edit"      // all other steps
	RoleSummarise Role = "summarise" // the transcript, when it grows too long
	RoleReview    Role = "review"    // a second look at a finished difference
)

// Roles are the models for other roles than edit. A nil Plan or Summarise
// means Config.Model; without Review there is no second look.
type Roles struct {
	Plan, Summarise, Review model.Model
}

// stepRole is the role of the next step.
func (r *run) stepRole() Role {
	if r.phase.now == PhaseLocate || r.phase.now == PhasePlan {
		return RolePlan
	}
	return RoleEdit
}

// model is who answers in a role; nil if nobody does.
func (a *Agent) model(role Role) model.Model {
	var m model.Model
	switch role {
	case RolePlan:
		m = a.cfg.Roles.Plan
	case RoleSummarise:
		m = a.cfg.Roles.Summarise
	case RoleReview:
		return a.cfg.Roles.Review
	case RoleEdit:
	}
	if m == nil {
		return a.cfg.Model
	}
	return m
}
