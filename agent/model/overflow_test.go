package model_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
)

// TestOverflow has a text of each vendor, as it is on the wire.
func TestOverflow(t *testing.T) {
	cases := []struct {
		vendor, text string
		asked, limit int
	}{
		{"Anthropic", "prompt is too long: 210000 tokens > 200000 maximum", 210000, 200000},
		{"Anthropic, no numbers", "Prompt is too long", 0, 0},
		{"Anthropic, with the reply", "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens` and try again", 206000, 200000},
		{"Bedrock", "Input is too long for requested model.", 0, 0},
		{"OpenAI", "This model's maximum context length is 128000 tokens. However, your messages resulted in 130421 tokens. Please reduce the length of the messages.", 130421, 128000},
		{"OpenAI, configured", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 300000, 272000},
		{"OpenAI, Responses", "Your input exceeds the context window of this model. Please adjust your input and try again.", 0, 0},
		{"OpenAI, code alone", "context_length_exceeded", 0, 0},
		{"vLLM", "This model's maximum context length is 4096 tokens. However, you requested 5016 tokens (4016 in the messages, 1000 in the completion).", 5016, 4096},
		{"vLLM, newer", "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 9000, 8192},
		{"OpenRouter", "This endpoint's maximum context length is 200,000 tokens. However, you requested about 201,334 tokens (185334 of text input, 16000 in the output).", 201334, 200000},
		{"Gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576},
		{"Gemini, newer", "The input token count exceeds the maximum number of tokens allowed 1048576.", 0, 1048576},
		{"xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 537812, 131072},
		{"Groq", "Please reduce the length of the messages or completion.", 0, 0},
		{"llama.cpp", "request (11525 tokens) exceeds the available context size (4096 tokens), try increasing it", 11525, 4096},
		{"llama.cpp, older", "the request exceeds the available context size. try increasing the context size or enable context shift", 0, 0},
		{"LM Studio", "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096).", 5000, 4096},
		{"Mistral", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 40000, 32768},
		{"Moonshot", "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)", 300000, 262144},
		{"Copilot", "prompt token count of 130000 exceeds the limit of 128000", 130000, 128000},
		{"Ollama", "the input length exceeds the context length", 0, 0},
		{"a number out of all proportion", "prompt is too long: 99999999999999 tokens > 200000 maximum", 0, 200000},
	}
	for _, c := range cases {
		t.Run(c.vendor, func(t *testing.T) {
			over, asked, limit := model.Overflow(c.text)
			if !over || asked != c.asked || limit != c.limit {
				t.Errorf("over %v, asked %d, limit %d; want %d, %d", over, asked, limit, c.asked, c.limit)
			}
			e := model.FromStatus(400, c.text, 0, nil)
			if !errors.Is(e, model.ErrOverflow) || e.Asked != c.asked || e.Limit != c.limit {
				t.Errorf("%+v", e)
			}
			if errors.Is(model.FromStatus(429, c.text, 0, nil), model.ErrOverflow) {
				t.Error("a 429 is overflow")
			}
		})
	}
	for _, text := range []string{"", "max_tokens is too large", "too many requests", "the tool name is too long", "context"} {
		if over, _, _ := model.Overflow(text); over {
			t.Errorf("%q is overflow", text)
		}
	}
}

func TestBillingAndBareAnswers(t *testing.T) {
	cases := []struct {
		status int
		text   string
		want   error
	}{
		{429, "You have insufficient balance", model.ErrFatal},
		{402, "Payment Required", model.ErrFatal},
		{400, "", model.ErrOverflow},
		{422, "", model.ErrFatal},
		{413, "Request Entity Too Large", model.ErrOverflow},
		{500, "the input length exceeds the context length", model.ErrOverflow},
		{503, "prompt is too long a queue", model.ErrRetryable},
		{403, "", model.ErrFatal},
	}
	for _, c := range cases {
		if err := model.FromStatus(c.status, c.text, 0, nil); !errors.Is(err, c.want) {
			t.Errorf("%d %q: %v", c.status, c.text, err)
		}
	}
}

func TestCheckWindow(t *testing.T) {
	usage := model.Usage{Input: 100, CacheRead: 900, CacheWrite: 1}
	for window, over := range map[int]bool{0: false, 1001: false, 1000: true} {
		err := model.CheckWindow(usage, window)
		e, _ := errors.AsType[*model.Error](err)
		if (err != nil) != over || over && (e.Class != model.ClassOverflow || e.Asked != 1001 || e.Limit != window) {
			t.Errorf("window %d: %v", window, err)
		}
	}
}

func TestEstimate(t *testing.T) {
	cases := map[string]int{"": 0, "seven..": 2, "我再看一遍文件": 9, "naïve": 2}
	for text, want := range cases {
		if got := model.EstimateTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestCapabilities(t *testing.T) {
	bad := model.Capabilities{MaxTokensField: "max", SystemRole: "root", ReasoningField: "x", TextCalls: []model.CallFormat{"xml"}}
	err := bad.Validate()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("%v", err)
	}
	def := model.Capabilities{Tools: model.Flag(true), MaxTokensField: model.FieldMaxTokens, SystemRole: model.RoleNameSystem, TextCalls: []model.CallFormat{model.FormatHermes}}
	got := model.Capabilities{Tools: model.Flag(false), SystemRole: model.RoleNameDeveloper}.Or(def)
	want := model.Capabilities{Tools: model.Flag(false), MaxTokensField: model.FieldMaxTokens, SystemRole: model.RoleNameDeveloper, TextCalls: def.TextCalls}
	if diff := cmp.Diff(want, got); diff != "" || got.Validate() != nil {
		t.Error(diff, got.Validate())
	}
}
