package gitlab_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

func inProject() gitlab.Scope { return gitlab.Scope{Project: widgets()} }

func TestToken(t *testing.T) {
	cases := map[string]struct {
		token, user string
		want        gitlab.TokenInfo
		err         error
	}{
		"a person's": {
			`{"name":"laptop","scopes":["api","read_user"],"active":true,"expires_at":"2027-05-06"}`, `{"id":9,"username":"ada"}`,
			gitlab.TokenInfo{Name: "laptop", Kind: gitlab.PersonalToken, Scopes: []string{"api", "read_user"}, Active: true, ExpiresAt: time.Date(2027, 5, 6, 0, 0, 0, 0, time.UTC)}, nil,
		},
		"a project's": {`{"name":"bot","scopes":["api"],"active":true,"expires_at":null}`, `{"id":9,"username":"project_81_bot_af","bot":true}`,
			gitlab.TokenInfo{Name: "bot", Kind: gitlab.ProjectToken, Scopes: []string{"api"}, Active: true}, nil},
		"a group's": {`{"name":"bot","active":true}`, `{"id":9,"username":"group_3_bot_af"}`,
			gitlab.TokenInfo{Name: "bot", Kind: gitlab.GroupToken, Scopes: []string{}, Active: true}, nil},
		"a service account's": {`{"name":"bot","active":true,"revoked":true}`, `{"id":9,"username":"greenwright","bot":true}`,
			gitlab.TokenInfo{Name: "bot", Kind: gitlab.ServiceAccountToken, Scopes: []string{}}, nil},
		"refused": {`401 {"message":"401 Unauthorized"}`, `{"id":9,"username":"ada"}`, gitlab.TokenInfo{}, vcs.ErrForbidden},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{"GET personal_access_tokens/self": c.token, "GET user": c.user})
		got, err := f.forge(t).Token(t.Context())
		if err == nil && got.Account.ID != 9 {
			t.Errorf("%s: account %+v", name, got.Account)
		}
		if !errors.Is(err, c.err) || got.Name != c.want.Name || got.Kind != c.want.Kind || !slices.Equal(got.Scopes, c.want.Scopes) ||
			got.Active != c.want.Active || !got.ExpiresAt.Equal(c.want.ExpiresAt) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestAccessLevel(t *testing.T) {
	cases := map[string]struct {
		scope gitlab.Scope
		more  map[string]string
		want  gitlab.Role
		err   error
	}{
		"member":           {inProject(), map[string]string{projectPath + "/members/all/9": `{"id":9,"state":"active","access_level":40}`}, gitlab.RoleMaintainer, nil},
		"no member":        {inProject(), nil, gitlab.RoleNone, nil},
		"of a group":       {gitlab.Scope{Group: "acme/sub.x"}, map[string]string{"GET groups/acme%2Fsub%2Ex/members/all/9": `{"id":9,"state":"active","access_level":50}`}, gitlab.RoleOwner, nil},
		"administrator":    {inProject(), map[string]string{"GET user": `{"id":9,"username":"root","is_admin":true}`}, gitlab.RoleAdmin, nil},
		"no such project":  {inProject(), map[string]string{projectPath: "404 {}"}, gitlab.RoleNone, vcs.ErrNotFound},
		"both":             {gitlab.Scope{Project: widgets(), Group: "acme"}, nil, gitlab.RoleNone, vcs.ErrInvalid},
		"neither":          {gitlab.Scope{}, nil, gitlab.RoleNone, vcs.ErrInvalid},
		"a group's escape": {gitlab.Scope{Group: "a/../b"}, nil, gitlab.RoleNone, vcs.ErrInvalid},
	}
	for name, c := range cases {
		got, err := newFake(t, c.more).forge(t).AccessLevel(t.Context(), c.scope)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, c.want, c.err)
		}
	}
	if got := []string{gitlab.RoleNone.String(), gitlab.RolePlanner.String(), gitlab.RoleDeveloper.String(), gitlab.Role(45).String()}; !slices.Equal(got, []string{"none", "Planner", "Developer", "Maintainer"}) {
		t.Errorf("roles are called %v", got)
	}
}

