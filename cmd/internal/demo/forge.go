package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// hub is a simulated forge as the demonstration uses it.
type hub interface {
	AddHook(url string)
	Bot() vcs.Actor
	Close() error
	CreateUser(login string) vcs.Actor
	Deliveries() []vcstest.Delivery
	Faults() []string
	Flush(ctx context.Context) error
	Requests() []vcstest.Request
	WebURL() string
}

// repository is one of a hub's.
type repository interface {
	Branches() (map[string]string, error)
	CloneURL() string
	Comment(number int, login, body string) (vcs.Comment, error)
	Comments(number int) []vcs.Comment
	Dir() string
	FinishCheck(res vcstest.CheckResult) (vcs.Check, error)
	OpenIssue(login, title, body string) (vcs.Issue, error)
	OpenPull(login, head, base, title, body string) (vcs.PullRequest, error)
	Pulls() []vcs.PullRequest
	PushCommit(branch string, files map[string]string, message string) (string, error)
	Reactions(number int) []vcstest.Reacted
	Ref() vcs.RepoRef
	SetPermission(login string, p vcs.Permission) error
}

// forge is a hub with what differs between forges.
type forge struct {
	hub
	name vcs.ForgeName
	// words are what its people call things.
	words vcs.Words
	// guide is the document that says how to set it up.
	guide string
	// config is its part of the server's configuration.
	config string
	create func(owner, name string, files map[string]string) (repository, error)
	// ciPath is where its CI is described, by what ciFile writes.
	ciPath string
	ciFile func(job, run string) string
	// result is a run of the formatting check as its CI reports it.
	result func(r ran, login string) vcstest.CheckResult
}

// Forges are those that a demonstration can be played on.
func Forges() []vcs.ForgeName { return []vcs.ForgeName{vcs.GitHub, vcs.GitLab} }

// openForge starts one in dir.
func openForge(name vcs.ForgeName, dir, secret string) (*forge, error) {
	if name == vcs.GitHub || name == "" {
		return openGitHub(dir, secret)
	}
	if name == vcs.GitLab {
		return openGitLab(dir, secret)
	}
	return nil, fmt.Errorf("%w: forge %q: the demonstration knows %v", vcs.ErrInvalid, name, Forges())
}

// The files with the server's secrets.
const (
	keyFile    = "app.pem"
	tokenFile  = "gitlab.token"
	secretFile = "webhook.secret"
)

func writeSecrets(dir string, secrets map[string]string) error {
	for name, content := range secrets {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("writing the server's secrets: %w", err)
		}
	}
	return nil
}

func openGitHub(dir, secret string) (*forge, error) {
	srv, err := vcstest.NewGitHub(vcstest.Config{Dir: filepath.Join(dir, "github"), WebhookSecret: secret})
	if err != nil {
		return nil, fmt.Errorf("starting the simulated GitHub: %w", err)
	}
	f := &forge{
		hub: srv, name: vcs.GitHub, words: vcs.GitHub.Words(), guide: "README.md", ciPath: ".github/workflows/ci.yml", ciFile: workflow, result: workflowResult,
		config: fmt.Sprintf(`  github:
    base_url: %q
    app_id: %d
    private_key_file: %q
    webhook_secret_files: [%q]`, srv.URL(), srv.AppID(), filepath.Join(dir, keyFile), filepath.Join(dir, secretFile)),
		create: func(owner, name string, files map[string]string) (repository, error) {
			return srv.CreateRepo(owner, name, files)
		},
	}
	return f, writeSecrets(dir, map[string]string{keyFile: srv.AppKeyPEM().Reveal(), secretFile: secret})
}

// workflow is a GitHub CI with a check of the formatting, and one more.
func workflow(job, run string) string {
	return fmt.Sprintf(`name: ci
on: [push, pull_request]
jobs:
  format:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-go@v6
      - name: format
        run: %s
  %s:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-go@v6
      - name: %s
        run: %s
`, formatRun, job, job, run)
}

func workflowResult(r ran, login string) vcstest.CheckResult {
	ending := ""
	if r.exitCode != 0 {
		ending = fmt.Sprintf("##[error]Process completed with exit code %d.\n", r.exitCode)
	}
	return vcstest.CheckResult{
		SHA: r.commit, WorkflowPath: ".github/workflows/ci.yml", JobName: formatJob, Conclusion: r.conclusion(), Sender: login,
		Steps: []vcs.CheckStep{
			{Number: 1, Name: "Set up job", Conclusion: vcs.ConclusionSuccess},
			{Number: 2, Name: formatJob, Conclusion: r.conclusion()},
		},
		Log: "##[group]Run " + formatRun + "\n##[endgroup]\n" + r.output + ending,
	}
}

func openGitLab(dir, secret string) (*forge, error) {
	srv, err := vcstest.NewGitLab(vcstest.GitLabConfig{Dir: filepath.Join(dir, "gitlab"), WebhookToken: secret})
	if err != nil {
		return nil, fmt.Errorf("starting the simulated GitLab: %w", err)
	}
	f := &forge{
		hub: srv, name: vcs.GitLab, words: vcs.GitLab.Words(), guide: "docs/gitlab.md", ciPath: ".gitlab-ci.yml", ciFile: pipeline, result: jobResult,
		config: fmt.Sprintf(`  gitlab:
    base_url: %q
    token_file: %q
    webhooks:
      - {secret_file: %q, projects: ["%s/**"]}`, srv.URL(), filepath.Join(dir, tokenFile), filepath.Join(dir, secretFile), owner),
		create: func(owner, name string, files map[string]string) (repository, error) {
			return srv.CreateRepo(owner, name, files)
		},
	}
	return f, writeSecrets(dir, map[string]string{tokenFile: srv.Token().Reveal(), secretFile: secret})
}

// pipeline is a GitLab CI with a check of the formatting, and one more.
func pipeline(job, run string) string {
	return fmt.Sprintf(`default:
  image: golang
format:
  script:
    - go version
    - %s
%s:
  script:
    - %s
`, formatRun, job, run)
}

// jobResult is the job with the log that a runner writes.
func jobResult(r ran, login string) vcstest.CheckResult {
	const step = "\x1b[32;1m$ %s\x1b[0;m\n"
	log := "\x1b[0KRunning with gitlab-runner 17.11.0\n" + fmt.Sprintf(step, "go version") + "go version go1.26\n" + fmt.Sprintf(step, formatRun) + r.output
	if r.exitCode != 0 {
		log += fmt.Sprintf("\x1b[31;1mERROR: Job failed: exit code %d\n\x1b[0;m\n", r.exitCode)
	}
	return vcstest.CheckResult{SHA: r.commit, JobName: formatJob, Conclusion: r.conclusion(), Sender: login, Log: log}
}
