package image

import (
	"bytes"
	"fmt"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source is an image that can be unpacked.
type source struct {
	digest v1.Hash
	config v1.Config
	layers []layer
}

// layer is one layer. What open gives is compressed in a way that its first
// bytes tell; the digest and size are those of these bytes, and absent where
// the source has only the content.
type layer struct {
	digest v1.Hash
	size   int64
	diffID v1.Hash // of the content
	open   func() (io.ReadCloser, error)
}

// Limits of an image's description. Public images stay below 100 kB and 130
// layers (Docker's own limit).
const (
	maxConfigBytes = 4 << 20
	maxLayers      = 500
)

// platform is what sandboxes of this worker run.
func platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// manifestSource describes an image that has a manifest, after comparing the
// manifest and the configuration with their digests.
func manifestSource(img v1.Image) (*source, error) {
	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	raw, err := img.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if err := check(raw, digest); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if manifest.Config.Size > maxConfigBytes || len(manifest.Layers) > maxLayers {
		return nil, fmt.Errorf("%w: a configuration of %d bytes and %d layers", ErrTooLarge, manifest.Config.Size, len(manifest.Layers))
	}
	raw, err = img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if err := check(raw, manifest.Config.Digest); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	src, diffIDs, err := configured(raw)
	if err != nil {
		return nil, err
	}
	src.digest = digest
	return src, src.addLayers(img, manifest, diffIDs)
}

func (src *source) addLayers(img v1.Image, manifest *v1.Manifest, diffIDs []v1.Hash) error {
	if len(manifest.Layers) != len(diffIDs) {
		return fmt.Errorf("%w: %d layers, %d contents", ErrCorrupt, len(manifest.Layers), len(diffIDs))
	}
	for i, d := range manifest.Layers {
		// A registry could have the worker fetch whatever address it likes.
		if len(d.URLs) > 0 {
			return fmt.Errorf("%w: a layer is to be had from elsewhere (%q)", ErrHostile, printable(d.URLs[0]))
		}
		src.layers = append(src.layers, layer{
			digest: d.Digest, size: d.Size, diffID: diffIDs[i],
			open: func() (io.ReadCloser, error) {
				l, err := img.LayerByDigest(d.Digest)
				if err != nil {
					return nil, err
				}
				return l.Compressed()
			},
		})
	}
	return nil
}

// configured reads an image's configuration.
func configured(raw []byte) (*source, []v1.Hash, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	want := platform()
	if (c.OS != "" && c.OS != want.OS) || (c.Architecture != "" && c.Architecture != want.Architecture) {
		return nil, nil, fmt.Errorf("the image is for %q, sandboxes here run %s", printable(c.OS+"/"+c.Architecture), want)
	}
	return &source{config: c.Config}, c.RootFS.DiffIDs, nil
}

func check(content []byte, want v1.Hash) error {
	got, _, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: %s instead of %s", ErrCorrupt, got, want)
	}
	return nil
}

// keyOf is a digest as a file name.
func keyOf(h v1.Hash) string { return h.Algorithm + "-" + h.Hex }
