package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFaults is the fault suite: every protocol and every fault, through the
// real drivers with their retries on a clock that does not run.
func TestFaults(t *testing.T) {
	for _, protocol := range modeltest.Protocols() {
		for _, c := range modeltest.Faults() {
			want, not := c.For(protocol)
			if not != "" {
				t.Logf("%s has no %q: %s", protocol, c.Name, not)
				continue
			}
			t.Run(protocol+"/"+c.Name, func(t *testing.T) { playFault(t, protocol, c, want) })
		}
	}
}

func playFault(t *testing.T, protocol string, c modeltest.FaultCase, want modeltest.FaultWant) {
	t.Helper()
	idle := longIdle
	if c.Name == modeltest.SilentStream {
		idle = shortIdle
	}
	m, s := open(t, protocol, idle, c.Steps...)
	now := time.Unix(0, 0)
	var waits []time.Duration
	retrying := model.WithRetry(m, model.RetryConfig{
		Now:    func() time.Time { return now },
		Random: func() float64 { return 0 },
		Wait: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			waits = append(waits, d)
			return nil
		},
	})
	res, err := retrying.Complete(context.Background(), request(model.Text(model.RoleUser, "go")))
	got := modeltest.FaultWant{Requests: len(s.Requests()), Stop: res.StopReason, Wait: want.Wait}
	if e, ok := errors.AsType[*model.Error](err); ok {
		got.Class, got.RetryAfter, got.Asked, got.Limit = e.Class, e.RetryAfter, e.Asked, e.Limit
	} else if err != nil {
		t.Errorf("the error is no *model.Error: %v", err)
	}
	for _, call := range res.Message.Calls() {
		var object map[string]any
		switch {
		case call.Cut:
			got.Cut++
		case json.Unmarshal(call.Arguments, &object) == nil && res.StopReason != model.StopRefusal:
			got.Runs = append(got.Runs, string(call.Arguments))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("end state (-want +got), error %v:\n%s", err, diff)
	}
	if len(waits) > 0 && waits[0] < max(want.Wait, 1) {
		t.Errorf("waited %v", waits)
	}
	if err == nil && res.Model != m.Name() {
		t.Errorf("the reply names %q as its model", res.Model)
	}
	if want.Requests > 1 && err == nil && res.Message.Plain() != modeltest.Recovered {
		t.Errorf("the reply has %q: partial text survived", res.Message.Plain())
	}
	checkReply(t, res)
	noViolations(t, s)
}

// checkReply holds what is true of every reply: its calls can be told apart,
// and it goes back as a transcript that services accept.
func checkReply(t *testing.T, res model.Response) {
	t.Helper()
	if len(res.Message.Parts) == 0 {
		return
	}
	var results []model.ToolResult
	for _, call := range res.Message.Calls() {
		results = append(results, model.ToolResult{CallID: call.ID, Text: "x"})
	}
	messages := []model.Message{model.Text(model.RoleUser, "go"), res.Message}
	if len(results) > 0 {
		messages = append(messages, model.Results(results...))
	}
	if err := modeltest.Check(messages); err != nil {
		t.Error(err)
	}
}

// TestFaultTableIsWhole: no cell is missing, and no reason is given for a
// protocol that does not exist.
func TestFaultTableIsWhole(t *testing.T) {
	known := make(map[string]bool)
	for _, p := range modeltest.Protocols() {
		known[p] = true
	}
	for _, c := range modeltest.Faults() {
		if c.Name == "" || len(c.Steps) == 0 || c.Want.Requests == 0 {
			t.Errorf("row %q is not complete", c.Name)
		}
		for p := range c.Not {
			if _, both := c.In[p]; both || !known[p] {
				t.Errorf("row %q: protocol %q", c.Name, p)
			}
		}
		if len(c.Not) == len(known) {
			t.Errorf("row %q exists in no protocol", c.Name)
		}
	}
}
