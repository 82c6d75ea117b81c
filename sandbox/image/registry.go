package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// parse reads a reference to a registry.
func (s *Store) parse(ref string) (name.Reference, error) {
	if IsLocal(ref) {
		return nil, errors.New("a file of the host is no image of a registry")
	}
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("reading the reference: %w", err)
	}
	if slices.Contains(s.cfg.PlainHTTP, r.Context().RegistryStr()) {
		return name.ParseReference(ref, name.Insecure)
	}
	return r, nil
}

func (s *Store) registrySource(ctx context.Context, ref name.Reference) (*source, error) {
	options := []remote.Option{remote.WithContext(ctx), remote.WithPlatform(platform())}
	if s.cfg.DockerLogins {
		options = append(options, remote.WithAuthFromKeychain(authn.DefaultKeychain))
	}
	if s.cfg.Transport != nil {
		options = append(options, remote.WithTransport(s.cfg.Transport))
	}
	desc, err := remote.Get(ref, options...)
	if err != nil {
		return nil, fmt.Errorf("asking the registry: %w", err)
	}
	img, err := desc.Image()
	if err != nil {
		return nil, fmt.Errorf("choosing the image for %s: %w", platform(), err)
	}
	return manifestSource(img)
}

// pinned returns the image of a reference by digest if it is in the cache.
func (s *Store) pinned(ctx context.Context, ref name.Reference) (*Image, error) {
	d, ok := ref.(name.Digest)
	if !ok {
		return nil, nil
	}
	h, err := v1.NewHash(d.DigestStr())
	if err != nil {
		return nil, fmt.Errorf("reading the digest: %w", err)
	}
	key := keyOf(h)
	if content, err := os.ReadFile(s.path("aliases", key)); err == nil {
		if to, err := v1.NewHash(string(content)); err == nil {
			key = keyOf(to)
		}
	}
	return s.cached(ctx, key)
}

// remember notes which image the digest of an index means here.
func (s *Store) remember(ref name.Reference, src *source) {
	d, ok := ref.(name.Digest)
	if !ok || d.DigestStr() == src.digest.String() {
		return
	}
	h, err := v1.NewHash(d.DigestStr())
	if err != nil {
		return
	}
	tmp := s.path("aliases", fmt.Sprintf("%s.%d", keyOf(h), os.Getpid()))
	if err := os.WriteFile(tmp, []byte(src.digest.String()), 0o600); err != nil {
		return // the registry will be asked again
	}
	_ = os.Rename(tmp, s.path("aliases", keyOf(h)))
}
