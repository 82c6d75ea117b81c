package config

import (
	"os"
	"path/filepath"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/vcs"
)

// Config is everything an operator sets. The environment variables in the
// tags override the file.
type Config struct {
	// Listen is the address of the webhook receiver.
	Listen string `yaml:"listen" env:"GREENWRIGHT_LISTEN"`
	// PublicURL is where forges reach the receiver; `setup` gives it to hooks.
	PublicURL string `yaml:"public_url" env:"GREENWRIGHT_PUBLIC_URL"`
	// InternalListen is the address of metrics; empty or "off" serves none.
	InternalListen string `yaml:"internal_listen" env:"GREENWRIGHT_INTERNAL_LISTEN"`
	// DataDir holds mirrors, live runs, artifacts and the embedded Redis.
	DataDir string `yaml:"data_dir" env:"GREENWRIGHT_DATA_DIR"`
	// Artifacts is the bucket for journals and what runs leave: a directory,
	// file:// or s3://; empty is artifacts in DataDir. See ArtifactsPlace.
	Artifacts string `yaml:"artifacts" env:"GREENWRIGHT_ARTIFACTS"`
	// CommandPrefix begins a command in a comment.
	CommandPrefix string `yaml:"command_prefix" env:"GREENWRIGHT_COMMAND_PREFIX"`
	// BranchPrefix begins the names of Greenwright's branches.
	BranchPrefix string `yaml:"branch_prefix" env:"GREENWRIGHT_BRANCH_PREFIX"`

	Retention Retention `yaml:"retention"`

	Forges  Forges        `yaml:"forges"`
	Redis   Redis         `yaml:"redis"`
	Models  Models        `yaml:"models"`
	Sandbox Sandbox       `yaml:"sandbox"`
	Policy  policy.Config `yaml:"policy"`
	Limits  Limits        `yaml:"limits"`
	Budgets Budgets       `yaml:"budgets"`
	Jobs    Jobs          `yaml:"jobs"`
	Log     Log           `yaml:"log"`
}

// Forges are the code hosts.
type Forges struct {
	GitHub *GitHub `yaml:"github" envPrefix:"GREENWRIGHT_GITHUB_"`
	GitLab *GitLab `yaml:"gitlab" envPrefix:"GREENWRIGHT_GITLAB_"`
}

// GitHub is github.com or one GitHub Enterprise Server.
type GitHub struct {
	// BaseURL of an Enterprise Server; empty is github.com.
	BaseURL string `yaml:"base_url" env:"URL"`
	AppID   int64  `yaml:"app_id" env:"APP_ID"`
	// PrivateKeyFile holds the App's key (PEM).
	PrivateKeyFile string `yaml:"private_key_file" env:"PRIVATE_KEY_FILE"`
	// TokenFile holds a token, for use without an App.
	TokenFile string `yaml:"token_file" env:"TOKEN_FILE"`
	// WebhookSecretFiles hold the secrets, several while one is replaced.
	WebhookSecretFiles []string `yaml:"webhook_secret_files" env:"WEBHOOK_SECRET_FILES"`
	// Workflows lets changes of workflow files be pushed; the App needs the
	// permission workflows: write.
	Workflows bool `yaml:"workflows" env:"WORKFLOWS"`

	// From the environment only.
	PrivateKey    vcs.Secret `yaml:"-" env:"PRIVATE_KEY"`
	Token         vcs.Secret `yaml:"-" env:"TOKEN"`
	WebhookSecret vcs.Secret `yaml:"-" env:"WEBHOOK_SECRET"`

	// Secrets are all webhook secrets, once loaded.
	Secrets []vcs.Secret `yaml:"-" env:"-"`
}

// GitLab is gitlab.com or one self-managed GitLab.
type GitLab struct {
	// BaseURL of a self-managed one, with its path if it has one; empty is
	// gitlab.com.
	BaseURL string `yaml:"base_url" env:"URL"`
	// TokenFile holds the token of a person, project, group or service account.
	TokenFile string `yaml:"token_file" env:"TOKEN_FILE"`
	// CAFile holds certificates (PEM) to trust besides the system's.
	CAFile string `yaml:"ca_file" env:"CA_FILE"`
	// Proxy is the HTTP proxy on the way there; empty is the environment's. It
	// may hold a credential.
	Proxy vcs.Secret `yaml:"proxy" env:"PROXY"`
	// MergeRequests says how merge requests are opened.
	MergeRequests GitLabMergeRequests `yaml:"merge_requests"`
	// Webhooks are the hooks that are believed, several while a secret is
	// replaced.
	Webhooks []GitLabWebhook `yaml:"webhooks"`

	// From the environment only. The webhook's are believed for any project.
	Token             vcs.Secret `yaml:"-" env:"TOKEN"`
	WebhookSecret     vcs.Secret `yaml:"-" env:"WEBHOOK_SECRET"`
	WebhookSigningKey vcs.Secret `yaml:"-" env:"WEBHOOK_SIGNING_KEY"`

	// CA is what CAFile holds, once loaded.
	CA []byte `yaml:"-" env:"-"`
}

// GitLabMergeRequests are the options of merge requests that are opened.
type GitLabMergeRequests struct {
	Labels     []string `yaml:"labels"`
	Squash     bool     `yaml:"squash"`
	KeepBranch bool     `yaml:"keep_branch"`
}

