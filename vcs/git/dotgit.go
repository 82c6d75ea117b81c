package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// dotGitConfig is the configuration of a workspace's .git. It names no remote.
// checkStat is minimal because owner, device and inode look different inside
// a sandbox, which would make git read every file again.
const dotGitConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
	checkStat = minimal
	trustctime = false
[gc]
	auto = 0
[maintenance]
	auto = false
[user]
	name = Greenwright
	email = greenwright@localhost
`

// copyObjects gives the workspace's .git its objects: the mirror's only pack
// as it is, else a pack of what the base commit reaches.
func (c *checkout) copyObjects(ctx context.Context) error {
	for _, d := range []string{".git", ".git/objects", ".git/objects/info", ".git/objects/pack", ".git/refs",
		".git/refs/heads", ".git/refs/tags", ".git/info", ".git/hooks"} {
		if err := c.root.Mkdir(d, dirMode); err != nil {
			return fmt.Errorf("creating .git: %w", err)
		}
	}
	m := c.w.mirror
	packs, err := filepath.Glob(filepath.Join(m.dir, "objects/pack/*.pack"))
	if err != nil {
		return fmt.Errorf("listing packs: %w", err)
	}
	if len(packs) == 1 && !m.hasLoose() {
		return c.copyPack(packs[0])
	}
	if m.store.binary != "" {
		return c.packReachable(ctx)
	}
	for _, p := range packs {
		if err := c.copyPack(p); err != nil {
			return err
		}
	}
	return c.copyLoose()
}

// hasLoose reports whether the mirror has objects outside packs.
func (m *Mirror) hasLoose() bool {
	dirs, err := filepath.Glob(filepath.Join(m.dir, "objects/[0-9a-f][0-9a-f]"))
	return err == nil && len(dirs) > 0
}

// packReachable has git write a pack of the base commit's history, in the
// store's own directory, and copies that.
func (c *checkout) packReachable(ctx context.Context) (err error) {
	s := c.w.mirror.store
	tmp, err := os.MkdirTemp(s.cfg.Dir, packRoom)
	if err != nil {
		return fmt.Errorf("making room for a pack: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	cmd := s.gitCommand(ctx, c.w.mirror.dir, "pack-objects", "--quiet", "--revs", "--delta-base-offset",
		"--window=0", filepath.Join(tmp, "pack"))
	cmd.Stdin = strings.NewReader(c.w.commit + "\n")
	cmd.Env = append(cmd.Env, configEnv(nil)...)
	if err := s.runGit(ctx, cmd, s.cfg.MaxPackBytes); err != nil {
		return err
	}
	packs, err := filepath.Glob(filepath.Join(tmp, "*.pack"))
	if err != nil || len(packs) != 1 {
		return fmt.Errorf("packing objects: %w: %d packs", ErrCorrupt, len(packs))
	}
	return c.copyPack(packs[0])
}

func (c *checkout) copyPack(pack string) error {
	for _, ext := range []string{".idx", ".pack"} {
		from := strings.TrimSuffix(pack, ".pack") + ext
		if err := c.copyFile(from, ".git/objects/pack/"+filepath.Base(from)); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkout) copyLoose() error {
	src := filepath.Join(c.w.mirror.dir, "objects")
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil || len(rel) < 2 || rel == "pack" || rel == "info" {
			if d.IsDir() && rel != "." {
				return filepath.SkipDir
			}
			return err
		}
		to := ".git/objects/" + filepath.ToSlash(rel)
		if d.IsDir() {
			return c.root.Mkdir(to, dirMode)
		}
		return c.copyFile(path, to)
	})
}

func (c *checkout) copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying objects: %w", err)
	}
	defer in.Close()
	out, err := c.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return fmt.Errorf("copying objects: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("copying objects: %w", err)
	}
	return nil
}

// writeDotGit completes the .git: configuration, branch, index.
func (c *checkout) writeDotGit() error {
	texts := [][2]string{
		{"config", dotGitConfig},
		{"HEAD", "ref: refs/heads/" + c.opts.Branch + "\n"},
		{"description", "Workspace of a Greenwright run\n"},
		{"packed-refs", c.w.commit + " refs/heads/" + c.opts.Branch + "\n"},
	}
	shallow, err := os.ReadFile(filepath.Join(c.w.mirror.dir, "shallow"))
	if err == nil && len(shallow) > 0 {
		texts = append(texts, [2]string{"shallow", string(shallow)})
	}
	for _, t := range texts {
		if err := c.root.WriteFile(".git/"+t[0], []byte(t[1]), 0o644); err != nil {
			return fmt.Errorf("writing .git: %w", err)
		}
	}
	if err := c.writeIndex(); err != nil {
		return err
	}
	return c.ownDotGit()
}

func (c *checkout) writeIndex() error {
	idx := &index.Index{Version: 2, Entries: make([]*index.Entry, 0, len(c.w.base.files))}
	for p, e := range c.w.base.files {
		ie := &index.Entry{Name: p, Hash: e.hash, Mode: e.mode}
		if e.mode == filemode.Deprecated { // an index has no such mode
			ie.Mode = filemode.Regular
		}
		if err := c.statEntry(p, e, ie); err != nil {
			return err
		}
		idx.Entries = append(idx.Entries, ie)
	}
	if err := c.encodeIndex(idx); err != nil {
		return fmt.Errorf("writing index: %w", err)
	}
	return nil
}

func (c *checkout) encodeIndex(idx *index.Index) (err error) {
	f, err := c.root.OpenFile(".git/index", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := bufio.NewWriter(f)
	if err := index.NewEncoder(buf).Encode(idx); err != nil {
		return err
	}
	return buf.Flush()
}

func (c *checkout) statEntry(p string, e entry, ie *index.Entry) error {
	st, ok := c.stamps[p]
	if !ok {
		if e.mode == filemode.Submodule {
			return nil
		}
		info, err := c.root.Lstat(p)
		if err != nil {
			return fmt.Errorf("writing index: %w", err)
		}
		st.stamp, _, st.uid, st.gid, _ = stampOf(info)
	}
	ie.ModifiedAt, ie.CreatedAt = st.modified(), st.changed()
	// An index keeps the low 32 bits (gitformat-index).
	ie.Dev, ie.Inode, ie.Size = uint32(st.dev), uint32(st.ino), uint32(st.size) //nolint:gosec // cut on purpose
	ie.UID, ie.GID = st.uid, st.gid
	return nil
}

// ownDotGit gives the .git to the workspace's owner. No command has run yet.
func (c *checkout) ownDotGit() error {
	if !c.opts.setsOwner() {
		return nil
	}
	return fs.WalkDir(c.root.FS(), ".git", func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return c.own(p)
	})
}
