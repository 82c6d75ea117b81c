package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/tailscale/hujson"
)

// ErrNoImage is wrapped where a devcontainer.json names no image that could
// be used; the text says why.
var ErrNoImage = errors.New("no image")

// maxDevcontainer bounds the file, and with it how deep its nesting can drive
// the parser; real ones have a few kilobytes.
const maxDevcontainer = 64 << 10

// DevcontainerImage takes the image from the content of a repository's
// .devcontainer/devcontainer.json: JSON with comments and trailing commas. It
// is only a wish: whether the image may be used is the operator's to say. An
// error wraps ErrNoImage.
func DevcontainerImage(content []byte) (string, error) {
	if len(content) > maxDevcontainer {
		return "", fmt.Errorf("%w: the file has %d bytes, more than %d", ErrNoImage, len(content), maxDevcontainer)
	}
	plain, err := hujson.Standardize(content)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	var file struct {
		Image      *string         `json:"image"`
		Build      json.RawMessage `json:"build"`
		Dockerfile string          `json:"dockerFile"`
		Compose    json.RawMessage `json:"dockerComposeFile"`
	}
	if err := json.Unmarshal(plain, &file); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	switch {
	case file.Compose != nil:
		return "", fmt.Errorf("%w: it uses Docker Compose, which is not supported", ErrNoImage)
	case file.Build != nil || file.Dockerfile != "":
		return "", fmt.Errorf("%w: it builds an image, which is not supported; name a built one", ErrNoImage)
	case file.Image == nil || *file.Image == "":
		return "", fmt.Errorf("%w: it names none", ErrNoImage)
	}
	if err := usable(*file.Image); err != nil {
		return "", err
	}
	return *file.Image, nil
}

// usable refuses what is no plain reference to a registry.
func usable(ref string) error {
	if strings.Contains(ref, "${") {
		return fmt.Errorf("%w: its name has variables, which are not supported", ErrNoImage)
	}
	if IsLocal(ref) {
		return fmt.Errorf("%w: it names a file of the host", ErrNoImage)
	}
	if _, err := name.ParseReference(ref); err != nil {
		return fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	return nil
}
