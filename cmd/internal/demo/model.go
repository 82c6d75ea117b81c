package demo

import (
	"strings"
)

// modelChoice is the language model of the last scene, or why there is none.
type modelChoice struct{ name, why string }

// The models that are used when a key is set and GREENWRIGHT_MODEL is not.
const (
	anthropicModel = "anthropic/claude-sonnet-4-5"
	openAIModel    = "openai/gpt-5"
)

// chooseModel takes GREENWRIGHT_MODEL, else what there is a key for. A server
// of one's own has models that only its owner knows.
func chooseModel(environ []string) modelChoice {
	set := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		set[name] = value
	}
	named := set["GREENWRIGHT_MODEL"]
	language := named != "" && !strings.HasPrefix(named, "mechanic/")
	switch {
	case set["ANTHROPIC_API_KEY"] == "" && set["OPENAI_API_KEY"] == "" && set["OPENAI_BASE_URL"] == "":
		return modelChoice{why: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL (and GREENWRIGHT_MODEL=driver/model) to see it"}
	case language:
		return modelChoice{name: named}
	case set["ANTHROPIC_API_KEY"] != "":
		return modelChoice{name: anthropicModel}
	case set["OPENAI_BASE_URL"] == "":
		return modelChoice{name: openAIModel}
	}
	return modelChoice{why: "set GREENWRIGHT_MODEL=openai/NAME to a model that the server at OPENAI_BASE_URL has"}
}
