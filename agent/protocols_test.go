package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/openai"
)

// TestWholeRunOverEveryProtocol plays one script, with faults on the way,
// through the real SDKs: the run must come out the same.
func TestWholeRunOverEveryProtocol(t *testing.T) {
	drivers := map[string]func(url string) (model.Model, error){
		"anthropic": func(url string) (model.Model, error) {
			return anthropic.New(anthropic.Config{Model: "m", BaseURL: url})
		},
		"responses": func(url string) (model.Model, error) {
			return openai.New(openai.Config{Model: "m", BaseURL: url + "/v1", API: openai.APIResponses})
		},
		"chat": func(url string) (model.Model, error) {
			return openai.New(openai.Config{Model: "m", BaseURL: url + "/v1"})
		},
	}
	steps := []modeltest.Step{
		modeltest.FailStatus(529, "overloaded", 0),
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Thinking: "look first", Text: "Reading.", Calls: []modeltest.Call{readMain(), call("search_code", obj{"pattern": "broken"})}}
		},
		modeltest.Fail(modeltest.FaultCutStream),
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Fault: modeltest.FaultMaxTokens, Thinking: "now edit", Calls: []modeltest.Call{fixMain()}}
		},
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Fault: modeltest.FaultMissingIDs, Calls: []modeltest.Call{fixMain(), runCheck()}}
		},
		func(modeltest.Request) modeltest.Reply { return modeltest.Reply{} },
		modeltest.FailStatus(429, "slow down", time.Second),
		modeltest.Do(submit()),
		modeltest.Do(submit()),
	}
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			s, err := modeltest.NewServer(steps...)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			m, err := open(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			retries := 0
			r := newRig(t, model.WithRetry(m, model.RetryConfig{
				Wait:        func(context.Context, time.Duration) error { return nil },
				BeforeRetry: func(int, time.Duration, error) { retries++ },
			}))
			out := r.run(change())
			if out.State != agent.StateFinished || retries != 3 || s.Left() != 0 {
				t.Errorf("state %s (%s), %d retries, %d steps left", out.State, out.Reason, retries, s.Left())
			}
			for _, v := range s.Violations() {
				t.Errorf("the service would have refused: %v", v)
			}
			if got := r.read("main.go"); !strings.Contains(got, "fixed") {
				t.Errorf("main.go = %q", got)
			}
		})
	}
}
