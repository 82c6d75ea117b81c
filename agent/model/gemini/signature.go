package gemini

import (
	"encoding/json"

	"github.com/greenwright/greenwright/agent/model"
)

// Where a signature stood.
const (
	onText = "text"
	onCall = "call"
	onNone = "none" // in a part of its own, without text
)

// signature is the stored form of a thought signature: the part that follows
// it in the message is the one that it came in.
type signature struct {
	Value string `json:"signature"`
	On    string `json:"on"`
}

func readSignature(data []byte) signature {
	var s signature
	if json.Unmarshal(data, &s) != nil {
		return signature{}
	}
	return s
}

// part is the signature as a part of a message.
func (s signature) part(provider string) model.Part {
	data, err := json.Marshal(s)
	if err != nil { // two strings always marshal
		data = nil
	}
	return model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: provider, Data: data}}
}

// take gives the signature to a part of the kind that it stood on, once. A part
// of another kind means that its own is gone, and with it what it signed.
func (s *signature) take(on string) string {
	value := s.Value
	if s.On != on {
		value = ""
	}
	*s = signature{}
	return value
}

// alone adds a signature that stood in a part of its own.
func (s *signature) alone(parts []part) []part {
	if s.Value != "" && s.On == onNone {
		empty := ""
		parts = append(parts, part{Text: &empty, Signature: s.Value})
	}
	*s = signature{}
	return parts
}
