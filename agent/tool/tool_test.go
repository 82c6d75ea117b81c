package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
)

type args struct {
	Path  string            `json:"path" jsonschema:"a path"`
	Limit int               `json:"limit,omitempty"`
	Ratio float64           `json:"ratio,omitempty"`
	All   bool              `json:"all,omitempty"`
	Items []item            `json:"items,omitempty"`
	Kind  string            `json:"kind,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

type item struct {
	Text string `json:"text"`
}

func echo() tool.Tool {
	return tool.Typed(tool.Spec{Name: "echo_args", Effect: tool.EffectRead,
		Schema: tool.SchemaFor[args](tool.Range("limit", 1, 10), tool.Enum("kind", "a", "b"))},
		func(_ context.Context, a args) tool.Result {
			data, _ := json.Marshal(a)
			return tool.OKText(string(data))
		})
}

func registry(t testing.TB, tools ...tool.Tool) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestValidation(t *testing.T) {
	cases := []struct {
		name, in string
		code     tool.Code
		want     string // whole text when OK, else a part of it
	}{
		{"plain", `{"path":"a","limit":3}`, tool.CodeOK, `{"path":"a","limit":3}`},
		{"number as string", `{"path":"a","limit":"5"}`, tool.CodeOK, `{"path":"a","limit":5}`},
		{"whole float", `{"path":"a","limit":5.0}`, tool.CodeOK, `{"path":"a","limit":5}`},
		{"bool as string", `{"path":"a","all":"true"}`, tool.CodeOK, `{"path":"a","all":true}`},
		{"null optional", `{"path":"a","limit":null,"items":null}`, tool.CodeOK, `{"path":"a"}`},
		{"object as string", `"{\"path\":\"a\"}"`, tool.CodeOK, `{"path":"a"}`},
		{"trailing comma", `{"path":"a",}`, tool.CodeOK, `{"path":"a"}`},
		{"raw newline in string", "{\"path\":\"a\nb\"}", tool.CodeOK, `{"path":"a\nb"}`},
		{"nested", `{"path":"a","items":[{"text":"x"}],"env":{"A":"b"}}`, tool.CodeOK, `{"path":"a","items":[{"text":"x"}],"env":{"A":"b"}}`},
		{"unknown field", `{"path":"a","limt":3}`, tool.CodeInvalidArgs, `limt: unknown field; did you mean "limit"?`},
		{"unknown nested", `{"path":"a","items":[{"txt":"x"}]}`, tool.CodeInvalidArgs, `items[0].txt: unknown field; did you mean "text"?`},
		{"missing required", `{"limit":3}`, tool.CodeInvalidArgs, "path: required field is missing"},
		{"null required", `{"path":null}`, tool.CodeInvalidArgs, "path: must be string, not null"},
		{"empty", ``, tool.CodeInvalidArgs, "path: required field is missing"},
		{"number for string", `{"path":5}`, tool.CodeInvalidArgs, "path: must be string, not a number"},
		{"fraction", `{"path":"a","limit":1.5}`, tool.CodeInvalidArgs, "limit: must be integer"},
		{"word for number", `{"path":"a","limit":"many"}`, tool.CodeInvalidArgs, "limit: must be integer"},
		{"yes for bool", `{"path":"a","all":"yes"}`, tool.CodeInvalidArgs, "all: must be true or false"},
		{"out of range", `{"path":"a","limit":99}`, tool.CodeInvalidArgs, "limit"},
		{"not in the list", `{"path":"a","kind":"c"}`, tool.CodeInvalidArgs, "kind"},
		{"open bracket", `{"path":"a"`, tool.CodeInvalidArgs, "not valid JSON"},
		{"open string", `{"path":"a`, tool.CodeInvalidArgs, "not valid JSON"},
		{"array", `["a"]`, tool.CodeInvalidArgs, "must be one JSON object"},
		{"null", `null`, tool.CodeInvalidArgs, "must be one JSON object"},
	}
	r := registry(t, echo())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := r.Run(context.Background(), tool.Call{Name: "echo_args", Args: json.RawMessage(c.in)})
			if res.Code != c.code || res.OK != (c.code == tool.CodeOK) {
				t.Fatalf("code %s: %s", res.Code, res.Text)
			}
			if res.OK && res.Text != c.want || !strings.Contains(res.Text, c.want) {
				t.Errorf("text %s, want %s", res.Text, c.want)
			}
		})
	}
}

