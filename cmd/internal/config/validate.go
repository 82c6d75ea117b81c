package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/greenwright/greenwright/vcs"
)

// faults collects what is wrong.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// Validate names every fault.
func (c Config) Validate() error {
	var f faults
	c.validateNames(&f)
	c.validateForges(&f)
	c.Models.validate(&f)
	c.validateBudget(&f)
	c.Sandbox.validate(&f)
	c.validateNumbers(&f)
	c.validateKeeping(&f)
	c.Budgets.validate(&f)
	return errors.Join(append(f, c.Policy.Validate())...)
}

func (c Config) validateNames(f *faults) {
	if !strings.HasPrefix(c.CommandPrefix, "/") || strings.ContainsAny(c.CommandPrefix, " \t\n") || len(c.CommandPrefix) < 2 {
		f.add("command_prefix: %q: want a slash and a word, e.g. /agent", c.CommandPrefix)
	}
	if c.BranchPrefix == "" || vcs.ValidateBranch(c.BranchPrefix+"x") != nil {
		f.add("branch_prefix: %q cannot begin a branch name", c.BranchPrefix)
	}
	switch {
	case c.DataDir == "":
		f.add("data_dir: there is no home directory to put it in: set GREENWRIGHT_DATA_DIR")
	case !filepath.IsAbs(c.DataDir):
		f.add("data_dir: %q: want an absolute path", c.DataDir)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		f.add("log.format: %q: want text or json", c.Log.Format)
	}
}

// What limits of a sandbox can be.
const (
	leastMemory    = 32 << 20
	leastProcesses = 32
	mostCPUs       = 4096
)

func (c Sandbox) validate(f *faults) {
	switch c.Driver {
	case "auto", "runsc", "bwrap":
	case "none":
		if !c.Unsafe {
			f.add("sandbox.driver: none lets commands of repositories and models loose on this machine: confirm with --i-know-this-is-unsafe, or set auto")
		}
	default:
		f.add("sandbox.driver: %q: want auto, runsc, bwrap or none", c.Driver)
	}
	for name, file := range map[string]string{"sandbox.bwrap.binary": c.Bwrap.Binary, "sandbox.runsc.binary": c.Runsc.Binary} {
		if st, err := os.Stat(file); file != "" && (err != nil || st.Mode()&0o111 == 0 || st.IsDir()) {
			f.add("%s: %s is no program: name one that is there, or leave it out", name, file)
		}
	}
	if err := c.Egress.Validate(); err != nil {
		f.add("sandbox.egress: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	c.validateLimits(f)
	for _, pattern := range c.Images {
		if !doublestar.ValidatePattern(pattern) {
			f.add("sandbox.images: %q is no glob", pattern)
		}
	}
	for _, kv := range c.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			f.add("sandbox.env: %q: want NAME=value", kv)
		}
	}
	for _, dir := range c.Path {
		if !filepath.IsAbs(dir) {
			f.add("sandbox.path: %q: want an absolute path", dir)
		}
	}
	for _, m := range c.Mounts {
		if _, err := os.Stat(m.Source); err != nil || !filepath.IsAbs(m.Source) || !filepath.IsAbs(m.Target) {
			f.add("sandbox.mounts: %q at %q: want a directory or file that is there, by its absolute path, and an absolute target", m.Source, m.Target)
		}
	}
}

func (c Sandbox) validateLimits(f *faults) {
	if n := c.Limits.Processes; n > 0 && n < leastProcesses {
		f.add("sandbox.limits.processes: %d: want at least %d: the sandbox itself takes some", n, leastProcesses)
	}
	if n := c.Limits.MemoryBytes; n > 0 && n < leastMemory {
		f.add("sandbox.limits.memory_bytes: %d: want at least %d, which the sandbox itself may need", n, leastMemory)
	}
	if n := c.Limits.CPUs; math.IsNaN(n) || n > mostCPUs {
		f.add("sandbox.limits.cpus: %v: want between 0 and %d", n, mostCPUs)
	}
}

