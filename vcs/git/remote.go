package git

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/greenwright/greenwright/vcs"
)

// peer is the other side of a fetch or push.
type peer interface {
	// advertise lists the remote's refs; ErrEmpty when it has none.
	advertise(ctx context.Context) (*advert, error)
	// fetch brings the commits and depth of their history into dst without a
	// git binary.
	fetch(ctx context.Context, dst *objects, wants []plumbing.Hash, depth int) error
	// push offers src's objects and moves one ref; the remote refuses with
	// vcs.ErrConflict when the ref is not at cmd.old.
	push(ctx context.Context, src *objects, cmd pushCommand) error
	// gitURL and gitEnv are how a git binary reaches the remote.
	gitURL() string
	gitEnv() [][2]string // pairs of configuration
	scheme() string
}

// advert is what a remote says it has.
type advert struct {
	refs map[string]string // full ref name → object
	head string            // full name of the ref HEAD points to, if known
}

// pushCommand creates or moves a ref; a zero old means that it must not exist.
type pushCommand struct {
	ref      plumbing.ReferenceName
	old, new plumbing.Hash
	objects  []plumbing.Hash // to send
}

// peer chooses the transport of a remote, refusing all but http, https and,
// where allowed, files.
func (m *Mirror) peer(remote vcs.Remote) (peer, error) {
	if filepath.IsAbs(remote.URL) || strings.HasPrefix(remote.URL, "file://") {
		if m.repo.Forge != vcs.Local && !m.store.cfg.AllowFile {
			return nil, fmt.Errorf("%w: file remote for %s", vcs.ErrInvalid, m.repo)
		}
		path := filepath.Clean(strings.TrimPrefix(remote.URL, "file://"))
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%w: file remote %q is not absolute", vcs.ErrInvalid, remote.URL)
		}
		return &filePeer{path: path}, nil
	}
	u, err := url.Parse(remote.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: remote of %s: want an http or https URL", vcs.ErrInvalid, m.repo)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(remote.URL, "\x00\n\r") {
		return nil, fmt.Errorf("%w: remote of %s: URL with a credential, query or fragment", vcs.ErrInvalid, m.repo)
	}
	return newHTTPPeer(m.store, u, remote)
}

// remoteError gives a transport's error the sentinel that fits.
func remoteError(doing string, err error) error {
	var kind error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, vcs.ErrConflict), errors.Is(err, vcs.ErrForbidden), errors.Is(err, vcs.ErrInvalid),
		errors.Is(err, vcs.ErrNotFound), errors.Is(err, vcs.ErrUnavailable),
		errors.Is(err, ErrEmpty), errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		kind = vcs.ErrNotFound
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		kind = vcs.ErrForbidden
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		kind = ErrEmpty
	default:
		kind = vcs.ErrUnavailable
	}
	return fmt.Errorf("%s: %w: %w", doing, kind, err)
}

// RemoteRef asks the remote where a full ref name ("refs/heads/main") points;
// an annotated tag gives its commit. vcs.ErrNotFound when there is none.
func (m *Mirror) RemoteRef(ctx context.Context, remote vcs.Remote, ref string) (string, error) {
	if err := validateRef(ref); err != nil {
		return "", err
	}
	ad, err := m.advert(ctx, remote)
	if errors.Is(err, ErrEmpty) {
		return "", fmt.Errorf("%w: %s in %s: %w", vcs.ErrNotFound, ref, m.repo, err)
	}
	if err != nil {
		return "", err
	}
	sha, ok := ad.refs[ref]
	if !ok {
		return "", fmt.Errorf("%w: %s in %s", vcs.ErrNotFound, ref, m.repo)
	}
	return sha, nil
}

// DefaultBranch asks the remote for the branch its HEAD names, without
// "refs/heads/". ErrEmpty when the repository has no commit.
func (m *Mirror) DefaultBranch(ctx context.Context, remote vcs.Remote) (string, error) {
	ad, err := m.advert(ctx, remote)
	if err != nil {
		return "", err
	}
	branch, ok := strings.CutPrefix(ad.head, "refs/heads/")
	if !ok {
		return "", fmt.Errorf("%w: HEAD of %s names no branch", vcs.ErrNotFound, m.repo)
	}
	return branch, vcs.ValidateBranch(branch)
}

func (m *Mirror) advert(ctx context.Context, remote vcs.Remote) (*advert, error) {
	p, err := m.peer(remote)
	if err != nil {
		return nil, err
	}
	ctx, cancel := m.store.withTimeout(ctx)
	defer cancel()
	ad, err := p.advertise(ctx)
	return ad, remoteError("listing refs of "+m.repo.String(), err)
}

// validateRef accepts full names of refs. Its error wraps vcs.ErrInvalid.
func validateRef(ref string) error {
	short, ok := strings.CutPrefix(ref, "refs/")
	if !ok {
		return fmt.Errorf("%w: ref %q: want a full name", vcs.ErrInvalid, ref)
	}
	return vcs.ValidateBranch(short)
}