// GitLabWebhook is one secret of hooks, and the projects it is believed for.
type GitLabWebhook struct {
	// SecretFile holds the hook's secret token.
	SecretFile string `yaml:"secret_file"`
	// SigningKeyFile holds the hook's signing token (whsec_…).
	SigningKeyFile string `yaml:"signing_key_file"`
	// Projects are those that it is believed for, as globs over their paths
	// ("acme/**"); empty is any.
	Projects []string `yaml:"projects"`

	// Once loaded.
	Secret     vcs.Secret `yaml:"-" env:"-"`
	SigningKey vcs.Secret `yaml:"-" env:"-"`
}

// Redis is where jobs wait; without an URL a private one is started.
type Redis struct {
	URL vcs.Secret `yaml:"-" env:"GREENWRIGHT_REDIS_URL"`
	// URLFile holds the URL (redis://, rediss://, unix://).
	URLFile string `yaml:"url_file" env:"GREENWRIGHT_REDIS_URL_FILE"`
}

// Sandbox says where commands run.
type Sandbox struct {
	// Driver is runsc, bwrap or none; auto takes the first of runsc and bwrap
	// that starts and holds on this machine.
	Driver string `yaml:"driver" env:"GREENWRIGHT_SANDBOX"`
	// Unsafe confirms the driver none; only the command line sets it.
	Unsafe bool `yaml:"-" env:"-"`
	// Image is what every repository gets instead of the host's /usr; empty is
	// the host's.
	Image string `yaml:"image" env:"GREENWRIGHT_SANDBOX_IMAGE"`
	// Images are those that repositories may choose, as globs over references
	// ("ghcr.io/acme/*").
	Images []string `yaml:"images"`
	// DockerLogins uses the worker's Docker configuration for registries.
	DockerLogins bool `yaml:"docker_logins"`
	// PlainHTTP are registries (host:port) that are reached without TLS.
	PlainHTTP []string `yaml:"plain_http"`
	// Egress is where set-up commands may connect to.
	Egress egress.Policy `yaml:"egress"`
	// Resolver answers the names of Egress; nil is the system's.
	Resolver egress.Resolver `yaml:"-" env:"-"`
	Mounts   []sandbox.Mount `yaml:"mounts"`
	Env      []string        `yaml:"env"`
	Path     []string        `yaml:"path"`
	Limits   sandbox.Limits  `yaml:"limits"`
	Bwrap    bwrap.Config    `yaml:"bwrap"`
	Runsc    runsc.Config    `yaml:"runsc"`
}

// Limits are the ceilings of one run. Zero takes the agent's default, or none
// for tokens and money.
type Limits struct {
	Steps         int           `yaml:"steps"`
	ToolCalls     int           `yaml:"tool_calls"`
	WallClock     time.Duration `yaml:"wall_clock"`
	ContextTokens int           `yaml:"context_tokens"`
	InputTokens   int64         `yaml:"input_tokens"`
	OutputTokens  int64         `yaml:"output_tokens"`
	USD           float64       `yaml:"usd"`
}

// microUSD is how money is counted.
const microUSD = 1e6

// Agent is the limits as the agent takes them.
func (l Limits) Agent() agent.Limits {
	return agent.Limits{
		Steps: l.Steps, ToolCalls: l.ToolCalls, WallClock: l.WallClock, ContextTokens: l.ContextTokens,
		InputTokens: l.InputTokens, OutputTokens: l.OutputTokens, CostMicroUSD: int64(l.USD * microUSD),
	}
}

// Jobs says how the worker works.
type Jobs struct {
	// Concurrency is how many jobs a process runs side by side.
	Concurrency int `yaml:"concurrency" env:"GREENWRIGHT_CONCURRENCY"`
	// PerRepository, PerOwner and Live are how many jobs may run at once, over
	// all processes: of a repository, of an account, organisation or group, and
	// in all. Zero is no ceiling.
	PerRepository int `yaml:"per_repository"`
	PerOwner      int `yaml:"per_owner"`
	Live          int `yaml:"live"`
	// Drain is how long a shutdown waits for runs to come to a boundary, at
	// which another worker goes on.
	Drain time.Duration `yaml:"drain"`
}

// Log says what is logged how.
type Log struct {
	Level  string `yaml:"level" env:"GREENWRIGHT_LOG_LEVEL"`   // debug, info, warn, error
	Format string `yaml:"format" env:"GREENWRIGHT_LOG_FORMAT"` // text, json
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Listen: ":8080", InternalListen: "127.0.0.1:9470", DataDir: defaultDataDir(), CommandPrefix: "/agent", BranchPrefix: "greenwright/",
		Models: Models{Default: mechanic, Probe: true, OpenAI: OpenAI{API: "auto"}}, Sandbox: Sandbox{Driver: "auto"},
		Jobs: Jobs{Concurrency: 2, Drain: 30 * time.Second}, Log: Log{Level: "info", Format: "text"},
		Retention: defaultRetention(),
	}
}

// defaultDataDir must be a place through which a run's own account may pass,
// which root's home is not.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/greenwright"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "greenwright")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // a place that anybody could make first would not do
	}
	return filepath.Join(home, ".local", "state", "greenwright")
}
