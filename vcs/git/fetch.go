package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// fetchedPrefix is where fetched tips are kept, each under a hash of its name
// on the remote: names there cannot collide or reach into other files.
const fetchedPrefix = "refs/greenwright/fetched/"

func isFetchedRef(name string) bool { return strings.HasPrefix(name, fetchedPrefix) }

func fetchedRef(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fetchedPrefix + hex.EncodeToString(sum[:16])
}

// fetchPlan is one fetch: which refs or commits, with how much history.
type fetchPlan struct {
	refs   []string
	depth  int
	always bool // even when the tips are there
}

// want is one ref or commit to fetch, resolved.
type want struct{ name, sha string }

// Fetch brings the tips of refs, and Config.Depth commits of their history,
// into the mirror, creating it when needed. A ref is a full name
// ("refs/heads/main", "refs/pull/7/head") or a full commit id, which the
// server has to allow. What is there already is not asked for again; one
// fetch runs at a time per mirror, over all processes. It returns the commit
// of each ref.
//
// Errors: ErrEmpty, vcs.ErrNotFound (a ref or the repository),
// vcs.ErrForbidden, vcs.ErrUnavailable, ErrTooLarge.
func (m *Mirror) Fetch(ctx context.Context, remote vcs.Remote, refs ...string) (map[string]string, error) {
	for _, r := range refs {
		if vcs.ValidateSHA(r) == nil {
			continue
		}
		if err := validateRef(r); err != nil {
			return nil, err
		}
	}
	return m.fetch(ctx, remote, fetchPlan{refs: refs, depth: m.store.cfg.Depth})
}

func (m *Mirror) fetch(ctx context.Context, remote vcs.Remote, plan fetchPlan) (map[string]string, error) {
	p, err := m.peer(remote)
	if err != nil {
		return nil, err
	}
	ctx, cancel := m.store.withTimeout(ctx)
	defer cancel()
	lock, err := lockFile(ctx, m.fetchLock(), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer lock.release()
	got, err := m.fetchLocked(ctx, p, plan)
	if errors.Is(err, ErrCorrupt) { // once more, from nothing
		_ = m.markDamaged(err)
		got, err = m.fetchLocked(ctx, p, plan)
	}
	return got, remoteError("fetching "+m.repo.String(), err)
}

func (m *Mirror) fetchLocked(ctx context.Context, p peer, plan fetchPlan) (map[string]string, error) {
	if err := m.ensure(); err != nil {
		return nil, err
	}
	held, err := m.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer held.release()
	wants, err := m.resolve(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	lacking, err := m.lacking(wants, plan.always)
	if err != nil {
		return nil, err
	}
	if len(lacking) > 0 {
		if err := m.transfer(ctx, p, lacking, plan.depth); err != nil {
			return nil, err
		}
	}
	return m.record(wants)
}

// resolve asks the remote where the refs are; commits need no asking.
func (m *Mirror) resolve(ctx context.Context, p peer, plan fetchPlan) ([]want, error) {
	var ad *advert
	var wants []want
	for _, name := range plan.refs {
		if vcs.ValidateSHA(name) == nil {
			wants = append(wants, want{name, name})
			continue
		}
		if ad == nil {
			var err error
			if ad, err = p.advertise(ctx); err != nil {
				return nil, err
			}
		}
		sha, ok := ad.refs[name]
		if !ok {
			return nil, fmt.Errorf("%w: %s", vcs.ErrNotFound, name)
		}
		wants = append(wants, want{name, sha})
	}
	return wants, nil
}

// lacking returns what has to be transferred. A tip recorded as fetched whose
// objects are gone is ErrCorrupt.
func (m *Mirror) lacking(wants []want, always bool) ([]want, error) {
	if always {
		return wants, nil
	}
	o, err := m.open()
	if err != nil {
		return nil, err
	}
	defer o.close()
	var out []want
	for _, w := range wants {
		ok, err := o.complete(w.sha)
		if err != nil {
			return nil, err
		}
		at, err := o.ref(fetchedRef(w.name))
		if err != nil {
			return nil, err
		}
		if !ok && at == w.sha {
			return nil, fmt.Errorf("%w: %s is recorded and not there", ErrCorrupt, w.sha)
		}
		if !ok {
			out = append(out, w)
		}
	}
	return out, nil
}

// transfer moves objects: by the git binary where there is one, else, or when
// that fails, by go-git, which also tells why.
func (m *Mirror) transfer(ctx context.Context, p peer, wants []want, depth int) error {
	mark := filepath.Join(m.dir, fetchingMark)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return fmt.Errorf("marking mirror: %w", err)
	}
	err := m.transferMarked(ctx, p, wants, depth)
	if err != nil {
		m.sweep()
	}
	return errors.Join(err, os.Remove(mark))
}

func (m *Mirror) transferMarked(ctx context.Context, p peer, wants []want, depth int) error {
	m.sweep()
	if m.store.binary != "" {
		err := m.runFetch(ctx, p, wants, depth)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrTooLarge) {
			return err
		}
		m.store.log.Debug("fetch by git binary", "repo", m.repo.String(), "error", err)
		m.sweep()
	}
	o, err := m.open()
	if err != nil {
		return err
	}
	defer o.close()
	hashes := make([]plumbing.Hash, len(wants))
	for i, w := range wants {
		hashes[i] = plumbing.NewHash(w.sha)
	}
	return p.fetch(ctx, o, hashes, depth)
}

// record notes the tips fetched and checks that they are there. Should a ref
// have moved since it was resolved, its newer commit counts.
func (m *Mirror) record(wants []want) (map[string]string, error) {
	o, err := m.open()
	if err != nil {
		return nil, err
	}
	defer o.close()
	got := make(map[string]string, len(wants))
	for _, w := range wants {
		ref := fetchedRef(w.name)
		at, err := o.ref(ref)
		if err != nil {
			return nil, err
		}
		ok, err := o.complete(w.sha)
		if err != nil {
			return nil, err
		}
		if !ok && at != "" { // moved meanwhile
			w.sha = o.peel(plumbing.NewHash(at)).String()
			if ok, err = o.complete(w.sha); err != nil {
				return nil, err
			}
		}
		if !ok {
			return nil, fmt.Errorf("%w: %s did not arrive", ErrCorrupt, w.sha)
		}
		if at != w.sha {
			if err := o.setRef(ref, w.sha); err != nil {
				return nil, err
			}
		}
		got[w.name] = w.sha
	}
	return got, nil
}

// sweep removes what a fetch that died leaves and the next would stumble
// over. The caller holds the fetch lock.
func (m *Mirror) sweep() {
	remove := func(pattern string) {
		names, _ := filepath.Glob(filepath.Join(m.dir, pattern)) // the patterns are ours
		for _, n := range names {
			if err := os.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				m.store.log.Warn("sweeping mirror", "repo", m.repo.String(), "error", err)
			}
		}
	}
	for _, pattern := range []string{"objects/pack/tmp_*", "shallow.lock", "*.lock", fetchedPrefix + "*.lock"} {
		remove(pattern)
	}
}
