package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

const (
	sha1 = "1111111111111111111111111111111111111111"
	sha2 = "2222222222222222222222222222222222222222"
	sha3 = "3333333333333333333333333333333333333333"
)

func TestPermission(t *testing.T) {
	const ada = `"id":2,"username":"ada","state":"active"`
	cases := map[string]struct {
		member, user, visibility string
		want                     vcs.Permission
		err                      error
	}{
		"guest":              {member: `{` + ada + `,"access_level":10}`, want: vcs.PermissionRead},
		"planner":            {member: `{` + ada + `,"access_level":15}`, want: vcs.PermissionTriage},
		"reporter":           {member: `{` + ada + `,"access_level":20}`, want: vcs.PermissionTriage},
		"developer":          {member: `{` + ada + `,"access_level":30,"membership_state":"active","expires_at":"2999-01-01"}`, want: vcs.PermissionWrite},
		"maintainer":         {member: `{` + ada + `,"access_level":40}`, want: vcs.PermissionMaintain},
		"owner":              {member: `{` + ada + `,"access_level":50}`, want: vcs.PermissionAdmin},
		"admin":              {member: `{` + ada + `,"access_level":60}`, want: vcs.PermissionAdmin},
		"unknown level":      {member: `{` + ada + `,"access_level":35}`, want: vcs.PermissionWrite},
		"minimal":            {member: `{` + ada + `,"access_level":5}`, want: vcs.PermissionNone},
		"custom role":        {member: `{` + ada + `,"access_level":20,"member_role":{"base_access_level":20,"push_code":true}}`, want: vcs.PermissionTriage},
		"custom role, lower": {member: `{` + ada + `,"access_level":40,"member_role":{"base_access_level":10}}`, want: vcs.PermissionRead},
		"blocked":            {member: `{"id":2,"username":"ada","state":"blocked","access_level":50}`, want: vcs.PermissionNone},
		"awaiting":           {member: `{` + ada + `,"access_level":50,"membership_state":"awaiting"}`, want: vcs.PermissionNone},
		"expired":            {member: `{` + ada + `,"access_level":50,"expires_at":"2020-01-01"}`, want: vcs.PermissionNone},
		"renamed":            {member: `{"id":2,"username":"ada2","state":"active","access_level":50}`, err: vcs.ErrConflict},
		"no level":           {member: `{` + ada + `}`, want: vcs.PermissionNone},
		"another case":       {member: `{"id":2,"username":"Ada","state":"active","access_level":30}`, want: vcs.PermissionWrite},
		"stranger, private":  {user: `{` + ada + `}`, visibility: "private", want: vcs.PermissionNone},
		"stranger, internal": {user: `{` + ada + `}`, visibility: "internal", want: vcs.PermissionRead},
		"external, internal": {user: `{` + ada + `,"external":true}`, visibility: "internal", want: vcs.PermissionNone},
		"stranger, public":   {user: `{` + ada + `}`, visibility: "public", want: vcs.PermissionRead},
		"external, public":   {user: `{` + ada + `,"external":true}`, visibility: "public", want: vcs.PermissionRead},
		"blocked stranger":   {user: `{"id":2,"username":"ada","state":"blocked"}`, visibility: "public", want: vcs.PermissionNone},
		"locked stranger":    {user: `{` + ada + `,"locked":true}`, visibility: "public", want: vcs.PermissionNone},
		"renamed stranger":   {user: `{"id":2,"username":"eve","state":"active"}`, visibility: "public", err: vcs.ErrConflict},
		"nobody":             {user: `404 {}`, visibility: "public", want: vcs.PermissionNone},
		"new visibility":     {user: `{` + ada + `}`, visibility: "x", want: vcs.PermissionNone},
		"forge in trouble":   {member: `500 {}`, err: vcs.ErrUnavailable},
		"token too weak":     {member: `403 {}`, err: vcs.ErrForbidden},
		"no answer on users": {user: `500 {}`, err: vcs.ErrUnavailable},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{"GET projects/acme%2Fwidgets": `{"id":81,"visibility":"` + c.visibility + `"}`})
		if c.member != "" {
			f.on("GET projects/acme%2Fwidgets/members/all/2", c.member)
		}
		if c.user != "" {
			f.on("GET users/2", c.user)
		}
		got, err := f.forge(t).Permission(t.Context(), widgets(), vcs.Actor{ID: 2, Login: "ada"})
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestBotsAreToldByName(t *testing.T) {
	f := newFake(t, nil)
	for answer, want := range map[string]vcs.ActorKind{
		`{"id":9,"username":"project_81_bot_3fa"}`: vcs.KindBot, `{"id":9,"username":"project_81_bot"}`: vcs.KindBot,
		`{"id":9,"username":"group_7_bot2"}`: vcs.KindBot, `{"id":9,"username":"service","bot":true}`: vcs.KindBot,
		`{"id":9,"username":"project_x_bot"}`: vcs.KindUser, `{"id":9,"username":"my_project_81_bot"}`: vcs.KindUser,
	} {
		f.on("GET user", answer)
		if a, err := f.forge(t).Self(t.Context()); err != nil || a.Kind != want {
			t.Errorf("%s: %+v, %v", answer, a, err)
		}
	}
}

// notes answers a listing of n notes, every tenth one of GitLab's own, in pages,
// with the link of a keyset in place of page numbers if asked.
func (f *fake) notes(n int, keyset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		size, _ := strconv.Atoi(q.Get("per_page"))
		page, _ := strconv.Atoi(q.Get("page") + q.Get("cursor"))
		page = max(page, 1)
		var out []string
		for i := (page - 1) * size; i < min(page*size, n); i++ {
			k := i
			if q.Get("sort") == "desc" {
				k = n - 1 - i
			}
			out = append(out, fmt.Sprintf(`{"id":%d,"body":"note %d","system":%v,"author":{"id":3,"username":"bob"}}`, k+100, k, k%10 == 9))
		}
		if page*size < n {
			if keyset {
				w.Header().Set("Link", fmt.Sprintf(`<https://elsewhere.example/api/v4/x?cursor=%d&per_page=100>; rel="next"`, page+1))
			} else {
				w.Header().Set("X-Next-Page", strconv.Itoa(page+1))
			}
		}
		reply(w, "["+strings.Join(out, ",")+"]")
	}
}

