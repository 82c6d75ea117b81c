package vcs

import "log/slog"

// secretPlaceholder is what a Secret shows in logs, errors and JSON.
const secretPlaceholder = "[secret]"

// Secret is a credential. It prints, logs and marshals as a placeholder; only
// Reveal gives the value, so that each use of one can be found by its name.
type Secret string

// Reveal returns the credential itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a placeholder, or nothing when the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return secretPlaceholder
}

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return `vcs.Secret("` + s.String() + `")` }

// LogValue keeps slog from showing the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps JSON and YAML encoders from showing the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
