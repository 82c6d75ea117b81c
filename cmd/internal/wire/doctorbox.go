package wire

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/cgroup"
)

// checkSandbox tries every driver that the setting stands for, and says what
// each probe found and how limits are held.
func checkSandbox(ctx context.Context, cfg config.Config, _ *slog.Logger) []Finding {
	d, err := makeDirs(cfg.DataDir)
	if err != nil {
		return found("sandbox", Failure, "set data_dir to a directory that this account can write", "%s", err)
	}
	groups, err := cgroup.Open(cgroup.Config{})
	if err != nil {
		return found("sandbox", Failure, "", "%s", err)
	}
	out := checkKernel(groups)
	var chosen *attempt
	for _, name := range driverNames(cfg.Sandbox.Driver) {
		a := try(ctx, name, cfg.Sandbox, d.sandbox, groups)
		out = append(out, findingsOf(a)...)
		if a.err == nil && chosen == nil {
			chosen = &a
		}
	}
	if chosen == nil {
		return append(out, found("sandbox", Failure, "no job runs without a sandbox: mend one of the above; see docs/sandbox.md", "none starts and holds")...)
	}
	if chosen.name == "none" {
		return append(out, found("sandbox", Warning, "set sandbox.driver to auto", "none: commands of repositories and models run on this machine as they are")...)
	}
	if err := tryConfigured(ctx, chosen.driver, cfg.Sandbox, d.sandbox); err != nil {
		return append(out, found("sandbox", Failure, "mend sandbox.mounts, env, path or limits", "%s", err)...)
	}
	out = append(out, found("sandbox", OK, "", "commands run in %s", chosen.name)...)
	return append(out, limitsOf(chosen.report)...)
}

// findingsOf says how a driver did.
func findingsOf(a attempt) []Finding {
	name := "sandbox " + a.name
	if a.err != nil {
		return found(name, Warning, "", "cannot be used: %s", strings.ReplaceAll(a.err.Error(), "\n", "; "))
	}
	var held []string
	for _, f := range a.report.Findings {
		held = append(held, f.Name)
	}
	return found(name, OK, "", "starts, and holds: %s", strings.Join(held, ", "))
}

// limitsOf says how each limit is held here.
func limitsOf(r sandbox.Report) []Finding {
	var out []Finding
	for _, e := range r.Limits {
		severity, remedy := OK, ""
		if !e.Hard && (strings.HasPrefix(e.Limit, "memory") || strings.HasPrefix(e.Limit, "cpus")) {
			severity, remedy = Warning, "give the worker a control group of its own (systemd: Delegate=yes), and limit its service or container (MemoryMax, CPUQuota)"
		}
		out = append(out, found("limit "+e.Limit, severity, remedy, "%s", e.How)...)
	}
	return out
}

// checkKernel says what of this machine sandboxes rest on.
func checkKernel(groups *cgroup.Controller) []Finding {
	facts := []string{"kernel " + oneLine("/proc/sys/kernel/osrelease")}
	if n := oneLine("/proc/sys/user/max_user_namespaces"); n == "0" {
		facts = append(facts, "user namespaces are switched off (user.max_user_namespaces=0)")
	}
	if oneLine("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
		facts = append(facts, "user namespaces are switched off (kernel.unprivileged_userns_clone=0)")
	}
	if oneLine("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
		facts = append(facts, "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns=1)")
	}
	if v, err := llsys.LandlockGetABIVersion(); err == nil && v > 0 {
		facts = append(facts, fmt.Sprintf("Landlock %d", v))
	} else {
		facts = append(facts, "no Landlock")
	}
	group := "control groups " + string(groups.Mode())
	if why := groups.Why(); why != "" {
		group += " (" + why + ")"
	}
	return found("sandbox kernel", OK, "", "%s", strings.Join(append(facts, group, fmt.Sprintf("worker is uid %d", os.Geteuid())), ", "))
}

func oneLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
