package model

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// overflowTexts are the forms in which servers say that a request does not
// fit, one vendor each rather than one pattern for all (RUNTIME 3.7). The
// group asked is the size of the request and limit that of the window, in
// tokens; more exact forms come first.
var overflowTexts = []*regexp.Regexp{
	// Anthropic: prompt is too long: 210000 tokens > 200000 maximum
	regexp.MustCompile(`prompt is too long(?:: (?P<asked>[\d,]+) tokens > (?P<limit>[\d,]+) maximum)?`),
	// Anthropic: input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000
	regexp.MustCompile(`exceed context limit(?:: (?P<asked>[\d,]+) \+ (?P<more>[\d,]+) > (?P<limit>[\d,]+))?`),
	// Bedrock
	regexp.MustCompile(`input is too long`),
	// OpenAI: your messages resulted in 9000 tokens; vLLM and OpenRouter: you
	// requested (about) 9000 tokens
	regexp.MustCompile(`maximum context length (?:is|of) (?P<limit>[\d,]+)(?: tokens)?(?:.{0,80}?(?:resulted in|requested)(?: about)? (?P<asked>[\d,]+) tokens)?`),
	regexp.MustCompile(`input tokens exceed the configured limit of (?P<limit>[\d,]+)(?: tokens)?(?:.{0,60}?resulted in (?P<asked>[\d,]+) tokens)?`),
	regexp.MustCompile(`exceeds the context window|context_length_exceeded|context window exceeded|context size has been exceeded`),
	// vLLM: the decoder prompt (length 9000) is longer than the maximum model length of 8192
	regexp.MustCompile(`prompt \(length (?P<asked>[\d,]+)\) is longer than the maximum model length of (?P<limit>[\d,]+)`),
	// Gemini: the input token count (1200000) exceeds the maximum number of tokens allowed (1048576)
	regexp.MustCompile(`input token count(?: \((?P<asked>[\d,]+)\))? exceeds the maximum number of tokens(?: allowed)?(?: \(?(?P<limit>[\d,]+)\)?)?`),
	// xAI: maximum prompt length is 131072 but the request contains 537812 tokens
	regexp.MustCompile(`maximum prompt length is (?P<limit>[\d,]+)(?: but the request contains (?P<asked>[\d,]+))?`),
	// Groq
	regexp.MustCompile(`reduce the length of the messages`),
	// llama.cpp: request (11525 tokens) exceeds the available context size (4096 tokens)
	regexp.MustCompile(`(?:\((?P<asked>[\d,]+) tokens\) )?exceeds the available context size(?: \((?P<limit>[\d,]+) tokens\))?`),
	// LM Studio: … is greater than the context length (n_keep: 5000>= n_ctx: 4096)
	regexp.MustCompile(`greater than the context length(?:.{0,20}n_keep: (?P<asked>[\d,]+) ?>= n_ctx: (?P<limit>[\d,]+))?`),
	// Mistral: prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
	regexp.MustCompile(`prompt contains (?P<asked>[\d,]+) tokens.{0,40}too large for model with (?P<limit>[\d,]+)`),
	// Moonshot: your request exceeded model token limit: 262144 (requested: 300000)
	regexp.MustCompile(`exceeded model token limit(?:: (?P<limit>[\d,]+))?(?: \(requested: (?P<asked>[\d,]+)\))?`),
	// GitHub Copilot: prompt token count of 130000 exceeds the limit of 128000
	regexp.MustCompile(`prompt token count of (?P<asked>[\d,]+) exceeds the limit of (?P<limit>[\d,]+)`),
	// Ollama, where it was told not to cut silently
	regexp.MustCompile(`input length exceeds the context length`),
}

// maxOverflowText is how much of a server's text is looked at.
const maxOverflowText = 4_000

// Overflow says whether a server's text means that the request does not fit
// the window, with the numbers that it tells, in tokens; zero where it does not.
func Overflow(text string) (over bool, asked, limit int) {
	text = strings.ToLower(text[:min(len(text), maxOverflowText)])
	for _, pattern := range overflowTexts {
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		number := func(group string) int {
			if i := pattern.SubexpIndex(group); i >= 0 {
				return tokens(m[i])
			}
			return 0
		}
		return true, number("asked") + number("more"), number("limit")
	}
	return false, 0, 0
}

// tokens reads a number that may have separators; one that is no sensible
// count of tokens is not told.
func tokens(s string) int {
	const most = 1_000_000_000
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	if err != nil || n > most {
		return 0
	}
	return n
}

// CheckWindow is an overflow where a server answered although more went in than
// the window holds, as z.ai does: what it answered, it answered to a part. A
// window of zero is not known and fits all.
func CheckWindow(u Usage, window int) error {
	if window <= 0 || u.InputTotal() <= int64(window) {
		return nil
	}
	return &Error{Class: ClassOverflow, Status: http.StatusOK, Limit: window, Asked: int(u.InputTotal()),
		Message: fmt.Sprintf("the server answered a request of %d tokens although its window is %d", u.InputTotal(), window)}
}
