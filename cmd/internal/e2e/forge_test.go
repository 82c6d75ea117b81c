package e2e_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// hub is a simulated forge as these tests use it.
type hub interface {
	AddHook(url string)
	Bot() vcs.Actor
	Close() error
	CreateUser(login string) vcs.Actor
	Deliveries() []vcstest.Delivery
	Faults() []string
	Flush(ctx context.Context) error
	Redeliver(d vcstest.Delivery, n int)
	Requests() []vcstest.Request
}

// repository is one of a hub's.
type repository interface {
	Branches() (map[string]string, error)
	Comment(number int, login, body string) (vcs.Comment, error)
	Comments(number int) []vcs.Comment
	EditIssue(number int, login, body string) error
	File(rev, path string) (string, error)
	FinishCheck(res vcstest.CheckResult) (vcs.Check, error)
	Info() vcs.Repo
	Log(rev string) ([]string, error)
	OpenIssue(login, title, body string) (vcs.Issue, error)
	OpenPull(login, head, base, title, body string) (vcs.PullRequest, error)
	Pulls() []vcs.PullRequest
	PushCommit(branch string, files map[string]string, message string) (string, error)
	Reactions(number int) []vcstest.Reacted
	Ref() vcs.RepoRef
	RequestedReviewers(number int) []string
	Reviews(number int) []vcs.Review
	SetPermission(login string, p vcs.Permission) error
	SubmitReview(login string, number int, state vcs.ReviewState, body string, remarks ...vcstest.Remark) (vcs.Review, error)
}

// simulated is a forge with what differs between the two.
type simulated struct {
	on  vcs.ForgeName
	hub hub
	// configure puts it into the program's configuration; env is the same for a
	// process.
	configure func(*config.Forges)
	env       []string
	create    func(owner, name string, files map[string]string) (repository, error)
	fork      func(of repository, owner string) (repository, error)
}

// simulate starts one.
func simulate(on vcs.ForgeName, dir string) (simulated, error) {
	if on == vcs.GitLab {
		return simulateGitLab(dir)
	}
	return simulateGitHub(dir)
}

func simulateGitLab(dir string) (simulated, error) {
	srv, err := vcstest.NewGitLab(vcstest.GitLabConfig{Dir: dir, SubPath: "/git", WebhookToken: secret})
	if err != nil {
		return simulated{}, err
	}
	return simulated{
		on: vcs.GitLab, hub: srv,
		configure: func(c *config.Forges) {
			c.GitLab = &config.GitLab{BaseURL: srv.URL(), Token: srv.Token(), Webhooks: []config.GitLabWebhook{{Secret: secret, Projects: []string{"acme/**", "other/**"}}}}
		},
		env: []string{"GREENWRIGHT_GITLAB_URL=" + srv.URL(), "GREENWRIGHT_GITLAB_TOKEN=" + srv.Token().Reveal(), "GREENWRIGHT_GITLAB_WEBHOOK_SECRET=" + secret},
		create: func(owner, name string, files map[string]string) (repository, error) {
			return srv.CreateRepo(owner, name, files)
		},
		fork: func(of repository, owner string) (repository, error) { return of.(*vcstest.Project).Fork(owner) },
	}, nil
}

func simulateGitHub(dir string) (simulated, error) {
	srv, err := vcstest.NewGitHub(vcstest.Config{Dir: dir, WebhookSecret: secret})
	if err != nil {
		return simulated{}, err
	}
	return simulated{
		on: vcs.GitHub, hub: srv,
		configure: func(c *config.Forges) {
			c.GitHub = &config.GitHub{BaseURL: srv.URL(), AppID: srv.AppID(), PrivateKey: srv.AppKeyPEM(), Secrets: []vcs.Secret{secret}}
		},
		env: []string{
			"GREENWRIGHT_GITHUB_URL=" + srv.URL(), "GREENWRIGHT_GITHUB_APP_ID=" + strconv.FormatInt(srv.AppID(), 10),
			"GREENWRIGHT_GITHUB_PRIVATE_KEY=" + srv.AppKeyPEM().Reveal(), "GREENWRIGHT_GITHUB_WEBHOOK_SECRET=" + secret,
		},
		create: func(owner, name string, files map[string]string) (repository, error) {
			return srv.CreateRepo(owner, name, files)
		},
		fork: func(of repository, owner string) (repository, error) { return of.(*vcstest.Repo).Fork(owner) },
	}, nil
}

// starter is start or its like on another forge.
type starter func(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *world

// forges are those that every scenario of the main job is played on.
var forges = []vcs.ForgeName{vcs.GitHub, vcs.GitLab}

// onEach is a scenario of the main job: it has the same end on every forge.
func onEach(t *testing.T, scenario func(t *testing.T, start starter)) {
	t.Helper()
	for _, on := range forges {
		t.Run(string(on), func(t *testing.T) {
			scenario(t, func(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *world {
				t.Helper()
				return startOn(t, on, files, steps, opts...)
			})
		})
	}
}

// housing is inhabit or its like on another forge.
type housing func(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited

// inhabitEach is onEach for a scenario in which people answer a run.
func inhabitEach(t *testing.T, scenario func(t *testing.T, inhabit housing)) {
	t.Helper()
	t.Parallel()
	for _, on := range forges {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			scenario(t, func(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited {
				t.Helper()
				return inhabitOn(t, on, files, steps, opts...)
			})
		})
	}
}

// chaosEach is onEach for a scenario in which workers die.
func chaosEach(t *testing.T, scenario func(t *testing.T, on vcs.ForgeName)) {
	t.Helper()
	t.Parallel()
	for _, on := range forges {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			scenario(t, on)
		})
	}
}
