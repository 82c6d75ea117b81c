package model_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/model"
)

// words is text of n words that does not repeat itself.
func words(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		for range 3 + r.IntN(7) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteByte(" \n"[r.IntN(8)/7])
	}
	return b.String()
}

func TestRepetition(t *testing.T) {
	sentence := "I should look at the file once more before I decide what to do about it. "
	varied := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "step %d: %s", i*7919, sentence)
		}
		return b.String()
	}
	cases := []struct {
		name, text string
		want       bool
	}{
		{"ten times", strings.Repeat(sentence, 11), true},
		{"nine times", strings.Repeat(sentence, 9), false},
		{"one word for ever", strings.Repeat("no ", 250), true},
		{"with a counter between", varied(11), true},
		{"far apart", strings.Repeat(sentence+words(60), 12), false},
		{"plain text", words(20_000), false},
		{"after much plain text", words(5_000) + strings.Repeat(sentence, 11), true},
		{"in a code block", "```go\n" + strings.Repeat(sentence+"\n", 30) + "```\n", false},
		{"in a code block of tildes that holds backticks", "~~~\n```\n" + strings.Repeat(sentence+"\n", 30) + "~~~\n", false},
		{"after a code block", "```go\nx\n```\n" + strings.Repeat(sentence, 11), true},
		{"a code block between", strings.Repeat(sentence, 6) + "\n```\nx\n```\n" + strings.Repeat(sentence, 6), false},
		{"a ruled line", strings.Repeat("-", 120) + "\n" + strings.Repeat("=", 120), false},
		{"inline code is no block", "`a` ``` b\n" + strings.Repeat(sentence, 11), true},
		{"other letters", strings.Repeat("我再看一遍文件，然后决定怎么做。", 40), true},
		{"empty", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				var r model.Repetition
				got := false
				for rest := []rune(c.text); len(rest) > 0; {
					n := min(size, len(rest))
					got = r.Feed(string(rest[:n]))
					rest = rest[n:]
				}
				if got != c.want {
					t.Errorf("in pieces of %d: %v, want %v", size, got, c.want)
				}
			}
		})
	}
}

func TestRepetitionStopsEarly(t *testing.T) {
	var r model.Repetition
	sentence := "this is what I keep saying, whatever happens around me, I fear. "
	n := 0
	for !r.Feed(sentence) {
		if n++; n > 12 {
			t.Fatal("not stopped after 12 repeats")
		}
	}
	if n < 9 {
		t.Errorf("stopped after %d repeats", n+1)
	}
}

func TestGuardBoundsAReply(t *testing.T) {
	var g model.Guard
	piece := strings.Repeat("x", 1<<20)
	for i := range 8 {
		if g.Args(piece); g.Stopped() {
			t.Fatalf("stopped after %d MB", i+1)
		}
	}
	g.Args("x")
	r := model.Response{Message: model.Message{Parts: []model.Part{
		{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "a"}}, {Kind: model.PartToolCall, Call: &model.ToolCall{ID: "b"}}}}}
	g.Apply(&r, model.Request{System: []string{"be good"}})
	calls := r.Message.Calls()
	if !g.Stopped() || r.StopReason != model.StopMaxTokens || calls[0].Cut || !calls[1].Cut {
		t.Errorf("stopped %v, reason %s, calls %+v", g.Stopped(), r.StopReason, calls)
	}
	if r.Usage.Input == 0 || r.Usage.Output < 1_000_000 {
		t.Errorf("usage %+v: what was not reported must be guessed", r.Usage)
	}
}

func BenchmarkRepetition(b *testing.B) {
	text := words(10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var r model.Repetition
		if r.Feed(text) {
			b.Fatal("plain text repeats itself")
		}
	}
}
