package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

// madePrefix marks the commits made here: what a push has to send.
const madePrefix = "refs/greenwright/made/"

// Signature is who made a commit and when. Characters that git forbids in
// names and addresses are removed.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

// CommitSpec is everything that makes a commit: equal specs give the same
// commit, so making one again is harmless.
type CommitSpec struct {
	Tree      string // as ChangeSet.Tree
	Parents   []string
	Author    Signature
	Committer Signature
	Message   string
	// Sign returns an armored signature of the commit's bytes; nil leaves it
	// unsigned.
	Sign func(ctx context.Context, payload []byte) (string, error)
}

// Commit stores the commit in the mirror and returns its id. The tree and
// parents have to be there: vcs.ErrNotFound.
func (m *Mirror) Commit(ctx context.Context, spec CommitSpec) (string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if err := vcs.ValidateSHA(spec.Tree); err != nil {
		return "", err
	}
	tree := plumbing.NewHash(spec.Tree)
	if tree == emptyTree {
		if _, err := o.put(plumbing.TreeObject, nil); err != nil {
			return "", err
		}
	} else if _, err := object.GetTree(o.st, tree); err != nil {
		return "", fmt.Errorf("%w: tree %s", vcs.ErrNotFound, spec.Tree)
	}
	for _, p := range spec.Parents {
		if _, err := o.commit(p); err != nil {
			return "", fmt.Errorf("looking up parent: %w", err)
		}
	}
	text, err := spec.encode(ctx)
	if err != nil {
		return "", err
	}
	h, err := o.put(plumbing.CommitObject, text)
	if err != nil {
		return "", err
	}
	return h.String(), o.setRef(madePrefix+h.String(), h.String())
}

// encode writes the commit as git does (gitformat: tree, parents, author,
// committer, gpgsig, empty line, message).
func (s CommitSpec) encode(ctx context.Context) ([]byte, error) {
	var head strings.Builder
	fmt.Fprintf(&head, "tree %s\n", s.Tree)
	for _, p := range s.Parents {
		fmt.Fprintf(&head, "parent %s\n", p)
	}
	fmt.Fprintf(&head, "author %s\ncommitter %s\n", s.Author.line(), s.Committer.line())
	message := strings.ReplaceAll(strings.TrimRight(s.Message, " \t\r\n"), "\x00", "") + "\n"
	plain := head.String() + "\n" + message
	if s.Sign == nil {
		return []byte(plain), nil
	}
	sig, err := s.Sign(ctx, []byte(plain))
	if err != nil {
		return nil, fmt.Errorf("signing commit: %w", err)
	}
	sig = strings.ReplaceAll(strings.TrimRight(sig, "\n"), "\n", "\n ")
	return []byte(head.String() + "gpgsig " + sig + "\n\n" + message), nil
}

func (s Signature) line() string {
	return fmt.Sprintf("%s <%s> %d %s", cleanIdent(s.Name), cleanIdent(s.Email), s.When.Unix(), s.When.Format("-0700"))
}

// cleanIdent drops what would break the line of a commit (git's ident.c).
func cleanIdent(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s)
	return strings.Trim(s, " .,:;\"\\'")
}

// madeChain returns the commits made here among tip and its ancestors, and
// the commits, known to the remote, that they were made on. A tip that was
// fetched is its own base.
func (o *objects) madeChain(tip string) (made, bases []plumbing.Hash, err error) {
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{plumbing.NewHash(tip)}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if seen[h] {
			continue
		}
		seen[h] = true
		at, err := o.ref(madePrefix + h.String())
		if err != nil {
			return nil, nil, err
		}
		if at == "" {
			bases = append(bases, h)
			continue
		}
		c, err := o.commit(h.String())
		if err != nil {
			return nil, nil, err
		}
		made = append(made, h)
		queue = append(queue, c.ParentHashes...)
	}
	return made, bases, nil
}

// toSend lists the objects a remote that has the bases lacks.
func (o *objects) toSend(ctx context.Context, made, bases []plumbing.Hash) ([]plumbing.Hash, error) {
	known := map[plumbing.Hash]bool{}
	for _, b := range bases {
		c, err := o.commit(b.String())
		if err != nil {
			return nil, err
		}
		ft, err := o.flatten(ctx, c.TreeHash)
		if err != nil {
			return nil, err
		}
		for _, h := range ft.dirs {
			known[h] = true
		}
		for _, e := range ft.files {
			known[e.hash] = true
		}
	}
	c := &collector{src: o, has: func(h plumbing.Hash) bool { return known[h] }, seen: map[plumbing.Hash]bool{}}
	for _, h := range slices.Backward(made) {
		if _, err := c.commit(h); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}
