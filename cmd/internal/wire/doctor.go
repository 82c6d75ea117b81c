package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// Severity of a finding.
type Severity string

// The severities.
const (
	OK      Severity = "ok"
	Warning Severity = "warning"
	Failure Severity = "failure"
)

// Finding is one thing that was checked.
type Finding struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Detail   string   `json:"detail"`
	Remedy   string   `json:"remedy,omitempty"`
}

// doctorTimeout bounds each check.
const doctorTimeout = 30 * time.Second

// Doctor checks what `serve` needs, each with a remedy.
func Doctor(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	var out []Finding
	for _, check := range []func(context.Context, config.Config, *slog.Logger) []Finding{
		checkConfig, checkData, checkArtifacts, checkSandbox, checkRedis, checkForges, checkModels, checkTools,
	} {
		bounded, cancel := context.WithTimeout(ctx, doctorTimeout)
		out = append(out, check(bounded, cfg, log)...)
		cancel()
	}
	return out
}

func found(name string, s Severity, remedy, detail string, args ...any) []Finding {
	return []Finding{{Name: name, Severity: s, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}}
}

func checkConfig(_ context.Context, cfg config.Config, _ *slog.Logger) []Finding {
	if err := cfg.ValidateServe(); err != nil {
		return found("configuration", Failure, "see docs/configuration.md", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return found("configuration", OK, "", "complete")
}

func checkData(_ context.Context, cfg config.Config, _ *slog.Logger) []Finding {
	if _, err := makeDirs(cfg.DataDir); err != nil {
		return found("data directory", Failure, "set data_dir to a directory that this account can write", "%s", err)
	}
	if !passable(cfg.DataDir) {
		return found("data directory", Failure, "put data_dir where every account may pass, such as /var/lib/greenwright", "%s cannot be reached by the accounts that commands run under", cfg.DataDir)
	}
	return found("data directory", OK, "", "%s", cfg.DataDir)
}

// oldestRedis is what asynq asks for.
const oldestRedis = "4.0"

func checkRedis(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	if cfg.Redis.URL == "" {
		path, err := exec.LookPath("redis-server")
		if err != nil {
			return found("redis", Warning, "apt-get install redis-server, or set GREENWRIGHT_REDIS_URL", "no redis-server is installed: `serve` keeps jobs in its own memory, and they end with it")
		}
		return found("redis", OK, "", "`serve` starts a private %s with an append-only file", path)
	}
	store.LogTo(log)
	st, err := store.Open(cfg.Redis.URL, time.Now)
	if err != nil {
		return found("redis", Failure, "mend the URL", "%s", err)
	}
	defer func() { _ = st.Close() }()
	info, err := st.Info(ctx)
	if err != nil {
		return found("redis", Failure, "check the URL, the server and the network between", "%s", err)
	}
	out := found("redis", OK, "", "version %s (%s or newer is needed)", info.Version, oldestRedis)
	if !info.AppendOnly {
		out = append(out, found("redis persistence", Warning, "set appendonly yes", "no append-only file: accepted deliveries can be lost when the server ends")...)
	}
	if info.Policy != "" && info.Policy != "noeviction" {
		out = append(out, found("redis eviction", Failure, "set maxmemory-policy noeviction", "policy is %s: queued work can be thrown away", info.Policy)...)
	}
	if off := info.ClockOffset; off > time.Minute || off < -time.Minute {
		out = append(out, found("clock", Warning, "run a time service on both machines", "the clock of redis is off by %s", off.Round(time.Second))...)
	}
	return out
}

func checkForges(ctx context.Context, cfg config.Config, _ *slog.Logger) []Finding {
	var out []Finding
	if g := cfg.Forges.GitHub; g != nil && (g.Token != "" || g.PrivateKey != "") { // else named by checkConfig
		forge, err := gitHub(*g)
		out = append(out, checkForge(ctx, vcs.GitHub, forge, err)...)
	}
	if g := cfg.Forges.GitLab; g != nil && g.Token != "" {
		forge, err := gitLab(*g)
		out = append(out, checkForge(ctx, vcs.GitLab, forge, err)...)
	}
	return out
}

// checkForge asks a forge who we are.
func checkForge(ctx context.Context, name vcs.ForgeName, forge vcs.Forge, err error) []Finding {
	if err != nil {
		return found(string(name), Failure, "mend forges."+string(name), "%s", err)
	}
	self, err := forge.Self(ctx)
	switch {
	case errors.Is(err, vcs.ErrForbidden):
		return found(string(name), Failure, "make a new token or key, and check an App's id", "the credential is refused: %s", err)
	case err != nil:
		return found(string(name), Failure, "check base_url and the network", "%s", err)
	}
	return found(string(name), OK, "", "acts as %s (id %d)", self.Login, self.ID)
}

// tools are the programs that repositories need most; they must be where the
// sandbox sees them, below /usr.
var tools = []string{"go", "node", "python3", "make", "git"}

func checkTools(_ context.Context, _ config.Config, _ *slog.Logger) []Finding {
	var have []string
	for _, dir := range []string{"/usr/local/go/bin", "/usr/local/bin", "/usr/bin"} {
		for _, t := range tools {
			if _, err := os.Stat(dir + "/" + t); err == nil {
				have = append(have, dir+"/"+t)
			}
		}
	}
	return found("tools in the sandbox", OK, "", "%s", strings.Join(have, ", "))
}
