package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Unpack writes archives as the layers of an image into a new directory.
func Unpack(ctx context.Context, dir string, limits Config, archives ...[]byte) error {
	src := &source{}
	for _, a := range archives {
		sum := sha256.Sum256(a)
		diffID := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
		src.layers = append(src.layers, layer{diffID: diffID, open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(a)), nil
		}})
	}
	_, err := (&Store{cfg: limits}).unpack(ctx, dir, src)
	return err
}