func TestRegistryRefusals(t *testing.T) {
	r := registry(t, echo())
	cut := r.Run(context.Background(), tool.Call{Name: "echo_args", Args: json.RawMessage(`{"path":"whole"}`), Cut: true})
	if cut.Code != tool.CodeTruncatedArgs || !strings.HasPrefix(cut.Text, "TRUNCATED_ARGS") {
		t.Errorf("cut: %+v", cut)
	}
	unknown := r.Run(context.Background(), tool.Call{Name: "echo", Args: json.RawMessage(`{}`)})
	if unknown.Code != tool.CodeUnknownTool || !strings.Contains(unknown.Text, "echo_args") {
		t.Errorf("unknown: %+v", unknown)
	}
	if _, err := tool.NewRegistry(echo(), echo()); err == nil {
		t.Error("two tools of one name were accepted")
	}
	type hopeless struct {
		F func() `json:"f"`
	}
	bad := tool.Typed(tool.Spec{Name: "bad"}, func(context.Context, hopeless) tool.Result { return tool.OKText("") })
	if _, err := tool.NewRegistry(bad); err == nil {
		t.Error("a tool without a schema was accepted")
	}
}

func TestPanicIsInternalAndRetriedOnceWhenReadOnly(t *testing.T) {
	for _, c := range []struct {
		effect tool.Effect
		want   int
	}{{tool.EffectRead, 2}, {tool.EffectExec, 1}} {
		ran := 0
		boom := tool.Typed(tool.Spec{Name: "boom", Effect: c.effect}, func(context.Context, struct{}) tool.Result {
			ran++
			panic("boom")
		})
		res := registry(t, boom).Run(context.Background(), tool.Call{Name: "boom"})
		if res.Code != tool.CodeInternal || ran != c.want {
			t.Errorf("%s: code %s, ran %d times", c.effect, res.Code, ran)
		}
	}
}

func TestTimeoutReachesTheTool(t *testing.T) {
	slow := tool.Typed(tool.Spec{Name: "slow", Timeout: 20 * time.Millisecond, Effect: tool.EffectExec}, func(ctx context.Context, _ struct{}) tool.Result {
		<-ctx.Done()
		return tool.Failf(tool.CodeTimeout, "too slow")
	})
	if res := registry(t, slow).Run(context.Background(), tool.Call{Name: "slow"}); res.Code != tool.CodeTimeout {
		t.Errorf("code %s", res.Code)
	}
}

// TestReadsEndAtTheirDeadline even when the tool does not look at its context,
// and what a tool says by itself at the deadline is what counts.
func TestReadsEndAtTheirDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	deaf := tool.Typed(tool.Spec{Name: "deaf", Timeout: 20 * time.Millisecond, Effect: tool.EffectRead}, func(context.Context, struct{}) tool.Result {
		<-release
		return tool.OKText("too late")
	})
	punctual := tool.Typed(tool.Spec{Name: "punctual", Timeout: 20 * time.Millisecond, Effect: tool.EffectRead}, func(ctx context.Context, _ struct{}) tool.Result {
		<-ctx.Done()
		return tool.OKText("half of it")
	})
	r := registry(t, deaf, punctual)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		ctx  context.Context
		name string
		code tool.Code
	}{{t.Context(), "deaf", tool.CodeTimeout}, {canceled, "deaf", tool.CodeNotRun}, {t.Context(), "punctual", tool.CodeOK}}
	for _, c := range cases {
		done := make(chan tool.Result, 1)
		go func() { done <- r.Run(c.ctx, tool.Call{Name: c.name}) }()
		select {
		case res := <-done:
			if res.Code != c.code {
				t.Errorf("%s: %s, want %s", c.name, res.Text, c.code)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s hangs", c.name)
		}
	}
}

func TestOutputIsCleanedAndCut(t *testing.T) {
	loud := tool.Typed(tool.Spec{Name: "loud", OutputBytes: 1000}, func(context.Context, struct{}) tool.Result {
		return tool.OKText("\x1b[31mfirst\x1b[0m\n" + strings.Repeat("line\n", 1000) + "last\xff\n")
	})
	res := registry(t, loud).Run(context.Background(), tool.Call{Name: "loud"})
	if len(res.Text) > 1000 || !strings.HasPrefix(res.Text, "first\n") || !strings.HasSuffix(res.Text, "last\ufffd\n") || res.Truncated == nil || res.Truncated.BytesShown != int64(len(res.Text)) {
		t.Errorf("%d bytes, truncated %+v: %q", len(res.Text), res.Truncated, res.Text)
	}
}

