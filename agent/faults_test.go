package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/gemini"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/ollama"
	"github.com/greenwright/greenwright/agent/model/openai"
	"github.com/greenwright/greenwright/agent/tool"
)

// driver speaks a protocol to the server at url.
func driver(protocol, url string, idle time.Duration) (model.Model, error) {
	patience := model.Patience{First: time.Minute, Idle: idle}
	text := model.Capabilities{TextCalls: []model.CallFormat{model.FormatHermes}}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	switch protocol {
	case modeltest.ProtocolAnthropic:
		return anthropic.New(anthropic.Config{Model: "m", BaseURL: url, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolResponses:
		return openai.New(openai.Config{Model: "m", BaseURL: url + "/v1", API: openai.APIResponses, Capabilities: text, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolChat:
		return openai.New(openai.Config{Model: "m", BaseURL: url + "/v1", Capabilities: text, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolOllama:
		return ollama.New(ollama.Config{Model: "m", BaseURL: url, Window: modeltest.SuiteWindow, TextCalls: text.TextCalls, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolGemini:
		return gemini.New(gemini.Config{Model: "m", BaseURL: url + "/v1beta", Patience: patience, HTTPClient: client})
	}
	return nil, fmt.Errorf("no driver speaks %s", protocol)
}

// noWait retries at once.
func noWait(m model.Model) model.Model {
	return model.WithRetry(m, model.RetryConfig{Wait: func(context.Context, time.Duration) error { return nil }})
}

// TestWholeRunOverEveryProtocol plays one script, with faults on the way,
// through the real drivers: the run must come out the same.
func TestWholeRunOverEveryProtocol(t *testing.T) {
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
	for _, protocol := range modeltest.Protocols() {
		t.Run(protocol, func(t *testing.T) {
			out, r, s := overServer(t, protocol, time.Minute, steps)
			if out.State != agent.StateFinished || s.Left() != 0 {
				t.Errorf("state %s (%s), %d steps left", out.State, out.Reason, s.Left())
			}
			if got := r.read("main.go"); !strings.Contains(got, "fixed") {
				t.Errorf("main.go = %q", got)
			}
		})
	}
}

// overServer runs a task against a scripted server through a real driver.
func overServer(t *testing.T, protocol string, idle time.Duration, steps []modeltest.Step) (agent.Outcome, *rig, *modeltest.Server) {
	t.Helper()
	s, err := modeltest.NewServer(steps...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	m, err := driver(protocol, s.URL(), idle)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, noWait(m))
	r.cfg.Tools = append(r.cfg.Tools, r.looker())
	a, err := agent.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(context.Background(), change())
	if (err != nil) != (out.State == agent.StateFailed) {
		t.Errorf("state %s, error %v", out.State, err)
	}
	for _, v := range s.Violations() {
		t.Errorf("the service would have refused: %v", v)
	}
	return out, r, s
}

// looker is the tool that the fault suite's calls name.
func (r *rig) looker() tool.Tool {
	var mu sync.Mutex
	type args struct {
		Path string `json:"path"`
	}
	return tool.Typed(tool.Spec{Name: modeltest.FaultTool, Effect: tool.EffectRead}, func(_ context.Context, a args) tool.Result {
		mu.Lock()
		defer mu.Unlock()
		r.looked = append(r.looked, a.Path)
		return tool.OKText("seen")
	})
}

// endOf is how a run ends in whose middle a fault of the suite happens; the
// model does its work before and after.
func endOf(name string, want modeltest.FaultWant) agent.State {
	switch {
	case name == "400 without a body", name == "413 without a body":
		return agent.StateContextExhausted // if it is for its length: one so short cannot be made shorter
	case want.Class == model.ClassFatal, want.Class == model.ClassRetryable:
		return agent.StateFailed
	case want.Stop == model.StopRefusal:
		return agent.StateRefused
	}
	return agent.StateFinished // also after an overflow: compacted and sent again
}

// TestFaultsInARun is the fault suite as a run meets it: the state it ends in,
// the calls that run and those that never do, in every protocol.
func TestFaultsInARun(t *testing.T) {
	for _, protocol := range modeltest.Protocols() {
		for _, c := range modeltest.Faults() {
			want, not := c.For(protocol)
			if not != "" {
				continue // why is in the table
			}
			t.Run(protocol+"/"+c.Name, func(t *testing.T) {
				idle := time.Minute
				if c.Name == modeltest.SilentStream {
					idle = 300 * time.Millisecond
				}
				steps := append([]modeltest.Step{modeltest.Do(readMain())}, c.Steps...)
				steps = append(steps, modeltest.Do(fixMain(), runCheck()), modeltest.Do(submit()), modeltest.Do(submit()))
				out, r, _ := overServer(t, protocol, idle, steps)
				if state := endOf(c.Name, want); out.State != state {
					t.Errorf("ended %s (%s), want %s", out.State, out.Reason, state)
				}
				var runs []string
				for _, raw := range want.Runs {
					var a struct {
						Path string `json:"path"`
					}
					if err := json.Unmarshal([]byte(raw), &a); err != nil {
						t.Fatal(err)
					}
					runs = append(runs, a.Path)
				}
				if diff := cmp.Diff(runs, r.looked, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
					t.Errorf("calls that ran: %s", diff)
				}
				if fixed := strings.Contains(r.read("main.go"), "fixed"); fixed != (out.State == agent.StateFinished) {
					t.Errorf("fixed: %v", fixed)
				}
			})
		}
	}
}
