package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/image"
	"github.com/greenwright/greenwright/sandbox/redact"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/unsafehost"
)

// attempt is one driver that was tried.
type attempt struct {
	name   string
	driver sandbox.Driver // nil when it could not be made
	report sandbox.Report
	err    error
}

// driverNames are the drivers that a setting stands for, the best first.
func driverNames(setting string) []string {
	if setting == "auto" {
		return []string{"runsc", "bwrap"}
	}
	return []string{setting}
}

// guestProgram is the small guest; without it the program itself is the guest.
const guestProgram = "greenwright-guest"

// makeDriver makes a driver without trying it.
func makeDriver(name string, cfg config.Sandbox, state string, groups *cgroup.Controller) (sandbox.Driver, error) {
	switch name {
	case "runsc":
		c := cfg.Runsc
		c.StateDir, c.Cgroup = filepath.Join(state, "runsc"), groups
		if c.Guest == "" {
			c.Guest = besideProgram(guestProgram)
		}
		if c.Binary == "" {
			c.Binary = besideProgram("runsc")
		}
		return runsc.New(c)
	case "bwrap":
		c := cfg.Bwrap
		c.StateDir, c.Cgroup = state, groups
		if c.Guest == "" {
			c.Guest = besideProgram(guestProgram)
		}
		return bwrap.New(c)
	case unsafehost.Name:
		return unsafehost.New(state), nil
	}
	return nil, fmt.Errorf("%w: there is no sandbox driver %q", sandbox.ErrUnavailable, name)
}

// besideProgram is where `make setup` puts what it builds: beside the program
// itself. It is empty where there is none.
func besideProgram(name string) string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	file := filepath.Join(filepath.Dir(exe), name)
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// try makes a driver and starts a real sandbox of it.
func try(ctx context.Context, name string, cfg config.Sandbox, state string, groups *cgroup.Controller) attempt {
	a := attempt{name: name}
	a.driver, a.err = makeDriver(name, cfg, state, groups)
	if a.err == nil {
		a.report, a.err = a.driver.Probe(ctx)
	}
	return a
}

// tryConfigured starts a sandbox with what the operator has set.
func tryConfigured(ctx context.Context, driver sandbox.Driver, cfg config.Sandbox, state string) (err error) {
	dir, err := os.MkdirTemp(state, "configured-")
	if err != nil {
		return fmt.Errorf("trying the sandbox as configured: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spec := sandbox.Spec{
		RunID: "configured", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch"),
		Env: cfg.Env, Path: cfg.Path, Mounts: cfg.Mounts, Limits: cfg.Limits,
	}
	const pass = 0o711 // runs' accounts pass through it
	if err := errors.Join(os.Chmod(dir, pass), os.Mkdir(spec.Workspace, 0o700)); err != nil {
		return fmt.Errorf("trying the sandbox as configured: %w", err)
	}
	box, err := driver.Start(ctx, spec)
	if err != nil {
		return fmt.Errorf("%s starts, but not as configured (sandbox.mounts, env, path, limits): %w", driver.Name(), err)
	}
	defer func() { err = errors.Join(err, box.Close(context.WithoutCancel(ctx))) }()
	res, err := box.Exec(ctx, sandbox.Cmd{Script: "exit 0"})
	if err == nil && !res.OK() {
		err = fmt.Errorf("%w: sandbox as configured (sandbox.mounts, env, path, limits): a first command ended %s, %d: %s", sandbox.ErrUnavailable, res.Cause, res.ExitCode, res.Output)
	}
	return err
}

// boxDriver takes the first driver that really starts and holds. Without one
// nothing runs, and the error says of each what is wrong and what helps.
func boxDriver(ctx context.Context, cfg config.Sandbox, state string, log *slog.Logger) (sandbox.Driver, error) {
	groups, err := cgroup.Open(cgroup.Config{})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, name := range driverNames(cfg.Driver) {
		a := try(ctx, name, cfg, state, groups)
		if a.err != nil {
			log.Info("sandbox driver cannot be used", "driver", name, "error", a.err)
			errs = append(errs, fmt.Errorf("%s: %w", name, a.err))
			continue
		}
		log.Info("sandbox driver chosen", "driver", name, "cgroup", groups.Mode())
		if err := a.driver.Sweep(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("what dead sandboxes left could not be removed", "driver", name, "error", err)
		}
		return a.driver, nil
	}
	return nil, fmt.Errorf("no sandbox starts here, and no command is run without one: %w", errors.Join(errs...))
}

// boxSpec is what the configuration gives every sandbox.
func boxSpec(cfg config.Config, log *slog.Logger) (sandbox.Spec, error) {
	guard, err := redact.New(secrets(cfg, log))
	if err != nil {
		return sandbox.Spec{}, fmt.Errorf("preparing the redaction of output: %w", err)
	}
	return sandbox.Spec{
		Env: cfg.Sandbox.Env, Path: cfg.Sandbox.Path, Mounts: cfg.Sandbox.Mounts, Limits: cfg.Sandbox.Limits, Filter: guard.Writer,
	}, nil
}

// secrets are what the worker knows and no command's output may hold. What is
// too short to be told from ordinary text protects nothing either.
func secrets(cfg config.Config, log *slog.Logger) []redact.Secret {
	all := []redact.Secret{{Name: "redis password", Value: password(cfg.Redis.URL.Reveal())}}
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		all = append(all, redact.Secret{Name: "bucket key", Value: os.Getenv(name)})
	}
	for _, key := range cfg.Models.Keys() {
		all = append(all, redact.Secret{Name: "model key", Value: key.Reveal()})
	}
	if g := cfg.Forges.GitHub; g != nil {
		all = append(all, redact.Secret{Name: "forge token", Value: g.Token.Reveal()}, redact.Secret{Name: "App key", Value: g.PrivateKey.Reveal()})
		for _, s := range g.Secrets {
			all = append(all, redact.Secret{Name: "webhook secret", Value: s.Reveal()})
		}
	}
	if g := cfg.Forges.GitLab; g != nil {
		all = append(all, redact.Secret{Name: "forge token", Value: g.Token.Reveal()}, redact.Secret{Name: "proxy password", Value: password(g.Proxy.Reveal())})
		for _, h := range g.Webhooks {
			all = append(all, redact.Secret{Name: "webhook secret", Value: h.Secret.Reveal()}, redact.Secret{Name: "webhook key", Value: h.SigningKey.Reveal()})
		}
	}
	return slices.DeleteFunc(all, func(s redact.Secret) bool {
		if s.Value != "" && len(s.Value) < redact.MinSecret {
			log.Warn("secret is too short to be redacted from output", "secret", s.Name, "bytes", len(s.Value))
			return true
		}
		return s.Value == ""
	})
}

// password is what is secret of an URL.
func password(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return ""
	}
	word, _ := u.User.Password()
	return word
}

// images is the cache of unpacked images, as operators and repositories name
// them; that repositories name none on this machine is the runner's care.
type images struct{ store *image.Store }

func openImages(d dirs, cfg config.Sandbox, log *slog.Logger) (images, error) {
	store, err := image.Open(image.Config{Dir: d.images, DockerLogins: cfg.DockerLogins, PlainHTTP: cfg.PlainHTTP, Log: log})
	if err != nil {
		return images{}, fmt.Errorf("opening the cache of images: %w", err)
	}
	return images{store}, nil
}

// Pull implements runner.Images.
func (i images) Pull(ctx context.Context, ref string) (*image.Image, error) {
	if image.IsLocal(ref) {
		return i.store.Load(ctx, ref)
	}
	return i.store.Pull(ctx, ref)
}
