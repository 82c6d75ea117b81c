package model_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
)

// thinker is a driver that thinks and keeps what it was sent.
type thinker struct{ got []model.Message }

func (*thinker) Name() string { return "openai/x" }

func (d *thinker) Complete(_ context.Context, req model.Request) (model.Response, error) {
	d.got = req.Messages
	return model.Response{Message: thought("openai/x responses"), Model: d.Name(), Usage: model.Usage{Input: 1_000_000, Output: 1_000_000}}, nil
}

func thought(provider string) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: provider, Data: []byte("t")}}, {Kind: model.PartText, Text: "a"}}}
}

func providers(messages []model.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Thinking != nil {
				out = append(out, p.Thinking.Provider)
			}
		}
	}
	return out
}

// TestTwoEndpointsOfOneModel: the same driver and the same id at two servers are
// two models; each gets its own reasoning back, tagged as its driver knows it.
func TestTwoEndpointsOfOneModel(t *testing.T) {
	var driver thinker
	a, b := model.WithName(&driver, "a/x"), model.WithName(&driver, "b/x")
	fromA, err := a.Complete(t.Context(), model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	fromB, _ := b.Complete(t.Context(), model.Request{})
	if fromA.Model != "a/x" || a.Name() != "a/x" || fromB.Model != "b/x" {
		t.Errorf("names are %q and %q", fromA.Model, fromB.Model)
	}
	transcript := []model.Message{fromA.Message, fromB.Message, thought("openai/x responses"), model.Text(model.RoleUser, "go on")}
	before := providers(transcript)
	if _, err := b.Complete(t.Context(), model.Request{Messages: transcript}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "openai/x responses", ""}, providers(driver.got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, providers(transcript)); diff != "" {
		t.Errorf("the transcript itself was changed:\n%s", diff)
	}
}

// TestWithPrice: the reply tells its cost, by kind of token.
func TestWithPrice(t *testing.T) {
	m := model.WithPrice(&thinker{}, model.Tariff{Price: model.Price{Input: 1, Output: 1}, LongAbove: 999_999, Long: model.Price{Input: 3_000_000, Output: 15_000_000}})
	res, err := m.Complete(t.Context(), model.Request{})
	if err != nil || res.CostMicroUSD != 18_000_000 || m.Name() != "openai/x" {
		t.Errorf("cost %d, %v", res.CostMicroUSD, err)
	}
}
