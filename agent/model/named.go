package model

import (
	"context"
	"slices"
	"strings"
)

// Named is a [Model] under another name.
type Named struct {
	inner Model
	name  string
}

// WithName decorates m so that it and its replies go by name, as an operator
// calls it. Two endpoints with the same driver and the same model's id are then
// told apart, and the reasoning of one is not sent to the other.
func WithName(m Model, name string) *Named { return &Named{inner: m, name: name} }

// Name is the given one.
func (n *Named) Name() string { return n.name }

// Complete hands the driver its own reasoning and no other.
func (n *Named) Complete(ctx context.Context, req Request) (Response, error) {
	if n.name == n.inner.Name() {
		return n.inner.Complete(ctx, req)
	}
	messages := make([]Message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = relabel(m, func(provider string) string {
			if own, ok := strings.CutPrefix(provider, n.name+" "); ok {
				return own
			}
			return "" // nobody's: drivers drop what is not theirs
		})
	}
	req.Messages = messages
	res, err := n.inner.Complete(ctx, req)
	if err != nil {
		return res, err
	}
	res.Model = n.name
	res.Message = relabel(res.Message, func(provider string) string { return n.name + " " + provider })
	return res, nil
}

// relabel is m with another provider of each piece of reasoning; m itself stays
// as it is.
func relabel(m Message, label func(provider string) string) Message {
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if p.Thinking != nil {
			parts[i].Thinking = &Thinking{Provider: label(p.Thinking.Provider), Data: p.Thinking.Data}
		}
	}
	m.Parts = parts
	return m
}
