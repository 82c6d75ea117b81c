package wire_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

// hookWorld is a simulated GitLab with one project, and a receiver.
type hookWorld struct {
	lab     *vcstest.GitLab
	project *vcstest.Project
	cfg     config.Config
	got     atomic.Int64 // events that were believed
	down    atomic.Bool  // the receiver answers 500
}

func newHookWorld(t *testing.T, level vcs.Permission) *hookWorld {
	t.Helper()
	lab, err := vcstest.NewGitLab(vcstest.GitLabConfig{Dir: t.TempDir(), SubPath: "/gitlab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Close() })
	w := &hookWorld{lab: lab, cfg: config.Default()}
	if w.project, err = lab.CreateRepo("acme/tools", "widgets", map[string]string{"README.md": "x\n"}); err != nil {
		t.Fatal(err)
	}
	if err := w.project.SetPermission(lab.Bot().Login, level); err != nil {
		t.Fatal(err)
	}
	w.cfg.PublicURL = w.receive(t)
	w.cfg.Forges.GitLab = &config.GitLab{BaseURL: lab.URL(), Token: lab.Token(), Webhooks: []config.GitLabWebhook{
		{Secret: "of others", Projects: []string{"other/**"}}, {Secret: "ours", Projects: []string{"acme/**"}},
	}}
	return w
}

// Triage and Accept implement webhook.Sink.
func (*hookWorld) Triage(vcs.Event) (bool, string) { return true, "all" }

func (w *hookWorld) Accept(context.Context, webhook.Delivery) (bool, error) {
	w.got.Add(1)
	return false, nil
}

// receive runs the receiver, as serve does.
func (w *hookWorld) receive(t *testing.T) string {
	t.Helper()
	p, err := gitlabhook.New(gitlabhook.Config{Tokens: []gitlabhook.Token{{Secret: "ours", Projects: []string{"acme/**"}}}, BaseURL: w.lab.URL()})
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(p, w, webhook.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/webhooks/gitlab", func(rw http.ResponseWriter, r *http.Request) {
		if w.down.Load() {
			http.Error(rw, "down", http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(rw, r)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// text is findings as people read them.
func text(findings []wire.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(string(f.Severity) + " " + f.Name + ": " + f.Detail + " → " + f.Remedy + "\n")
	}
	return b.String()
}

func (w *hookWorld) setup(t *testing.T, opts wire.GitLabSetup) string {
	t.Helper()
	if opts.Project == "" && opts.Group == "" {
		opts.Project = "acme/tools/widgets"
	}
	findings, err := wire.SetupGitLab(t.Context(), w.cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	return text(findings)
}

func (w *hookWorld) doctor(t *testing.T, enable bool) string {
	t.Helper()
	findings, err := wire.DoctorHooks(t.Context(), w.cfg, wire.HookCheck{Projects: []string{"acme/tools/widgets"}, Enable: enable})
	if err != nil {
		t.Fatal(err)
	}
	return text(findings)
}

// says holds that a text has all of some parts.
func says(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("does not say %q:\n%s", p, got)
		}
	}
}

// comment writes a note, and waits until its hooks were sent.
func (w *hookWorld) comment(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	issue, err := w.project.OpenIssue("somebody", "Broken", "It is.")
	if err == nil {
		_, err = w.project.Comment(issue.Number, "somebody", "/agent fix")
	}
	if err := errors.Join(err, w.lab.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
}

// TestSetupGitLab makes a hook whose deliveries are believed, and finds it in
// order afterwards.
func TestSetupGitLab(t *testing.T) {
	w := newHookWorld(t, vcs.PermissionMaintain)
	w.lab.CreateUser("somebody")
	if got := w.setup(t, wire.GitLabSetup{DryRun: true}); !strings.Contains(got, "would create a hook to "+w.cfg.PublicURL+"/webhooks/gitlab") {
		t.Errorf("the dry run says:\n%s", got)
	}
	says(t, w.doctor(t, false), "failure gitlab hooks of project acme/tools/widgets", "none of 0 leads to this server", "greenwright setup gitlab --project acme/tools/widgets")
	says(t, w.setup(t, wire.GitLabSetup{}), "ok gitlab token: service account token of greenwright", "ok gitlab role: the account is Maintainer", "was created")
	w.comment(t)
	if w.got.Load() != 2 {
		t.Errorf("%d events were believed, want the issue and the note", w.got.Load())
	}
	says(t, w.doctor(t, false), "of the last 2 deliveries 2 succeeded; the newest, note_hooks", "was answered 202")
	says(t, w.setup(t, wire.GitLabSetup{URL: w.cfg.PublicURL + "/webhooks/gitlab/"}), "is as it should be now")
	w.comment(t)
	if w.got.Load() != 4 {
		t.Errorf("%d events were believed, want each once", w.got.Load())
	}
}

func TestSetupGitLabOfAGroup(t *testing.T) {
	w := newHookWorld(t, vcs.PermissionAdmin)
	w.lab.CreateUser("somebody")
	says(t, w.setup(t, wire.GitLabSetup{Group: "acme"}), "ok gitlab role: the account is Owner in group acme", "group acme: hook", "was created")
	w.comment(t)
	if w.got.Load() != 2 {
		t.Errorf("%d events were believed", w.got.Load())
	}
	findings, err := wire.DoctorHooks(t.Context(), w.cfg, wire.HookCheck{})
	if err != nil {
		t.Fatal(err)
	}
	says(t, text(findings), "of group acme: of the last 2 deliveries 2 succeeded") // named by forges.gitlab.webhooks
}

// TestSetupGitLabSaysWhatIsMissing has one thing missing at a time.
func TestSetupGitLabSaysWhatIsMissing(t *testing.T) {
	cases := map[string]struct {
		level vcs.Permission
		spoil func(t *testing.T, w *hookWorld, opts *wire.GitLabSetup)
		want  []string
	}{
		"role for hooks": {vcs.PermissionWrite, nil, []string{"ok gitlab role: the account is Developer", "failure gitlab hook:", "--token-file with the token of a maintainer", "confidential comments"}},
		"role for hooks, lent": {vcs.PermissionWrite, func(t *testing.T, w *hookWorld, opts *wire.GitLabSetup) {
			var err error
			if opts.Token, err = w.lab.AddToken("acme-tools"); err != nil {
				t.Fatal(err)
			}
		}, []string{"ok gitlab role: the account is Developer", "was created"}},
		"role for work": {vcs.PermissionTriage, nil, []string{"failure gitlab role", "cannot push branches", "role Developer"}},
		"membership": {vcs.PermissionWrite, func(_ *testing.T, _ *hookWorld, opts *wire.GitLabSetup) { opts.Project = "acme/tools/none" },
			[]string{"failure gitlab role", "is not there, or the account does not see it"}},
		"scope": {vcs.PermissionMaintain, func(t *testing.T, w *hookWorld, _ *wire.GitLabSetup) {
			token, err := w.lab.AddScopedToken("greenwright", time.Time{}, "read_api", "write_repository")
			if err != nil {
				t.Fatal(err)
			}
			w.cfg.Forges.GitLab.Token = token
		}, []string{"failure gitlab token: the scope api is missing", "has read_api, write_repository"}},
		"time": {vcs.PermissionMaintain, func(t *testing.T, w *hookWorld, _ *wire.GitLabSetup) {
			token, err := w.lab.AddScopedToken("greenwright", time.Now().Add(50*time.Hour), "api")
			if err != nil {
				t.Fatal(err)
			}
			w.cfg.Forges.GitLab.Token = token
		}, []string{"warning gitlab token", "ends on", "make a new token before that day", "was created"}},
		"validity": {vcs.PermissionMaintain, func(_ *testing.T, w *hookWorld, _ *wire.GitLabSetup) { w.lab.RevokeTokens() },
			[]string{"failure gitlab token", "make a new token"}},
		"token":   {vcs.PermissionMaintain, func(_ *testing.T, w *hookWorld, _ *wire.GitLabSetup) { w.cfg.Forges.GitLab.Token = "" }, []string{"failure gitlab: no token is configured"}},
		"address": {vcs.PermissionMaintain, func(_ *testing.T, w *hookWorld, _ *wire.GitLabSetup) { w.cfg.PublicURL = "" }, []string{"failure receiver", "--url https://host"}},
		"address without a secret in it": {vcs.PermissionMaintain, func(_ *testing.T, _ *hookWorld, opts *wire.GitLabSetup) {
			opts.URL = "https://u:secret@bot.example.com"
		},
			[]string{"failure receiver", "without a secret in it"}},
		"secret": {vcs.PermissionMaintain, func(_ *testing.T, w *hookWorld, _ *wire.GitLabSetup) {
			w.cfg.Forges.GitLab.Webhooks = w.cfg.Forges.GitLab.Webhooks[:1]
		}, []string{"failure webhook secret: no configured secret is believed for project acme/tools/widgets"}},
		"secret for all of a group": {vcs.PermissionAdmin, func(_ *testing.T, w *hookWorld, opts *wire.GitLabSetup) {
			opts.Project, opts.Group, w.cfg.Forges.GitLab.Webhooks[1].Projects = "", "acme", []string{"acme/*"}
		}, []string{"failure webhook secret: no configured secret is believed for group acme"}},
		"signature": {vcs.PermissionMaintain, func(_ *testing.T, w *hookWorld, _ *wire.GitLabSetup) {
			w.cfg.Forges.GitLab.Webhooks[1].SigningKey = "whsec_x"
		}, []string{"warning webhook secret: a signing key is configured", "Signing token"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHookWorld(t, c.level)
			opts := wire.GitLabSetup{Project: "acme/tools/widgets"}
			if c.spoil != nil {
				c.spoil(t, w, &opts)
			}
			findings, err := wire.SetupGitLab(t.Context(), w.cfg, opts)
			if err != nil {
				t.Fatal(err)
			}
			got := text(findings)
			says(t, got, c.want...)
			for _, secret := range []string{"ours", "u:secret", w.cfg.Forges.GitLab.Token.Reveal()} {
				if secret != "" && strings.Contains(got, secret) {
					t.Errorf("shows the secret %s:\n%s", secret, got)
				}
			}
		})
	}
}

// TestHooksThatGitLabSwitchedOff are shown, and switched on when asked.
func TestHooksThatGitLabSwitchedOff(t *testing.T) {
	w := newHookWorld(t, vcs.PermissionMaintain)
	w.lab.CreateUser("somebody")
	says(t, w.setup(t, wire.GitLabSetup{}), "was created")
	w.down.Store(true)
	for range 3 {
		w.comment(t) // two deliveries each
	}
	says(t, w.doctor(t, false), "failure gitlab hook", "GitLab has switched it off (temporarily_disabled until ", "0 succeeded", "was answered 500", "greenwright doctor --enable-hooks")
	says(t, w.doctor(t, true), "it cannot be switched on", "start greenwright serve")
	w.down.Store(false)
	w.lab.DisableHooks()
	says(t, w.doctor(t, false), "GitLab has switched it off (disabled")
	says(t, w.doctor(t, true), "warning gitlab hook", "ok gitlab hook", "it was switched on again")
	says(t, w.doctor(t, false), "ok gitlab hook")
	w.lab.DisableHooks()
	says(t, w.setup(t, wire.GitLabSetup{}), "it was switched on again")
	before := w.got.Load()
	w.comment(t)
	if w.got.Load() != before+2 {
		t.Errorf("%d events were believed of two", w.got.Load()-before)
	}
}

func TestHooksThatTheAccountMayNotSee(t *testing.T) {
	w := newHookWorld(t, vcs.PermissionWrite)
	says(t, w.doctor(t, false), "warning gitlab hooks of project acme/tools/widgets: the account may not see them")
	w.cfg.Forges.GitLab.Webhooks = []config.GitLabWebhook{{Secret: "ours"}}
	findings, err := wire.DoctorHooks(t.Context(), w.cfg, wire.HookCheck{})
	if err != nil {
		t.Fatal(err)
	}
	says(t, text(findings), "warning gitlab hooks: no project or group is named")
	w.cfg.Forges.GitLab = nil
	if findings, err := wire.DoctorHooks(t.Context(), w.cfg, wire.HookCheck{}); err != nil || len(findings) > 0 {
		t.Errorf("without a GitLab: %+v, %v", findings, err)
	}
}

func TestSetupGitLabRefusesWhatIsNoPlace(t *testing.T) {
	w := newHookWorld(t, vcs.PermissionMaintain)
	for _, opts := range []wire.GitLabSetup{{}, {Project: "a/b", Group: "c"}, {Project: "widgets"}, {Project: "a/../b"}, {Group: "-x"}, {Group: "a//b"}} {
		if findings, err := wire.SetupGitLab(t.Context(), w.cfg, opts); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%+v: %+v, %v", opts, findings, err)
		}
	}
}