func TestManyNotes(t *testing.T) {
	cases := []struct {
		n         int
		keyset    bool
		comments  int
		truncated bool
	}{
		{0, false, 0, false}, {100, false, 90, false}, {101, false, 91, false}, {250, false, 225, false}, {250, true, 225, false},
		{299, false, 270, false}, {300, false, 270, true}, {301, false, 270, true}, {5000, false, 270, true}, {5000, true, 270, true},
	}
	for _, c := range cases {
		f := newFake(t, map[string]string{"GET projects/acme%2Fwidgets/issues/1": `{"title":"A","state":"opened"}`})
		f.handle("GET projects/acme%2Fwidgets/issues/1/notes", f.notes(c.n, c.keyset))
		i, err := f.forge(t).Issue(t.Context(), issue(1))
		if err != nil || len(i.Comments) != c.comments || i.Truncated != c.truncated {
			t.Errorf("%d notes: %d comments, truncated %v, %v; want %d, %v", c.n, len(i.Comments), i.Truncated, err, c.comments, c.truncated)
		}
		if !slices.IsSortedFunc(i.Comments, func(a, b vcs.Comment) int { return int(a.ID - b.ID) }) {
			t.Errorf("%d notes: not oldest first", c.n)
		}
		if c.n == 5000 && (i.Comments[0].Body != "note 0" || i.Comments[len(i.Comments)-1].Body != "note 4998") {
			t.Errorf("%d notes: from %q to %q", c.n, i.Comments[0].Body, i.Comments[len(i.Comments)-1].Body)
		}
		for _, cm := range i.Comments {
			if want := f.URL + "/acme/widgets/-/issues/1#note_" + strconv.FormatInt(cm.ID, 10); cm.URL != want {
				t.Fatalf("address %s, want %s", cm.URL, want)
			}
		}
	}
}

