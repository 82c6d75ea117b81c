package image

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// layoutSource takes the one image of an OCI layout that fits the platform, or
// the one with the digest.
func layoutSource(ref string) (*source, error) {
	dir, digest, _ := strings.Cut(ref, "@")
	if !filepath.IsAbs(dir) {
		return nil, errors.New("want an absolute path")
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the OCI layout: %w", err)
	}
	fitting, err := images(index, digest, 0)
	if err != nil {
		return nil, err
	}
	if len(fitting) != 1 {
		return nil, fmt.Errorf("the layout has %d images for %s; name one with @DIGEST", len(fitting), platform())
	}
	return manifestSource(fitting[0])
}

// images finds the images in an index and in those inside it.
func images(index v1.ImageIndex, digest string, depth int) ([]v1.Image, error) {
	const maxDepth = 4
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: indexes in indexes", ErrHostile)
	}
	var found []v1.Image
	for _, d := range manifest.Manifests {
		switch {
		case d.MediaType.IsIndex():
			child, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, fmt.Errorf("reading the index: %w", err)
			}
			want := digest
			if d.Digest.String() == digest {
				want = ""
			}
			more, err := images(child, want, depth+1)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		case digest != "" && d.Digest.String() != digest, digest == "" && d.Platform != nil && !d.Platform.Satisfies(platform()):
		default:
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, fmt.Errorf("reading the manifest: %w", err)
			}
			found = append(found, withDigest{img, d.Digest})
		}
	}
	return found, nil
}

// withDigest is an image that must have the digest that it was asked by; a
// layout on disk does not see to that.
type withDigest struct {
	v1.Image
	digest v1.Hash
}

func (w withDigest) Digest() (v1.Hash, error) { return w.digest, nil }

// archiveSource takes the one image of a file of docker save. Such a file has
// no manifest; the digest is the configuration's, which names the layers by
// their content.
func archiveSource(file string) (*source, error) {
	if !filepath.IsAbs(file) {
		return nil, errors.New("want an absolute path")
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	src, diffIDs, err := configured(raw)
	if err != nil {
		return nil, err
	}
	if src.digest, _, err = v1.SHA256(bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("reading the layers: %w", err)
	}
	if len(layers) != len(diffIDs) {
		return nil, fmt.Errorf("%w: %d layers, %d contents", ErrCorrupt, len(layers), len(diffIDs))
	}
	for i, l := range layers {
		src.layers = append(src.layers, layer{diffID: diffIDs[i], open: l.Uncompressed})
	}
	return src, nil
}
