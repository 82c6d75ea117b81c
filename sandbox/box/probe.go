package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/cgroup"
)

// probeTimeout bounds the whole probe.
const probeTimeout = 30 * time.Second

// trial is one thing that must hold; its script prints what is wrong.
type trial struct{ name, script string }

// trials are what every driver must stand.
var trials = []trial{
	{"an account without rights", `[ "$(id -u)" = 1000 ] || id -u; grep -q '^CapEff:[[:space:]]*0000000000000000$' /proc/self/status || echo capabilities`},
	{"no new privileges", `grep -q '^NoNewPrivs:[[:space:]]*1$' /proc/self/status || echo not set`},
	{"a read-only system", `(: > /usr/probe) 2>/dev/null && echo /usr was written; (: > /etc/probe) 2>/dev/null && echo /etc was written`},
	{"a writable workspace and home", `(: > /workspace/probe) 2>/dev/null || echo workspace; (: > "$HOME/probe") 2>/dev/null || echo home`},
	{"no environment of the worker", `{ tr '\0' '\n' < /proc/1/environ; } 2>/dev/null`},
	{"no network but loopback", `grep : /proc/net/dev | grep -v '^ *lo:'`},
	{"no process of the host", `n=$(ls -d /proc/[0-9]* | wc -l); [ "$n" -lt 12 ] || echo "$n processes"`},
}

// Probe starts a sandbox of the driver and tries what must hold in it. Its
// error wraps sandbox.ErrUnavailable.
func Probe(ctx context.Context, d sandbox.Driver, state string, groups *cgroup.Controller) (sandbox.Report, error) {
	report := sandbox.Report{Limits: enforcements(d.Name(), groups)}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	dir, err := probeDir(state)
	if err != nil {
		return report, fmt.Errorf("%w: probing %s: %w", sandbox.ErrUnavailable, d.Name(), err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	err = probe(ctx, d, dir, &report)
	if err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return report, err
}

func probeDir(state string) (string, error) {
	const pass = 0o711 // runs' accounts pass through it
	if err := os.MkdirAll(state, pass); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(state, "probe-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, pass), os.Mkdir(filepath.Join(dir, "workspace"), 0o700))
}

func probe(ctx context.Context, d sandbox.Driver, dir string, report *sandbox.Report) error {
	b, err := d.Start(ctx, sandbox.Spec{RunID: "probe", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch")})
	if err != nil {
		return err
	}
	defer func() { _ = b.Close(context.WithoutCancel(ctx)) }()
	var faults []string
	for _, t := range trials {
		res, err := b.Exec(ctx, sandbox.Cmd{Script: t.script + "; true"})
		if err != nil {
			return err
		}
		out := strings.ReplaceAll(strings.TrimSpace(res.Output.String()), "\n", ", ")
		f := sandbox.Finding{Name: t.name, Detail: out, Held: res.OK() && out == ""}
		if !f.Held {
			faults = append(faults, fmt.Sprintf("%s: %s (%s)", t.name, out, res.Cause))
		}
		report.Findings = append(report.Findings, f)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: the %s sandbox does not hold here: %s", sandbox.ErrUnavailable, d.Name(), strings.Join(faults, "; "))
	}
	return nil
}

// enforcements says how limits are held.
func enforcements(driver string, groups *cgroup.Controller) []sandbox.Enforcement {
	memory, pids, cpu := groups.Enforces()
	group := "control group (" + string(groups.Mode()) + ")"
	out := []sandbox.Enforcement{
		{Limit: "memory_bytes", How: "added up inside every 50 ms; the greediest command is ended"},
		{Limit: "processes", How: "RLIMIT_NPROC of the sandbox's own user namespace", Hard: true},
		{Limit: "cpus", How: "not held without a control group: commands run at the lowest priority instead"},
		{Limit: "workspace_bytes, temp_bytes", How: "added up on the host while commands run"},
		{Limit: "file_bytes, open_files", How: "RLIMIT_FSIZE, RLIMIT_NOFILE", Hard: true},
		{Limit: "wall_clock, idle, output_bytes", How: "the worker ends the command, and the sandbox when that does not help", Hard: true},
	}
	if memory {
		out[0] = sandbox.Enforcement{Limit: out[0].Limit, How: group + ", besides being " + out[0].How, Hard: true}
	}
	if pids {
		out[1].How += ", and a " + group
	}
	if cpu {
		out[2] = sandbox.Enforcement{Limit: out[2].Limit, How: group, Hard: true}
	}
	if driver == "runsc" {

		out[1].How = "RLIMIT_NPROC in the sandbox's own kernel"
		if !cpu {
			out[2].How = "not held without a control group"
		}
	}
	return out
}