func TestConversationOfAMergeRequest(t *testing.T) {
	f := newFake(t, map[string]string{
		"GET projects/acme%2Fwidgets/merge_requests/4": `{"title":"Draft: Guard","state":"locked","discussion_locked":true,"labels":["bug"],"author":null}`,
		"GET projects/acme%2Fwidgets/merge_requests/4/notes": `[
			{"id":1,"type":null,"body":"plain","author":{"id":3,"username":"bob"}},
			{"id":2,"type":"DiffNote","body":"on a line","resolvable":true,"author":{"id":3,"username":"bob"}},
			{"id":3,"type":"DiscussionNote","body":"a thread","resolvable":true,"author":{"id":3,"username":"bob"}},
			{"id":4,"type":null,"body":"changed the title","system":true,"author":{"id":3,"username":"bob"}},
			{"id":5,"type":null,"body":"secret","internal":true,"author":{"id":3,"username":"bob"}},
			{"id":6,"type":null,"body":"older secret","confidential":true,"author":{"id":0,"username":""}}]`,
	})
	i, err := f.forge(t).Issue(t.Context(), merge(4))
	if err != nil {
		t.Fatal(err)
	}
	if i.Title != "Guard" || i.Open || !i.Locked || !i.PullRequest || len(i.Labels) != 1 || i.Author != (vcs.Actor{}) {
		t.Errorf("thread is %+v", i)
	}
	var got []string
	for _, c := range i.Comments {
		got = append(got, fmt.Sprint(c.Kind, " ", c.ID, " ", c.Internal))
	}
	if want := []string{"issue 1 false", "review 3 false", "issue 5 true", "issue 6 true"}; !slices.Equal(got, want) {
		t.Errorf("comments %v, want %v", got, want)
	}
}

func TestConfidentialIssue(t *testing.T) {
	f := newFake(t, map[string]string{
		"GET projects/acme%2Fwidgets/issues/1":       `{"title":"A","state":"closed","confidential":true,"author":{"id":3,"username":"bob"}}`,
		"GET projects/acme%2Fwidgets/issues/1/notes": `[]`,
	})
	if i, err := f.forge(t).Issue(t.Context(), issue(1)); err != nil || !i.Confidential || i.Open {
		t.Errorf("issue is %+v, %v", i, err)
	}
}

func TestNotesMadePublic(t *testing.T) {
	const own = `"author":{"id":9,"username":"helper"}`
	cases := map[string]struct {
		internal bool
		answer   string
		err      error
		deleted  int
	}{
		"internal":          {true, `201 {"id":5,"internal":true,` + own + `}`, nil, 0},
		"by its older name": {true, `201 {"id":5,"confidential":true,` + own + `}`, nil, 0},
		"made public":       {true, `201 {"id":5,` + own + `}`, vcs.ErrUnsupported, 1},
		"public":            {false, `201 {"id":5,` + own + `}`, nil, 0},
		"only executed":     {false, `202 {"commands_changes":{}}`, vcs.ErrUnavailable, 0},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{
			"GET projects/acme%2Fwidgets/issues/1/notes": `[]`, "POST projects/81/issues/1/notes": c.answer, "DELETE projects/81/issues/1/notes/5": "204 ",
		})
		got, err := f.forge(t).PutComment(t.Context(), issue(1), vcs.StickyComment{Marker: "m", Body: "x", Internal: c.internal})
		if !errors.Is(err, c.err) || err == nil && got.Internal != c.internal {
			t.Errorf("%s: %+v, %v; want %v", name, got, err, c.err)
		}
		if n := f.asked("DELETE "); n != c.deleted {
			t.Errorf("%s: deleted %d, want %d", name, n, c.deleted)
		}
		asks := `{"body":"\u003c!-- greenwright:m --\u003e\nx"`
		if c.internal {
			asks += `,"internal":true,"confidential":true`
		}
		if f.asked("POST projects/81/issues/1/notes "+asks+"}") != 1 {
			t.Errorf("%s: asked for %v", name, f.seen)
		}
	}
}

