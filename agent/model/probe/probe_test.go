package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/ollama"
	"github.com/greenwright/greenwright/agent/model/openai"
	"github.com/greenwright/greenwright/agent/model/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func note(words ...string) []modeltest.Call {
	calls := make([]modeltest.Call, len(words))
	for i, w := range words {
		calls[i] = modeltest.Call{Name: "note_word", Args: map[string]string{"word": w}}
	}
	return calls
}

func reply(r modeltest.Reply) modeltest.Step {
	return func(modeltest.Request) modeltest.Reply { return r }
}

// long answers the last question with what the request is estimated to have.
func long(text string) modeltest.Step {
	return func(r modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: text, Usage: model.Usage{Input: int64(len(r.Raw) * 2 / 7), Output: 3}}
	}
}

func chat(t *testing.T, steps ...modeltest.Step) (probe.Opener, *modeltest.Server) {
	t.Helper()
	s, err := modeltest.NewServer(steps...)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
	})
	return func(c model.Capabilities) (model.Model, error) {
		return openai.New(openai.Config{Model: "m", BaseURL: s.URL() + "/v1", Capabilities: c, HTTPClient: client})
	}, s
}

func verdicts(r probe.Report) map[string]bool {
	out := make(map[string]bool)
	for _, f := range r.Findings {
		out[f.Question] = f.OK
	}
	return out
}

func all(ok bool) map[string]bool {
	return map[string]bool{probe.QuestionStream: ok, probe.QuestionTools: ok, probe.QuestionParallel: ok, probe.QuestionLong: ok}
}

func TestGoodEndpoint(t *testing.T) {
	open, s := chat(t, modeltest.Say("ready"), modeltest.Do(note("green")...), modeltest.Do(note("red", "green")...), long("kestrel"))
	r, err := probe.Run(context.Background(), open, probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all(true), verdicts(r)); diff != "" || !r.OK() || r.Requests != 4 {
		t.Errorf("%d requests, %s\n%+v", r.Requests, diff, r.Findings)
	}
	if diff := cmp.Diff(model.Capabilities{Tools: model.Flag(true)}, r.Capabilities); diff != "" {
		t.Error(diff)
	}
	if in := r.Usage.InputTotal(); in < 8_000 || in > 15_000 {
		t.Errorf("the probe took %d tokens", in)
	}
	for _, v := range s.Violations() {
		t.Error(v)
	}
}

func TestCallsInTextAreSwitchedOn(t *testing.T) {
	text := modeltest.Reply{Fault: modeltest.FaultTextCalls, Calls: note("green")}
	two := modeltest.Reply{Fault: modeltest.FaultTextCalls, Calls: note("red", "green")}
	open, _ := chat(t, modeltest.Say("ready"), reply(text), reply(two), long("kestrel"))
	r, err := probe.Run(context.Background(), open, probe.Options{})
	if err != nil || !r.OK() {
		t.Fatalf("%v %+v", err, r.Findings)
	}
	if diff := cmp.Diff([]model.CallFormat{model.FormatHermes}, r.Capabilities.TextCalls); diff != "" {
		t.Error(diff)
	}
	if !verdicts(r)[probe.QuestionParallel] {
		t.Errorf("calls in the text were not read: %+v", r.Findings)
	}
}

func TestParallelNeedsTheFlag(t *testing.T) {
	flagged := func(r modeltest.Request) modeltest.Reply {
		if strings.Contains(string(r.Raw), `"parallel_tool_calls":true`) {
			return modeltest.Reply{Calls: note("red", "green")}
		}
		return modeltest.Reply{Calls: note("red")}
	}
	open, _ := chat(t, modeltest.Say("ready"), modeltest.Do(note("green")...), flagged, flagged, long("kestrel"))
	r, err := probe.Run(context.Background(), open, probe.Options{})
	if err != nil || !verdicts(r)[probe.QuestionParallel] || !model.Is(r.Capabilities.ParallelCalls) {
		t.Errorf("%v %+v %+v", err, r.Findings, r.Capabilities)
	}
	one := modeltest.Do(note("red")...)
	open, _ = chat(t, modeltest.Say("ready"), one, one, one, long("kestrel"))
	r, err = probe.Run(context.Background(), open, probe.Options{})
	if err != nil || verdicts(r)[probe.QuestionParallel] || r.Capabilities.ParallelCalls != nil || !r.OK() {
		t.Errorf("%v %+v %+v", err, r.Findings, r.Capabilities)
	}
}

