package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// jsonDialect tells JSON from JSON with comments, which the same ending names:
// by the names of the tools that read it so, and by comments in a body that the
// second reading accepts.
func jsonDialect(name, base string, body []byte) checker {
	if strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig") ||
		strings.HasPrefix(base, ".") || strings.Contains(name, ".vscode/") || strings.Contains(name, ".devcontainer/") {
		return checkJSONC
	}
	switch base {
	case "devcontainer.json", "api-extractor.json", "typedoc.json", "deno.json", "turbo.json", "nx.json",
		"biome.json", "language-configuration.json", "wrangler.json", "renovate.json", "tslint.json", "rush.json":
		return checkJSONC
	}
	comment := regexp.MustCompile(`(?m)^\s*(//|/\*)`)
	if len(body) <= MaxBytes && comment.Match(body) && len(checkJSONC(body)) == 0 {
		return checkJSONC
	}
	return checkJSON
}

func checkJSON(body []byte) []Fault {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var value json.RawMessage
	err := json.Unmarshal(body, &value)
	fault, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return nil
	}
	line, column := position(body, int(fault.Offset)-1)
	return []Fault{{Line: line, Column: column, Message: fault.Error()}}
}

// position counts the line and column of an offset.
func position(body []byte, offset int) (line, column int) {
	before := body[:min(max(offset, 0), len(body))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// maxJSONNesting is far beyond what is written; hujson has no bound of its own.
const maxJSONNesting = 1_000

func checkJSONC(body []byte) []Fault {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 || nesting(body, true) > maxJSONNesting {
		return nil
	}
	_, err := hujson.Parse(body)
	if err == nil {
		return nil
	}
	at := regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)
	return []Fault{numbered(err.Error(), at)}
}

// numbered reads a fault whose message begins with its line and column.
func numbered(message string, at *regexp.Regexp) Fault {
	f := Fault{Line: 1, Message: message}
	if m := at.FindStringSubmatch(message); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		if len(m) > 2 {
			f.Column, _ = strconv.Atoi(m[2])
		}
		f.Message = message[len(m[0]):]
	}
	return f
}

func checkTOML(body []byte) []Fault {
	var value any
	err := toml.Unmarshal(body, &value)
	fault, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return nil
	}
	line, column := fault.Position()
	return []Fault{{Line: line, Column: column, Message: strings.TrimPrefix(fault.Error(), "toml: ")}}
}

// checkYAML reads every document. Only the parser is asked, never the
// decoder: unknown tags, anchors used twice and repeated keys are no matter
// of syntax. A file with template marks is in another language.
func checkYAML(body []byte) []Fault {
	for _, mark := range []string{"{{", "{%", "<%", "{#"} {
		if bytes.Contains(body, []byte(mark)) {
			return nil
		}
	}
	documents := yaml.NewDecoder(bytes.NewReader(body))
	for {
		var node yaml.Node
		err := documents.Decode(&node)
		if errors.Is(err, io.EOF) || err == nil && node.IsZero() {
			return nil
		}
		if err != nil {
			return yamlFault(err.Error())
		}
	}
}

func yamlFault(message string) []Fault {
	if strings.Contains(message, "unknown anchor") {
		return nil // the anchor may stand in a document that another tool puts in front
	}
	at := regexp.MustCompile(`^yaml: line (\d+): `)
	f := numbered(message, at)
	f.Message = strings.TrimPrefix(f.Message, "yaml: ")
	return []Fault{f}
}