// TestStickyNotes: own notes are told by id, kind and first line; a remembered
// one that is gone is written anew.
func TestStickyNotes(t *testing.T) {
	mark := "<!-- greenwright:m -->"
	note := func(id, author int, rest string) string {
		return fmt.Sprintf(`{"id":%d,"author":{"id":%d,"username":"helper"},%s}`, id, author, rest)
	}
	others := []string{
		note(1, 3, `"body":"`+mark+`\nforged"`), note(2, 9, `"system":true,"body":"`+mark+`\nx"`), note(3, 9, `"body":"x\n`+mark+`"`),
		note(4, 9, `"body":"<!-- greenwright:mm -->\nx"`), note(5, 9, `"type":"DiffNote","body":"`+mark+`\nx"`),
	}
	own := note(6, 9, `"type":"DiscussionNote","body":"`+mark+`\r\nsomebody has answered it"`)
	const at = "projects/acme%2Fwidgets/merge_requests/4/notes"
	f := newFake(t, map[string]string{
		"GET " + at: "[" + strings.Join(append(others, own), ",") + "]",
		"PUT projects/81/merge_requests/4/notes/6": note(6, 9, `"body":"x"`), "POST projects/81/merge_requests/4/notes": "201 " + note(7, 9, `"body":"x"`),
	})
	g := f.forge(t)
	put := func() int64 {
		t.Helper()
		c, err := g.PutComment(t.Context(), merge(4), vcs.StickyComment{Marker: "m", Body: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	if id := put(); id != 6 {
		t.Errorf("wrote %d, want 6", id)
	}
	if put(); f.asked("GET "+at) != 1 {
		t.Errorf("looked for the note %d times", f.asked("GET "+at))
	}
	f.on("PUT projects/81/merge_requests/4/notes/6", "404 {}")
	f.on("GET "+at, "["+strings.Join(others, ",")+"]")
	if id := put(); id != 7 {
		t.Errorf("after a deletion: wrote %d, want 7", id)
	}
	var wg sync.WaitGroup
	h := f.forge(t)
	f.handle("POST projects/81/merge_requests/4/notes", func(w http.ResponseWriter, _ *http.Request) {
		f.on("GET "+at, "["+note(8, 9, `"body":"`+mark+`"`)+"]")
		reply(w, "201 "+note(8, 9, `"body":"x"`))
	})
	f.on("PUT projects/81/merge_requests/4/notes/8", note(8, 9, `"body":"x"`))
	before := f.asked("POST ")
	for range 8 {
		wg.Go(func() {
			if _, err := h.PutComment(context.WithoutCancel(t.Context()), merge(4), vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	if wg.Wait(); f.asked("POST ") != before+1 {
		t.Errorf("eight calls wrote %d notes", f.asked("POST ")-before)
	}
}

func TestReactionTwice(t *testing.T) {
	const at = "merge_requests/4/notes/7/award_emoji"
	f := newFake(t, map[string]string{
		"POST projects/81/" + at:            `404 {"message":"404 Award Emoji Name has already been taken Not Found"}`,
		"GET projects/acme%2Fwidgets/" + at: `[{"name":"eyes","user":{"id":3}},{"name":"confused","user":{"id":9}}]`,
	})
	g := f.forge(t)
	ref := vcs.CommentRef{Kind: vcs.ReviewRemark, ID: 7}
	if err := g.React(t.Context(), merge(4), ref, vcs.ReactionConfused); err != nil {
		t.Errorf("the same reaction again: %v", err)
	}
	if err := g.React(t.Context(), merge(4), ref, vcs.ReactionEyes); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("somebody else's reaction was taken for ours: %v", err)
	}
	if err := g.React(t.Context(), merge(4), vcs.CommentRef{Kind: vcs.ReviewSummary}, vcs.ReactionEyes); !errors.Is(err, vcs.ErrUnsupported) {
		t.Errorf("a reaction on a summary: %v", err)
	}
}

// mergeJSON is a merge request on the wire, with some members replaced.
func mergeJSON(t *testing.T, with map[string]any) string {
	t.Helper()
	m := map[string]any{
		"iid": 4, "title": "Guard", "description": "Because.", "state": "opened", "source_branch": "guard", "target_branch": "main",
		"source_project_id": 81, "target_project_id": 81, "sha": sha1, "author": map[string]any{"id": 2, "username": "ada"},
		"diff_refs": map[string]any{"base_sha": sha3, "start_sha": sha2, "head_sha": sha1}, "web_url": "https://gitlab.example/acme/widgets/-/merge_requests/4",
	}
	for k, v := range with {
		m[k] = v
	}
	return toJSON(t, m)
}

func TestMergeRequest(t *testing.T) {
	plain := vcs.PullRequest{
		Thread: merge(4), Title: "Guard", Body: "Because.", Author: vcs.Actor{ID: 2, Login: "ada", Kind: vcs.KindUser}, Open: true,
		Head: vcs.Branch{Repo: widgets(), Name: "guard", SHA: sha1}, Base: vcs.Branch{Repo: widgets(), Name: "main", SHA: sha2},
		URL: "https://gitlab.example/acme/widgets/-/merge_requests/4",
	}
	but := func(change func(*vcs.PullRequest)) vcs.PullRequest {
		p := plain
		change(&p)
		return p
	}
	fork := vcs.RepoRef{Forge: vcs.GitLab, Owner: "bob/forks", Name: "widgets"}
	cases := map[string]struct {
		with map[string]any
		want vcs.PullRequest
		err  error
	}{
		"plain":           {nil, plain, nil},
		"draft":           {map[string]any{"title": "Draft: Guard", "draft": true}, but(func(p *vcs.PullRequest) { p.Draft = true }), nil},
		"old draft":       {map[string]any{"title": "WIP: Guard", "work_in_progress": true}, but(func(p *vcs.PullRequest) { p.Draft = true }), nil},
		"closed":          {map[string]any{"state": "closed"}, but(func(p *vcs.PullRequest) { p.Open = false }), nil},
		"being merged":    {map[string]any{"state": "locked"}, but(func(p *vcs.PullRequest) { p.Open = false }), nil},
		"merged":          {map[string]any{"state": "merged", "merged_at": "2026-01-02T03:04:05Z"}, but(func(p *vcs.PullRequest) { p.Open, p.Merged = false, true }), nil},
		"author deleted":  {map[string]any{"author": nil}, but(func(p *vcs.PullRequest) { p.Author = vcs.Actor{} }), nil},
		"fork":            {map[string]any{"source_project_id": 90, "allow_collaboration": true}, but(func(p *vcs.PullRequest) { p.Head.Repo, p.MaintainerCanModify = fork, true }), nil},
		"fork, hidden":    {map[string]any{"source_project_id": 91}, but(func(p *vcs.PullRequest) { p.Head.Repo = vcs.RepoRef{} }), nil},
		"fork, forbidden": {map[string]any{"source_project_id": 92}, but(func(p *vcs.PullRequest) { p.Head.Repo = vcs.RepoRef{} }), nil},
		"fork, gone":      {map[string]any{"source_project_id": nil}, but(func(p *vcs.PullRequest) { p.Head.Repo = vcs.RepoRef{} }), nil},
		"fork, unknown":   {map[string]any{"source_project_id": 93}, vcs.PullRequest{}, vcs.ErrUnavailable},
		"just opened":     {map[string]any{"sha": nil, "diff_refs": nil}, but(func(p *vcs.PullRequest) { p.Base.SHA = sha3 }), nil},
		"bad branch":      {map[string]any{"source_branch": "--upload-pack=x"}, vcs.PullRequest{}, vcs.ErrInvalid},
		"bad base":        {map[string]any{"target_branch": "a..b"}, vcs.PullRequest{}, vcs.ErrInvalid},
		"bad SHA":         {map[string]any{"sha": "main"}, vcs.PullRequest{}, vcs.ErrInvalid},
		"bad login":       {map[string]any{"author": map[string]any{"id": 2, "username": "a/b"}}, vcs.PullRequest{}, vcs.ErrInvalid},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{
			"GET projects/acme%2Fwidgets/merge_requests/4": mergeJSON(t, c.with),
			"GET projects/90": `{"id":90,"path_with_namespace":"bob/forks/widgets"}`, "GET projects/92": `403 {}`, "GET projects/93": `500 {}`,
			"GET projects/acme%2Fwidgets/repository/branches/guard": `{"commit":{"id":"` + sha1 + `"}}`,
			"GET projects/acme%2Fwidgets/repository/branches/main":  `{"commit":{"id":"` + sha3 + `"}}`,
		})
		got, err := f.forge(t).PullRequest(t.Context(), merge(4))
		if !errors.Is(err, c.err) || err == nil && !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v: %s", name, err, cmp.Diff(c.want, got))
		}
	}
}

func TestOpenMergeRequest(t *testing.T) {
	ask := vcs.NewPullRequest{Repo: widgets(), Head: "guard", Base: "main", Title: "Guard", Body: "Because.\n/merge", Draft: true}
	const listing = "GET projects/acme%2Fwidgets/merge_requests"
	branches := map[string]string{
		"GET projects/acme%2Fwidgets/repository/branches/guard": `{"commit":{"id":"` + sha1 + `"}}`,
		"GET projects/acme%2Fwidgets/merge_requests/4":          mergeJSON(t, map[string]any{"draft": true, "title": "Draft: Guard"}),
		"POST projects/81/merge_requests":                       "201 " + mergeJSON(t, map[string]any{"draft": true, "title": "Draft: Guard"}),
		listing:                                                 "[]",
	}
	t.Run("new", func(t *testing.T) {
		f := newFake(t, branches)
		p, err := f.forge(t).OpenPullRequest(t.Context(), ask)
		if err != nil || p.Number != 4 || !p.PullRequest || !p.Draft || p.Title != "Guard" {
			t.Errorf("opened %+v, %v", p, err)
		}
		want := `POST projects/81/merge_requests {"title":"Draft: Guard","description":"Because.\n\\/merge","source_branch":"guard","target_branch":"main","remove_source_branch":true}`
		if f.asked(want) != 1 {
			t.Errorf("asked %q", f.seen)
		}
	})
	t.Run("with options", func(t *testing.T) {
		f := newFake(t, branches)
		forge, err := gitlab.New(gitlab.Config{BaseURL: f.URL, Token: "glpat-x", MergeRequests: gitlab.MergeRequests{Labels: []string{"bot", "needs review"}, Squash: true, KeepBranch: true}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := forge.OpenPullRequest(t.Context(), ask); err != nil {
			t.Error(err)
		}
		want := `POST projects/81/merge_requests {"title":"Draft: Guard","description":"Because.\n\\/merge","source_branch":"guard","target_branch":"main","labels":"bot,needs review","remove_source_branch":false,"squash":true}`
		if f.asked(want) != 1 {
			t.Errorf("asked %q", f.seen)
		}
		if _, err := gitlab.New(gitlab.Config{BaseURL: f.URL, Token: "glpat-x", MergeRequests: gitlab.MergeRequests{Labels: []string{"a,b"}}}); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("a label with a comma: %v", err)
		}
	})
	t.Run("there already, beside a fork's", func(t *testing.T) {
		f := newFake(t, branches)
		f.on(listing, "["+mergeJSON(t, map[string]any{"iid": 3, "source_project_id": 90})+","+mergeJSON(t, nil)+"]")
		if p, err := f.forge(t).OpenPullRequest(t.Context(), ask); err != nil || p.Number != 4 || f.asked("POST ") != 0 {
			t.Errorf("found %+v, %v", p, err)
		}
	})
	t.Run("opened meanwhile", func(t *testing.T) {
		f := newFake(t, branches)
		f.handle("POST projects/81/merge_requests", func(w http.ResponseWriter, _ *http.Request) {
			f.on(listing, "["+mergeJSON(t, nil)+"]")
			reply(w, `409 {"message":["Another open merge request already exists for this source branch: !4"]}`)
		})
		if p, err := f.forge(t).OpenPullRequest(t.Context(), ask); err != nil || p.Number != 4 {
			t.Errorf("found %+v, %v", p, err)
		}
	})
	for name, c := range map[string]struct {
		route, answer string
		want          error
	}{
		"no source branch":         {"GET projects/acme%2Fwidgets/repository/branches/guard", `404 {}`, vcs.ErrInvalid},
		"refused":                  {"POST projects/81/merge_requests", `403 {"message":"403 Forbidden"}`, vcs.ErrForbidden},
		"conflict of another kind": {"POST projects/81/merge_requests", `409 {"message":"x"}`, vcs.ErrConflict},
		"invalid":                  {"POST projects/81/merge_requests", `422 {"message":["x"]}`, vcs.ErrInvalid},
	} {
		f := newFake(t, branches)
		f.on(c.route, c.answer)
		if _, err := f.forge(t).OpenPullRequest(t.Context(), ask); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestDraftsStayDrafts: a new title takes a draft's mark neither away nor on.
func TestDraftsStayDrafts(t *testing.T) {
	for _, c := range []struct {
		draft       bool
		title, want string
	}{
		{true, "Better", "Draft: Better"}, {true, "Draft: Better", "Draft: Better"}, {false, "Better", "Better"}, {false, "draft: Better", "Better"},
	} {
		f := newFake(t, map[string]string{
			"GET projects/acme%2Fwidgets/merge_requests/4": mergeJSON(t, map[string]any{"draft": c.draft}), "PUT projects/81/merge_requests/4": "{}",
		})
		if err := f.forge(t).EditPullRequest(t.Context(), merge(4), c.title, ""); err != nil {
			t.Error(err)
		}
		if f.asked(`PUT projects/81/merge_requests/4 {"title":"`+c.want+`"}`) != 1 {
			t.Errorf("draft %v, %q: asked %q", c.draft, c.title, f.seen)
		}
	}
}

func TestRequestReviewKeepsTheOthers(t *testing.T) {
	f := newFake(t, map[string]string{
		"GET projects/acme%2Fwidgets/merge_requests/4": mergeJSON(t, map[string]any{"reviewers": []any{map[string]any{"id": 5}, map[string]any{"id": 3}}}),
		"PUT projects/81/merge_requests/4":             "{}",
	})
	if err := f.forge(t).RequestReview(t.Context(), merge(4), vcs.Actor{ID: 3, Login: "bob"}); err != nil {
		t.Error(err)
	}
	if f.asked(`PUT projects/81/merge_requests/4 {"reviewer_ids":[3,5]}`) != 1 {
		t.Errorf("asked %q", f.seen)
	}
}

func TestCanceled(t *testing.T) {
	f := newFake(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.forge(t).Repo(ctx, widgets()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestRemoteWorksWithGit: what git sends is basic authentication with the name
// and the token.
func TestRemoteWorksWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	got := make(chan *url.Userinfo, 10)
	f := newFake(t, nil)
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); ok {
			got <- url.UserPassword(name, password)
		} else {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitLab"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	r, err := f.forge(t).Remote(t.Context(), widgets(), vcs.Read)
	if err != nil {
		t.Fatal(err)
	}
	ask := filepath.Join(t.TempDir(), "ask")
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in U*) echo %s;; *) echo %s;; esac\n", r.Username, r.Password.Reveal())
	if err := os.WriteFile(ask, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "ls-remote", r.URL)
	cmd.Env = append(os.Environ(), "GIT_ASKPASS="+ask, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	_ = cmd.Run() // is refused
	select {
	case u := <-got:
		if u.String() != "oauth2:glpat-secret" {
			t.Errorf("git sent %s", u)
		}
	case <-time.After(10 * time.Second):
		t.Error("git sent no credential")
	}
}

// TestOnlyMembersReadAPrivateProject: an internal one is open to every account
// of the GitLab.
func TestOnlyMembersReadAPrivateProject(t *testing.T) {
	for visibility, want := range map[string]bool{"private": true, "internal": false, "public": false, "": false} {
		f := newFake(t, map[string]string{projectPath: `{"id":81,"path_with_namespace":"acme/widgets","default_branch":"main","visibility":"` + visibility + `"}`})
		if r, err := f.forge(t).Repo(t.Context(), widgets()); err != nil || r.Private != want {
			t.Errorf("%q: private %v, %v; want %v", visibility, r.Private, err, want)
		}
	}
}

// TestAccount: whether an account is a bot's is told by it alone.
func TestAccount(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		kind   vcs.ActorKind
		err    error
	}{
		"person":          {`{"id":2,"username":"ada","state":"active"}`, vcs.KindUser, nil},
		"service account": {`{"id":2,"username":"ada","state":"active","bot":true}`, vcs.KindBot, nil},
		"taken login":     {`{"id":2,"username":"eve","state":"active"}`, "", vcs.ErrConflict},
		"gone":            {`404 {}`, "", vcs.ErrNotFound},
		"away":            {`500 {}`, "", vcs.ErrUnavailable},
	} {
		f := newFake(t, map[string]string{"GET users/2": c.answer})
		if got, err := f.forge(t).Account(t.Context(), vcs.Actor{ID: 2, Login: "ada"}); got.Kind != c.kind || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want kind %q, %v", name, got, err, c.kind, c.err)
		}
	}
	if _, err := newFake(t, nil).forge(t).Account(t.Context(), vcs.Actor{ID: 2, Login: "../x"}); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("a login that is none: %v", err)
	}
}