func (c Config) validateNumbers(f *faults) {
	if c.Jobs.Concurrency < 1 {
		f.add("jobs.concurrency: %d: want at least 1", c.Jobs.Concurrency)
	}
	for name, n := range map[string]int{"jobs.per_repository": c.Jobs.PerRepository, "jobs.per_owner": c.Jobs.PerOwner, "jobs.live": c.Jobs.Live} {
		if n < 0 {
			f.add("%s: %d: want 0, which is no ceiling, or more", name, n)
		}
	}
	for name, v := range map[string]int64{
		"limits.steps": int64(c.Limits.Steps), "limits.tool_calls": int64(c.Limits.ToolCalls), "limits.wall_clock": int64(c.Limits.WallClock),
		"limits.context_tokens": int64(c.Limits.ContextTokens), "limits.input_tokens": c.Limits.InputTokens, "limits.output_tokens": c.Limits.OutputTokens,
		"limits.usd": int64(c.Limits.USD * microUSD), "jobs.drain": int64(c.Jobs.Drain),
		"sandbox.limits.wall_clock": int64(c.Sandbox.Limits.WallClock), "sandbox.limits.idle": int64(c.Sandbox.Limits.Idle),
		"sandbox.limits.output_bytes": c.Sandbox.Limits.OutputBytes, "sandbox.limits.file_bytes": c.Sandbox.Limits.FileBytes,
		"sandbox.limits.open_files": int64(c.Sandbox.Limits.OpenFiles), "sandbox.limits.processes": int64(c.Sandbox.Limits.Processes),
		"sandbox.limits.memory_bytes": c.Sandbox.Limits.MemoryBytes, "sandbox.limits.cpus": int64(math.Floor(c.Sandbox.Limits.CPUs)),
		"sandbox.limits.workspace_bytes": c.Sandbox.Limits.WorkspaceBytes, "sandbox.limits.workspace_files": c.Sandbox.Limits.WorkspaceFiles,
		"sandbox.limits.temp_bytes": c.Sandbox.Limits.TempBytes, "sandbox.limits.temp_files": c.Sandbox.Limits.TempFiles,
	} {
		if v < 0 {
			f.add("%s: must not be negative", name)
		}
	}
}

// public reports whether a forge can be reached from outside this machine and
// its private networks: then strangers write what commands would do.
func public(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if baseURL == "" || err != nil {
		return true
	}
	if u.Hostname() == "localhost" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err != nil || !addr.IsLoopback() && !addr.IsPrivate()
}

// ValidateServe names what `serve` needs besides.
func (c Config) ValidateServe() error {
	if c.Forges.GitHub == nil && c.Forges.GitLab == nil {
		return errors.New("forges: none is configured: set forges.github or forges.gitlab in greenwright.yml, or in the environment GREENWRIGHT_GITHUB_TOKEN and GREENWRIGHT_GITHUB_WEBHOOK_SECRET, or GREENWRIGHT_GITLAB_TOKEN and GREENWRIGHT_GITLAB_WEBHOOK_SECRET")
	}
	var f faults
	if g := c.Forges.GitHub; g != nil {
		g.validateServe(&f)
		c.Sandbox.validateOpen(&f, g.BaseURL)
	}
	if g := c.Forges.GitLab; g != nil {
		g.validateServe(&f)
		c.Sandbox.validateOpen(&f, g.BaseURL)
	}
	if c.Models.Default == mechanic && c.Models.Roles != (Roles{}) {
		f.add("models.roles: set, but models.default is %s, beside which no other model works: set models.default to a language model", mechanic)
	}
	return errors.Join(f...)
}

func (g GitHub) validateServe(f *faults) {
	if len(g.Secrets) == 0 {
		f.add("forges.github: no webhook secret: set GREENWRIGHT_GITHUB_WEBHOOK_SECRET or webhook_secret_files; deliveries cannot be trusted without one")
	}
	if g.Token == "" && g.PrivateKey == "" {
		f.add("forges.github: no credential: set app_id and private_key_file for an App, or GREENWRIGHT_GITHUB_TOKEN")
	}
}

func (g GitLab) validateServe(f *faults) {
	if len(g.Webhooks) == 0 {
		f.add("forges.gitlab: no webhook secret: set GREENWRIGHT_GITLAB_WEBHOOK_SECRET or webhooks; deliveries cannot be trusted without one")
	}
	if g.Token == "" {
		f.add("forges.gitlab: no credential: set GREENWRIGHT_GITLAB_TOKEN or token_file to the token of a service account, group or project")
	}
}

// validateOpen refuses to run without a sandbox what strangers may cause.
func (c Sandbox) validateOpen(f *faults, baseURL string) {
	if c.Driver == "none" && public(baseURL) {
		f.add("sandbox.driver: none is refused with a forge that can be reached from outside: whoever may comment there would run commands on this machine; set sandbox.driver to auto")
	}
}

func (c Config) validateForges(f *faults) {
	if c.PublicURL != "" && !isHTTP(c.PublicURL) {
		f.add("public_url: %q: want https://host or http://host, where forges reach this server", c.PublicURL)
	}
	g := c.Forges.GitLab
	if g == nil {
		return
	}
	if g.Proxy != "" && !isHTTP(g.Proxy.Reveal()) {
		f.add("forges.gitlab.proxy: want http://host:port or https://host:port")
	}
	for i, h := range g.Webhooks {
		if h.SecretFile == "" && h.SigningKeyFile == "" && h.Secret == "" && h.SigningKey == "" {
			f.add("forges.gitlab.webhooks[%d]: want secret_file or signing_key_file", i)
		}
		for _, p := range h.Projects {
			if p == "" || !doublestar.ValidatePattern(p) {
				f.add("forges.gitlab.webhooks[%d].projects: %q is no glob: want paths such as acme/widgets or acme/**", i, p)
			}
		}
	}
}

func isHTTP(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
