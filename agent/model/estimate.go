package model

// How many bytes a token has: 3.5 for text in Latin letters and for code, 2.5
// where every letter is three bytes long, as in Chinese, Japanese and Korean
// (RUNTIME 1.3). Kept times ten.
const (
	// BytesPerToken is the first of them, for whoever turns tokens into room.
	BytesPerToken = 3.5
	latinBytes    = 35
	wideBytes     = 25
	// perItem is what a message, part or tool costs beside its text.
	perItem = 4
)

// EstimateTokens guesses how many tokens a text has.
func EstimateTokens(text string) int {
	wide := 0
	for i := 0; i < len(text); i++ {
		if text[i] >= 0xe0 { // the first byte of three or four
			wide += 3
		}
	}
	wide = min(wide, len(text))
	return (wide*10+wideBytes-1)/wideBytes + ((len(text)-wide)*10+latinBytes-1)/latinBytes
}

// EstimateRequest guesses how many tokens a request has.
func EstimateRequest(req Request) int {
	sum := EstimateFixed(req.System, req.Tools)
	for _, m := range req.Messages {
		sum += EstimateMessage(m)
	}
	return sum
}

// EstimateFixed guesses how many tokens stand ahead of a transcript.
func EstimateFixed(system []string, tools []ToolSpec) int {
	sum := 0
	for _, s := range system {
		sum += EstimateTokens(s)
	}
	for _, t := range tools {
		sum += perItem + EstimateTokens(t.Name) + EstimateTokens(t.Description) + EstimateTokens(string(t.Schema))
	}
	return sum
}

// EstimateMessage guesses how many tokens a message has.
func EstimateMessage(m Message) int {
	sum := 0
	for _, p := range m.Parts {
		sum += perItem + estimatePart(p)
	}
	return sum
}

func estimatePart(p Part) int {
	switch {
	case p.Call != nil:
		return EstimateTokens(p.Call.Name) + EstimateTokens(string(p.Call.Arguments))
	case p.Result != nil:
		return EstimateTokens(p.Result.Text)
	case p.Thinking != nil:
		return EstimateTokens(string(p.Thinking.Data))
	}
	return EstimateTokens(p.Text)
}