func TestClean(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"8-bit CSI", "a\u009b31mb", "ab"},
		{"progress", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"shorter overwrite", "abcdef\rxy", "xycdef"},
		{"overwrite and erase", "abcdef\rxy\x1b[K", "xy"},
		{"erase whole line", "abcdef\x1b[2K\rxy", "xy"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"backspace", "ab\bc", "ac"},
		{"title", "\x1b]0;evil title\x07text", "text"},
		{"link", "\x1b]8;;http://x\x1b\\name\x1b]8;;\x1b\\", "name"},
		{"unterminated title keeps what follows", "\x1b]0;open\nnext line", "0;open\nnext line"},
		{"unterminated before a terminated one", "\x1b]a\x1b]b\x07c", "c"},
		{"unterminated twice, then a line with an end", "\x1b]a\x1b]b\n\x1b]c\x07d", "ab\nd"},
		{"an end too far away", "\x1b]" + strings.Repeat("x", 5000) + "\x1b]b\x07c", strings.Repeat("x", 5000) + "c"},
		{"charset", "\x1b(Btext", "text"},
		{"lone escape", "text\x1b", "text"},
		{"NUL and BEL", "a\x00b\x07", "a␀b␇"},
		{"DEL", "a\x7f", "a␡"},
		{"invalid", "a\xff\xfeb", "a\ufffdb"},
		{"lone surrogate", "a\xed\xa0\x80b", "a\ufffdb"},
	}
	for _, c := range cases {
		if got := tool.Clean(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCleanIsLinear in what is dear to a terminal: sequences without their end.
func TestCleanIsLinear(t *testing.T) {
	const size = 2 << 20
	for _, unit := range []string{"\x1b]", "\x1bP\x1b", "\x1b]" + strings.Repeat("x", 100), "\x1b[", "\x1b(", "\r\x1b[K", "a\b", "\u009b1"} {
		done := make(chan time.Duration, 1)
		go func() {
			start := time.Now()
			tool.Clean(strings.Repeat(unit, size/len(unit)))
			done <- time.Since(start)
		}()
		select {
		case took := <-done:
			t.Logf("%.10q: %v", unit, took)
		case <-time.After(5 * time.Second):
			t.Fatalf("%.10q takes more than 5 s", unit)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"\x1b[31mx", "a\rb\b\x1b]0;", "\x1bP\x1b\\", "\xed\xa0\x80\u009b1", "\x1b[2K\x1b[1K", "\r\x1b(", "\x1b\x1b["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := tool.Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("control %U in %q", r, got)
			}
		}
		if again := tool.Clean(got); again != got {
			t.Fatalf("not idempotent: %q then %q", got, again)
		}
		if strings.Count(got, "\n") != strings.Count(s, "\n") && !strings.Contains(s, "\x1b") && !strings.ContainsRune(s, 0x9b) {
			t.Fatalf("lines lost: %q to %q", s, got)
		}
	})
}

func TestCut(t *testing.T) {
	long := strings.Repeat("äöü\n", 500)
	for _, limit := range []int{0, 10, 64, 65, 100, 500, 3499} {
		got, cut := tool.Cut(long, limit, 0.5)
		if !cut || !utf8.ValidString(got) || len(got) > limit+80 {
			t.Errorf("limit %d: cut %v, %d bytes", limit, cut, len(got))
		}
	}
	if got, cut := tool.Cut("short", 100, 0.5); cut || got != "short" {
		t.Errorf("short text became %q", got)
	}
	got, _ := tool.Cut("head\n"+strings.Repeat("x\n", 1000)+"tail", 200, 0.2)
	if !strings.HasPrefix(got, "head\n") || !strings.HasSuffix(got, "tail") || !strings.Contains(got, "left out") {
		t.Errorf("got %q", got)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"edit_file", "finish", "list_files", "read_file", "run_command", "search_code", "write_file"}
	if diff := cmp.Diff([]string{"read_file", "edit_file"}, tool.Nearest("readFile", known, 2)); diff != "" {
		t.Error(diff)
	}
	if got := tool.Nearest(strings.Repeat("x", 1_000_000), known, 3); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"path":"a","limit":"5"}`, `"{}"`, `{"items":[{"text":1}]}`, `{"path":"a",}`, `{"limit":1e400}`, `{"path":"\ud800"}`} {
		f.Add([]byte(s))
	}
	v, err := tool.NewValidator(tool.SchemaFor[args](tool.Range("limit", 1, 10), tool.Enum("kind", "a", "b")))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, faults := v.Check(raw)
		if len(faults) > 0 {
			if out != nil {
				t.Fatal("faults and arguments")
			}
			return
		}
		var a args
		dec := json.NewDecoder(strings.NewReader(string(out)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("accepted %q as %s, which does not fit: %v", raw, out, err)
		}
		if a.Limit < 0 || a.Limit > 10 || !strings.Contains(string(raw), "path") {
			t.Fatalf("accepted %q as %s", raw, out)
		}
		again, faults := v.Check(out)
		if len(faults) > 0 || string(again) != string(out) {
			t.Fatalf("not idempotent: %s then %s %v", out, again, faults)
		}
	})
}
