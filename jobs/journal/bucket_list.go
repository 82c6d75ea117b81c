package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/greenwright/greenwright/jobs"
)

// Artifact is something that is kept of a run.
type Artifact struct {
	Name string    `json:"name"`
	Size int64     `json:"size"` // bytes
	Time time.Time `json:"time"` // of the last write
}

// Holding is everything that is kept of a run.
type Holding struct {
	Run       jobs.RunID `json:"run"`
	Bytes     int64      `json:"bytes"`
	Time      time.Time  `json:"time"` // of the last write
	Artifacts []Artifact `json:"artifacts"`
	// Keep says that the run is live or was never ended: see [Plan].
	Keep bool `json:"keep,omitempty"`
}

// How many names are asked for at a time: S3 gives 1,000 at most. The
// directory driver walks everything for each page.
const (
	pageSize    = 1000
	dirPageSize = 1 << 20
)

// each calls f for every artifact below a prefix, in the order of keys.
func (a *Archive) each(ctx context.Context, prefix string, f func(run jobs.RunID, art Artifact)) error {
	size := pageSize
	if a.dir != "" {
		size = dirPageSize
	}
	for token := blob.FirstPageToken; token != nil; {
		page, next, err := a.page(ctx, prefix, token, size)
		if err != nil {
			return fmt.Errorf("listing the archive: %w", err)
		}
		for _, o := range page {
			run, name, ok := strings.Cut(o.Key, "/")
			if ok && !o.IsDir && storable(run) && storable(name) {
				f(jobs.RunID(run), Artifact{Name: name, Size: o.Size, Time: o.ModTime})
			}
		}
		token = next
	}
	return nil
}

func (a *Archive) page(ctx context.Context, prefix string, token []byte, size int) ([]*blob.ListObject, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	page, next, err := a.bucket.ListPage(ctx, token, size, &blob.ListOptions{Prefix: prefix})
	if gcerrors.Code(err) == gcerrors.NotFound && prefix != "" {
		return nil, nil, nil
	}
	return page, next, err
}

// Names lists what is kept of a run, sorted; nothing is no error.
func (a *Archive) Names(ctx context.Context, run jobs.RunID) ([]Artifact, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	var out []Artifact
	err := a.each(ctx, string(run)+"/", func(_ jobs.RunID, art Artifact) { out = append(out, art) })
	return out, err
}

// Runs lists everything that is kept, the run that was written last at the
// end.
func (a *Archive) Runs(ctx context.Context) ([]Holding, error) {
	runs := map[jobs.RunID]*Holding{}
	err := a.each(ctx, "", func(run jobs.RunID, art Artifact) {
		h := runs[run]
		if h == nil {
			h = &Holding{Run: run}
			runs[run] = h
		}
		h.Artifacts = append(h.Artifacts, art)
		h.Bytes += art.Size
		if art.Time.After(h.Time) {
			h.Time = art.Time
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]Holding, 0, len(runs))
	for h := range maps.Values(runs) {
		out = append(out, *h)
	}
	slices.SortFunc(out, byAge)
	return out, nil
}

func byAge(a, b Holding) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Run, b.Run)) }

// Remove takes artifacts of a run away; without names, everything of the run,
// its journal last. What is not there is no error.
func (a *Archive) Remove(ctx context.Context, run jobs.RunID, names ...string) error {
	if err := checkRun(run); err != nil {
		return err
	}
	all := len(names) == 0
	if all {
		list, err := a.Names(ctx, run)
		if err != nil {
			return err
		}
		for _, art := range list {
			names = append(names, art.Name)
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	}
	for _, name := range names {
		if err := a.removeOne(ctx, run, name); err != nil {
			return err
		}
	}
	if all && a.dir != "" { // with what a write that was cut off has left
		if err := os.RemoveAll(filepath.Join(a.dir, string(run))); err != nil {
			return fmt.Errorf("removing the folder of run %s: %w", run, err)
		}
	}
	return nil
}

// order puts the journal behind everything else: a run of which it is left can
// still be seen to have ended.
func order(name string) int {
	if name == fileName {
		return 1
	}
	return 0
}

func (a *Archive) removeOne(ctx context.Context, run jobs.RunID, name string) error {
	k, err := key(run, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := a.bucket.Delete(ctx, k); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("removing %s of run %s: %w", name, run, err)
	}
	return nil
}

// tailBytes is how much of a journal's end is read to find its last record,
// which names a cause and an advice and little else.
const tailBytes = 256 << 10

// ended reports whether the last record of a run's archived journal is an end.
// Its chain is not checked.
func (a *Archive) ended(ctx context.Context, h Holding) (bool, error) {
	i := slices.IndexFunc(h.Artifacts, func(art Artifact) bool { return art.Name == fileName })
	if i < 0 {
		return false, nil
	}
	r, err := a.open(ctx, h.Run, fileName, max(h.Artifacts[i].Size-tailBytes, 0), tailBytes)
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return false, fmt.Errorf("reading the journal of run %s: %w", h.Run, err)
	}
	b = bytes.TrimSuffix(b, []byte{'\n'})
	var last Record
	return json.Unmarshal(b[bytes.LastIndexByte(b, '\n')+1:], &last) == nil && last.Type == TypeEnded, nil
}
