package model

import "log/slog"

// Key is a credential of a model's vendor. It prints as a placeholder in
// every form; only Reveal gives it away.
type Key string

const keyPlaceholder = "[model key]"

// Reveal is the credential itself, for the request's header only.
func (k Key) Reveal() string { return string(k) }

// String is a placeholder.
func (k Key) String() string { return keyPlaceholder }

// GoString is a placeholder.
func (k Key) GoString() string { return keyPlaceholder }

// LogValue is a placeholder.
func (k Key) LogValue() slog.Value { return slog.StringValue(keyPlaceholder) }

// MarshalJSON is a placeholder.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + keyPlaceholder + `"`), nil }
