package modeltest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/gemini"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/ollama"
	"github.com/greenwright/greenwright/agent/model/openai"
)

const testKey = "sk-test-0123456789"

// How long a stream may be silent: where it is to be silent, and where it is
// not, however busy the machine is.
const (
	shortIdle = 300 * time.Millisecond
	longIdle  = time.Minute
)

// open starts a server with the steps and a driver that speaks the protocol.
func open(t *testing.T, protocol string, idle time.Duration, steps ...modeltest.Step) (model.Model, *modeltest.Server) {
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
	m, err := driver(protocol, s.URL(), client, idle)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// driver makes the driver that speaks the protocol.
func driver(protocol, url string, client *http.Client, idle time.Duration) (model.Model, error) {
	patience := model.Patience{First: time.Minute, Idle: idle}
	text := model.Capabilities{TextCalls: []model.CallFormat{model.FormatHermes}}
	switch protocol {
	case modeltest.ProtocolAnthropic:
		return anthropic.New(anthropic.Config{Model: "scripted", APIKey: testKey, BaseURL: url, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolResponses:
		return openai.New(openai.Config{Model: "scripted", APIKey: testKey, BaseURL: url + "/v1", API: openai.APIResponses, Capabilities: text, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolChat:
		return openai.New(openai.Config{Model: "scripted", APIKey: testKey, BaseURL: url + "/v1", Capabilities: text, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolOllama:
		return ollama.New(ollama.Config{Model: "scripted", APIKey: testKey, BaseURL: url, Window: modeltest.SuiteWindow, TextCalls: text.TextCalls, Patience: patience, HTTPClient: client})
	case modeltest.ProtocolGemini:
		return gemini.New(gemini.Config{Model: "scripted", APIKey: testKey, BaseURL: url + "/v1beta", Patience: patience, HTTPClient: client})
	}
	return nil, fmt.Errorf("no driver speaks %s", protocol)
}

// eachDriver runs a test with every driver against a server with its own copy
// of the steps.
func eachDriver(t *testing.T, steps []modeltest.Step, test func(t *testing.T, m model.Model, s *modeltest.Server)) {
	t.Helper()
	for _, protocol := range modeltest.Protocols() {
		t.Run(protocol, func(t *testing.T) {
			m, s := open(t, protocol, longIdle, steps...)
			test(t, m, s)
		})
	}
}

func request(messages ...model.Message) model.Request {
	return model.Request{
		System:          []string{"be good", "facts"},
		Messages:        messages,
		MaxOutputTokens: 500,
		Tools: []model.ToolSpec{
			{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
		},
	}
}

func noViolations(t *testing.T, s *modeltest.Server) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("the service would have refused: %v", v)
	}
}
