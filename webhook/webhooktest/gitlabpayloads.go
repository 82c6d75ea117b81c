package webhooktest

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
)

// payloads are GitLab's, a file each, of the versions and cases that differ.
//
//go:embed payloads/*.json
var payloads embed.FS

// GitLabPayloads are the names of the stored payloads, as
// "note.issue.confidential".
func GitLabPayloads() ([]string, error) {
	entries, err := payloads.ReadDir("payloads")
	if err != nil {
		return nil, fmt.Errorf("listing the stored payloads: %w", err)
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	return out, nil
}

// GitLabPayload is a stored payload.
func GitLabPayload(name string) ([]byte, error) {
	b, err := payloads.ReadFile(path.Join("payloads", name+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading a stored payload: %w", err)
	}
	return b, nil
}

// Variant is a stored payload with every occurrence of a text replaced.
type Variant struct {
	What, Payload, Old, With string
	// Want is what comes of it: VariantRefused, "ignored: " and the reason, or
	// the event in short.
	Want string
}

// VariantRefused is the Want of a variant that cannot be used.
const VariantRefused = "refused"

// Body is the payload changed. A variant that changes nothing is an error.
func (v Variant) Body() ([]byte, error) {
	body, err := GitLabPayload(v.Payload)
	if err != nil {
		return nil, err
	}
	changed := bytes.ReplaceAll(body, []byte(v.Old), []byte(v.With))
	if bytes.Equal(changed, body) {
		return nil, fmt.Errorf("variant %q: %q is not in %s", v.What, v.Old, v.Payload)
	}
	return changed, nil
}