func TestPutHook(t *testing.T) {
	const at = "https://bot.example/webhooks/gitlab"
	const body = `{"url":"` + at + `","token":"s3cret","note_events":true,"confidential_note_events":true,"issues_events":true,` +
		`"confidential_issues_events":true,"merge_requests_events":true,"pipeline_events":true,"job_events":true,"push_events":false,"enable_ssl_verification":true}`
	spec := gitlab.HookSpec{URL: at, Token: "s3cret"}
	cases := map[string]struct {
		scope   gitlab.Scope
		place   string
		there   string
		created bool
	}{
		"new":                 {inProject(), "projects/acme%2Fwidgets", `[]`, true},
		"beside another":      {inProject(), "projects/acme%2Fwidgets", `[{"id":1,"url":"https://other.example/"}]`, true},
		"repaired":            {inProject(), "projects/acme%2Fwidgets", `[{"id":1,"url":"https://other.example/"},{"id":5,"url":"` + at + `/","note_events":false}]`, false},
		"new, of a group":     {gitlab.Scope{Group: "acme"}, "groups/acme", `[]`, true},
		"repaired, a group's": {gitlab.Scope{Group: "acme"}, "groups/acme", `[{"id":5,"url":"` + at + `"}]`, false},
	}
	for name, c := range cases {
		answer := `{"id":5,"url":"` + at + `","note_events":true,"alert_status":"executable","disabled_until":null}`
		f := newFake(t, map[string]string{
			"GET " + c.place + "/hooks": c.there, "POST " + c.place + "/hooks": "201 " + answer, "PUT " + c.place + "/hooks/5": answer,
			"POST projects/81/hooks": "201 " + answer, "PUT projects/81/hooks/5": answer,
		})
		h, created, err := f.forge(t).PutHook(t.Context(), c.scope, spec)
		if err != nil || created != c.created || h.ID != 5 || !h.Enabled() || !h.Notes {
			t.Errorf("%s: %+v, created %v, %v", name, h, created, err)
		}
		wrote := 0
		for _, s := range f.seen {
			if strings.HasSuffix(s, body) {
				wrote++
			}
		}
		if wrote != 1 {
			t.Errorf("%s: asked %q", name, f.seen)
		}
	}
	for what, bad := range map[string]gitlab.HookSpec{
		"no URL": {Token: "x"}, "no token": {URL: at}, "a token of two lines": {URL: at, Token: "a\nb"}, "a password": {URL: "https://u:p@bot.example", Token: "x"},
	} {
		if _, _, err := newFake(t, nil).forge(t).PutHook(t.Context(), inProject(), bad); !errors.Is(err, vcs.ErrInvalid) || strings.Contains(err.Error(), "a\nb") {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

func TestHooksNeedARole(t *testing.T) {
	for _, c := range []struct {
		scope gitlab.Scope
		route string
		role  string
	}{{inProject(), projectPath + "/hooks", "Maintainer"}, {gitlab.Scope{Group: "acme"}, "GET groups/acme/hooks", "Owner"}} {
		f := newFake(t, map[string]string{c.route: `403 {"message":"403 Forbidden"}`})
		if _, err := f.forge(t).Hooks(t.Context(), c.scope); !errors.Is(err, vcs.ErrForbidden) || !strings.Contains(err.Error(), c.role) {
			t.Errorf("%s: %v, want the role %s", c.scope, err, c.role)
		}
	}
}

func TestDeliveries(t *testing.T) {
	f := newFake(t, map[string]string{
		projectPath + "/hooks/5": `{"id":5,"url":"https://bot.example/"}`,
		projectPath + "/hooks/5/events": `[
			{"id":2,"trigger":"note_hooks","request_headers":{"X-Gitlab-Event-UUID":"u-1","X-Gitlab-Token":"[REDACTED]"},"request_data":{"secret":1},
			 "response_headers":{"Date":"Sun, 26 May 2024 03:03:17 GMT"},"response_status":"202","execution_duration":0.25},
			{"id":1,"trigger":"pipeline_hooks","response_status":"internal error","request_headers":null,"response_headers":{}},
			{"id":0,"response_status":500}]`,
	})
	got, err := f.forge(t).Deliveries(t.Context(), inProject(), 5)
	want := []gitlab.Delivery{
		{ID: 2, Trigger: "note_hooks", EventID: "u-1", Status: 202, At: time.Date(2024, 5, 26, 3, 3, 17, 0, time.UTC), Duration: 250 * time.Millisecond},
		{ID: 1, Trigger: "pipeline_hooks", Failure: "internal error"}, {Status: 500},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("deliveries %+v, %v; want %+v", got, err, want)
	}
	f.on(projectPath+"/hooks/5/events", "404 {}")
	if _, err := f.forge(t).Deliveries(t.Context(), inProject(), 5); !errors.Is(err, vcs.ErrUnsupported) {
		t.Errorf("on an old GitLab: %v, want ErrUnsupported", err)
	}
	if _, err := f.forge(t).Deliveries(t.Context(), inProject(), 6); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("of no hook: %v, want ErrNotFound", err)
	}
}

func TestEnableHook(t *testing.T) {
	cases := map[string]struct {
		test, after string
		want        error
	}{
		"woken":             {`201 {"message":"201 Created"}`, "executable", nil},
		"receiver fails":    {`422 {"message":"Internal Server Error"}`, "disabled", vcs.ErrUnavailable},
		"still disabled":    {`201 {}`, "temporarily_disabled", vcs.ErrUnavailable},
		"an empty project":  {`422 {"message":"Ensure the project has at least one commit."}`, "disabled", vcs.ErrInvalid},
		"an old GitLab":     {`404 {}`, "disabled", vcs.ErrUnsupported},
		"no right":          {`403 {}`, "disabled", vcs.ErrForbidden},
		"asked too often":   {`429 {}`, "disabled", vcs.ErrUnavailable},
		"forge in trouble":  {`502 {}`, "disabled", vcs.ErrUnavailable},
		"no state is known": {`201 {}`, "", nil},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{
			projectPath + "/hooks/5":                    `{"id":5,"alert_status":"` + c.after + `"}`,
			"POST projects/81/hooks/5/test/push_events": c.test,
		})
		if h, err := f.forge(t).EnableHook(t.Context(), inProject(), 5); !errors.Is(err, c.want) || err == nil && h.ID != 5 {
			t.Errorf("%s: %+v, %v; want %v", name, h, err, c.want)
		}
	}
}

func TestProtectedBranch(t *testing.T) {
	developer := `{"id":9,"state":"active","access_level":30}`
	rules := func(all ...string) string { return "[" + strings.Join(all, ",") + "]" }
	rule := func(name, levels string) string {
		return `{"name":"` + name + `","push_access_levels":[` + levels + `]}`
	}
	cases := map[string]struct {
		branch, rules      string
		member             string
		protected, canPush bool
	}{
		"there, free":          {`{"protected":false,"can_push":true}`, "500 {}", developer, false, true},
		"there, protected":     {`{"protected":true,"can_push":false}`, "500 {}", developer, true, false},
		"new, no rules":        {"404 {}", "[]", developer, false, true},
		"new, a reader":        {"404 {}", "[]", `{"id":9,"state":"active","access_level":20}`, false, false},
		"new, other rules":     {"404 {}", rules(rule("main", `{"access_level":40}`), rule("release/*", `{"access_level":40}`)), developer, false, true},
		"new, for maintainers": {"404 {}", rules(rule("greenwright/*", `{"access_level":40}`)), developer, true, false},
		"new, for developers":  {"404 {}", rules(rule("green*/1-*", `{"access_level":30}`)), developer, true, true},
		"new, for nobody":      {"404 {}", rules(rule("*", `{"access_level":0}`)), developer, true, false},
		"new, for us":          {"404 {}", rules(rule("*", `{"access_level":40},{"access_level":40,"user_id":9}`)), developer, true, true},
		"new, for another":     {"404 {}", rules(rule("*", `{"access_level":30,"user_id":8}`)), developer, true, false},
		"new, for a group":     {"404 {}", rules(rule("*", `{"access_level":30,"group_id":8},null`)), developer, true, false},
		"new, two rules":       {"404 {}", rules(rule("*", `{"access_level":40}`), rule("*-fix", `{"access_level":30}`)), developer, true, true},
		"new, rules hidden":    {"404 {}", "403 {}", developer, false, true},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{
			projectPath + "/repository/branches/greenwright%2F1-fix": c.branch, projectPath + "/protected_branches": c.rules, projectPath + "/members/all/9": c.member,
		})
		protected, canPush, err := f.forge(t).ProtectedBranch(t.Context(), widgets(), "greenwright/1-fix")
		if err != nil || protected != c.protected || canPush != c.canPush {
			t.Errorf("%s: protected %v, may push %v, %v; want %v, %v", name, protected, canPush, err, c.protected, c.canPush)
		}
	}
	if _, _, err := newFake(t, nil).forge(t).ProtectedBranch(t.Context(), widgets(), "-x"); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("a branch that is an option: %v", err)
	}
	f := newFake(t, map[string]string{projectPath + "/members/all/9": developer, projectPath + "/protected_branches": "500 {}"})
	if _, canPush, err := f.forge(t).ProtectedBranch(t.Context(), widgets(), "x"); !errors.Is(err, vcs.ErrUnavailable) || canPush {
		t.Errorf("rules not known: %v, %v", canPush, err)
	}
}

func TestPushRules(t *testing.T) {
	full := gitlab.PushRules{BranchName: "^(feature|fix)/", CommitMessage: "#[0-9]+", AuthorEmail: "@acme.example$", MaxFileSize: 5, MemberCheck: true, RejectUnsigned: true}
	for answer, want := range map[string]gitlab.PushRules{
		`{"id":1,"branch_name_regex":"^(feature|fix)/","commit_message_regex":"#[0-9]+","author_email_regex":"@acme.example$","max_file_size":5,"member_check":true,"reject_unsigned_commits":true}`: full,
		`null`: {}, `404 {}`: {}, `403 {}`: {},
	} {
		f := newFake(t, map[string]string{projectPath + "/push_rule": answer})
		if got, err := f.forge(t).PushRules(t.Context(), widgets()); err != nil || got != want {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	f := newFake(t, map[string]string{projectPath + "/push_rule": "500 {}"})
	if _, err := f.forge(t).PushRules(t.Context(), widgets()); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("rules not known: %v, want ErrUnavailable", err)
	}
}