func TestRefusedFieldsAreLeftOut(t *testing.T) {
	refuse := func(field, text string) modeltest.Step {
		return func(r modeltest.Request) modeltest.Reply {
			if strings.Contains(string(r.Raw), field) {
				return modeltest.Reply{Fault: modeltest.FaultStatus, Status: 400, Message: text}
			}
			return modeltest.Reply{Text: "the field was not sent"}
		}
	}
	open, s := chat(t,
		refuse(`"stream_options"`, "Unknown field: stream_options"),
		refuse(`"max_tokens"`, "Unsupported parameter: 'max_tokens' is not supported with this model."),
		modeltest.Say("ready"), refuse(`"tools"`, "this model does not support tools"),
		reply(modeltest.Reply{Fault: modeltest.FaultTextCalls, Calls: note("green")}),
		reply(modeltest.Reply{Fault: modeltest.FaultTextCalls, Calls: note("red", "green")}), long("kestrel"))
	r, err := probe.Run(context.Background(), open, probe.Options{})
	if err != nil || !r.OK() {
		t.Fatalf("%v %+v", err, r.Findings)
	}
	want := model.Capabilities{Tools: model.Flag(false), StreamOptions: model.Flag(false), MaxTokensField: model.FieldMaxCompletionTokens}
	if diff := cmp.Diff(want, r.Capabilities); diff != "" {
		t.Error(diff)
	}
	last := s.Requests()[len(s.Requests())-1]
	if strings.Contains(string(last.Raw), "stream_options") || len(last.Tools) > 0 {
		t.Errorf("sent %s", last.Raw)
	}
}

func TestLongInput(t *testing.T) {
	start := []modeltest.Step{modeltest.Say("ready"), modeltest.Do(note("green")...), modeltest.Do(note("red", "green")...)}
	cases := []struct {
		name   string
		step   modeltest.Step
		ok     bool
		window int
	}{
		{"refused", modeltest.FailStatus(400, "This model's maximum context length is 4096 tokens. However, you requested 8100 tokens.", 0), false, 4096},
		{"dropped", reply(modeltest.Reply{Text: "which word?", Usage: model.Usage{Input: 2_047, Output: 4}}), false, 2_047},
		{"not found", long("parcel"), true, 0},
		{"found", long("Kestrel."), true, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			open, _ := chat(t, append(append([]modeltest.Step(nil), start...), c.step)...)
			r, err := probe.Run(context.Background(), open, probe.Options{})
			if err != nil || verdicts(r)[probe.QuestionLong] != c.ok || r.Window != c.window {
				t.Errorf("%v, window %d, %+v", err, r.Window, r.Findings)
			}
		})
	}
}

func TestSilentCutOfOllamaIsSeen(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say("ready"), modeltest.Do(note("green")...), modeltest.Do(note("red", "green")...), modeltest.Fail(modeltest.FaultSilentCut)}
	_, s := chat(t, steps...)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	open := func(c model.Capabilities) (model.Model, error) {
		return ollama.New(ollama.Config{Model: "m", BaseURL: s.URL(), Window: 4_096, TextCalls: c.TextCalls, HTTPClient: client})
	}
	r, err := probe.Run(context.Background(), open, probe.Options{})
	if err != nil || r.Window != 4_096 || r.OK() {
		t.Errorf("%v, window %d, %+v", err, r.Window, r.Findings)
	}
}

func TestProbeIsBoundedAndHonest(t *testing.T) {
	asked := 0
	refusing := func(model.Capabilities) (model.Model, error) {
		return fake(func(context.Context, model.Request) (model.Response, error) {
			asked++
			return model.Response{}, &model.Error{Class: model.ClassFatal, Status: 400,
				Message: fmt.Sprintf("no stream_options, max_tokens, max_completion_tokens, developer, tool (%d)", asked)}
		}), nil
	}
	r, err := probe.Run(context.Background(), refusing, probe.Options{})
	if !errors.Is(err, model.ErrFatal) || asked > probe.MaxRequests || r.OK() {
		t.Errorf("asked %d times, %v, %+v", asked, err, r)
	}
	dead := func(model.Capabilities) (model.Model, error) {
		return fake(func(ctx context.Context, _ model.Request) (model.Response, error) {
			<-ctx.Done()
			return model.Response{}, ctx.Err()
		}), nil
	}
	begin := time.Now()
	if _, err := probe.Run(context.Background(), dead, probe.Options{Timeout: 20 * time.Millisecond}); err == nil || time.Since(begin) > 2*time.Second {
		t.Errorf("a dead endpoint: %v after %v", err, time.Since(begin))
	}
	if _, err := probe.Run(context.Background(), func(model.Capabilities) (model.Model, error) { return nil, errors.New("no") }, probe.Options{}); err == nil {
		t.Error("a model that cannot be opened is no error")
	}
}

type fake func(context.Context, model.Request) (model.Response, error)

func (f fake) Name() string { return "test/fake" }

func (f fake) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	return f(ctx, req)
}
