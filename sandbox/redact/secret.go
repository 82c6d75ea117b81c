package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
)

// MinSecret is the fewest bytes a known secret may have, invisible ones not
// counted. Shorter ones occur in ordinary text: replacing them would spoil all
// output, and not replacing them would be a promise not kept.
const MinSecret = 8

// minLine is the fewest bytes of a line of a secret that has several, such as
// a key, to be replaced without the others.
const minLine = 24

// Secret is a known secret. It prints as a placeholder.
type Secret struct {
	Name  string // shown in its place; may be empty
	Value string
}

// String is the placeholder.
func (s Secret) String() string { return marker(s.Name) }

// GoString is the placeholder.
func (s Secret) GoString() string { return marker(s.Name) }

// LogValue is the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(marker(s.Name)) }

// MarshalText is the placeholder, for JSON and YAML as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(marker(s.Name)), nil }

func marker(name string) string {
	if name == "" {
		return "[redacted]"
	}
	return "[redacted " + name + "]"
}

// forms are the texts under which a secret is looked for. Escapes, invisible
// characters and line breaks are not among them: the text is searched with
// those undone, and so are the forms given here.
func (s Secret) forms() ([][]byte, error) {
	value := []byte(s.Value)
	if plain := bare(value); len(plain) < MinSecret {
		return nil, fmt.Errorf("secret %q has %d bytes, want at least %d", s.Name, len(plain), MinSecret)
	}
	parts := [][]byte{value, bytes.TrimSpace(value)}
	for line := range bytes.Lines(value) {
		line = bytes.TrimSpace(line)
		if len(line) >= minLine && !bytes.HasPrefix(line, []byte("-----")) {
			parts = append(parts, line)
		}
	}
	var forms [][]byte
	for _, part := range parts {
		forms = append(forms, bare(part), unescaped(part), bytes.ReplaceAll(bare(part), []byte(" "), []byte("+")))
		forms = append(forms, encodings(part)...)
	}
	return distinct(forms), nil
}

// encodings are a text's hex in both cases and, in both alphabets, the part of
// its base64 that is the same whatever stands around it: the text may begin at
// the first, second or third byte of a group of three.
func encodings(text []byte) [][]byte {
	lower := hex.EncodeToString(text)
	forms := [][]byte{[]byte(lower), []byte(strings.ToUpper(lower))}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := alphabet.EncodeToString(append(make([]byte, before), text...))
			// Characters that share bits with what stands before or after.
			first := (before*8 + 5) / 6
			last := (before + len(text)) * 8 / 6
			forms = append(forms, []byte(encoded[first:last]))
		}
	}
	return forms
}

// distinct drops doubles and what is too short to mean anything.
func distinct(forms [][]byte) [][]byte {
	seen := map[string]bool{}
	var out [][]byte
	for _, f := range forms {
		if len(f) >= MinSecret && !seen[string(f)] {
			seen[string(f)] = true
			out = append(out, f)
		}
	}
	return out
}
