package gitlab_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
)

// noteJSON is a note on a line of a diff.
func noteJSON(id, author int, body, more string) string {
	names := map[int]string{2: "ada", 3: "bob", 9: "helper"}
	return fmt.Sprintf(`{"id":%d,"type":"DiffNote","resolvable":true,"body":%q,"author":{"id":%d,"username":%q},"created_at":"2026-01-02T03:04:05Z"%s}`,
		id, body, author, names[author], more)
}

func discussion(id string, notes ...string) string {
	return `{"id":"` + id + `","notes":[` + strings.Join(notes, ",") + `]}`
}

// at is a position on the wire.
func at(head, rest string) string {
	return `,"position":{"base_sha":"` + sha3 + `","start_sha":"` + sha3 + `","head_sha":"` + head + `","position_type":"text",` + rest + `}`
}

func discussionsOf(t *testing.T, all ...string) *fake {
	t.Helper()
	return newFake(t, map[string]string{
		"GET projects/acme%2Fwidgets/merge_requests/4":             mergeJSON(t, nil),
		"GET projects/acme%2Fwidgets/merge_requests/4/discussions": "[" + strings.Join(all, ",") + "]",
		"GET projects/acme%2Fwidgets/merge_requests/4/reviewers":   `[{"user":{"id":3},"state":"requested_changes"},{"user":{"id":2},"state":"reviewed"}]`,
	})
}

func TestReview(t *testing.T) {
	f := discussionsOf(t,
		discussion("open", noteJSON(10, 3, "Return an error.", at(sha1, `"old_path":"a.go","new_path":"b.go","old_line":null,"new_line":7,"line_range":{"start":{"new_line":5},"end":{"new_line":7}}`)), noteJSON(11, 2, "Which?", "")),
		discussion("done", noteJSON(12, 3, "Typo.", at(sha2, `"old_path":"a.go","new_path":"a.go","new_line":3`)+`,"resolved":true`), noteJSON(13, 3, "Here.", `,"resolved":true`)),
		discussion("half", noteJSON(14, 3, "x", at(sha1, `"old_path":"a.go","new_path":"b.go","old_line":4`)+`,"resolved":true`), noteJSON(15, 3, "y", "")),
		discussion("file", noteJSON(16, 3, "Rename it.", at(sha1, `"old_path":"a.go","new_path":"b.go"`))),
		discussion("thread", `{"id":17,"type":"DiscussionNote","resolvable":true,"body":"In general","author":{"id":3,"username":"bob"}}`, `{"id":18,"type":"DiscussionNote","system":true,"author":{"id":9,"username":"helper"}}`),
		discussion("answered", noteJSON(19, 3, "z", at(sha1, `"new_path":"b.go","new_line":1`)), noteJSON(20, 9, "Fixed.", "")),
		discussion("again", noteJSON(21, 3, "z", at(sha1, `"new_path":"b.go","new_line":1`)), noteJSON(22, 9, "Fixed.", ""), noteJSON(23, 3, "No.", "")),
		discussion("somebody else's", noteJSON(24, 2, "z", at(sha1, `"new_path":"b.go","new_line":1`))),
		discussion("plain", `{"id":25,"type":null,"body":"Nice.","author":{"id":3,"username":"bob"}}`),
		discussion("empty"),
	)
	r, err := f.forge(t).Review(t.Context(), merge(4), 12)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != 12 || r.Author.Login != "bob" || r.State != vcs.ReviewChangesRequested || r.Body != "" || r.CommitSHA != sha2 || r.SubmittedAt.IsZero() ||
		!strings.HasSuffix(r.URL, "/acme/widgets/-/merge_requests/4#note_12") {
		t.Errorf("review is %+v", r)
	}
	var got []string
	for _, th := range r.Remarks {
		var ids []int64
		for _, c := range th.Comments {
			if c.Kind != vcs.ReviewRemark {
				t.Errorf("note %d is %s", c.ID, c.Kind)
			}
			ids = append(ids, c.ID)
		}
		got = append(got, fmt.Sprint(th.ID, " ", th.Path, ":", th.StartLine, "-", th.Line, th.Side, " outdated ", th.Outdated, " resolved ", th.Resolved, " ", ids))
	}
	want := []string{
		"10 b.go:5-7RIGHT outdated false resolved false [10 11]",
		"12 a.go:0-0RIGHT outdated true resolved true [12 13]",
		"14 a.go:0-4LEFT outdated false resolved false [14 15]",
		"16 b.go:0-0 outdated false resolved false [16]",
		"17 :0-0 outdated false resolved false [17]",
		"21 b.go:0-1RIGHT outdated false resolved false [21 22 23]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("remarks: %s", cmp.Diff(want, got))
	}
}

func TestReviewWithoutAnswers(t *testing.T) {
	f := discussionsOf(t, discussion("a", noteJSON(10, 2, "x", at(sha1, `"new_path":"b.go","new_line":1`)), `{"id":11,"system":true,"author":{"id":2,"username":"ada"}}`))
	g := f.forge(t)
	if r, err := g.Review(t.Context(), merge(4), 10); err != nil || r.State != vcs.ReviewCommented {
		t.Errorf("%+v, %v", r, err)
	}
	for id, what := range map[int64]string{1: "a note that is not there", 11: "GitLab's own note"} {
		if _, err := g.Review(t.Context(), merge(4), id); !errors.Is(err, vcs.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	f.on("GET projects/acme%2Fwidgets/merge_requests/4/reviewers", "404 {}") // as before GitLab 14
	if r, err := g.Review(t.Context(), merge(4), 10); err != nil || r.State != vcs.ReviewCommented {
		t.Errorf("without the reviewers: %+v, %v", r, err)
	}
	f.on("GET projects/acme%2Fwidgets/merge_requests/4/reviewers", "500 {}")
	if _, err := g.Review(t.Context(), merge(4), 10); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("reviewers not known: %v, want ErrUnavailable", err)
	}
}

func TestReply(t *testing.T) {
	mark := `<!-- greenwright:m -->`
	own := `{"id":12,"type":"DiffNote","body":"` + mark + `\nLooking.","author":{"id":9,"username":"helper"}}`
	forged := `{"id":13,"type":"DiffNote","body":"` + mark + `\nx","author":{"id":3,"username":"bob"}}`
	f := discussionsOf(t, discussion("0a/b", noteJSON(10, 3, "x", "")), discussion("0b", noteJSON(11, 3, "x", ""), forged, own))
	f.on("POST projects/81/merge_requests/4/discussions/0a%2Fb/notes", "201 "+noteJSON(14, 9, "y", ""))
	f.on("PUT projects/81/merge_requests/4/notes/12", own)
	for opening, want := range map[int64]int64{10: 14, 11: 12} {
		c, err := f.forge(t).ReplyToRemark(t.Context(), merge(4), opening, vcs.StickyComment{Marker: "m", Body: "y"})
		if err != nil || c.ID != want || c.Kind != vcs.ReviewRemark {
			t.Errorf("answer to %d: %+v, %v; want note %d", opening, c, err, want)
		}
	}
	if _, err := f.forge(t).ReplyToRemark(t.Context(), merge(4), 13, vcs.StickyComment{Marker: "m", Body: "y"}); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("an answer to an answer: %v, want ErrNotFound", err)
	}
}
