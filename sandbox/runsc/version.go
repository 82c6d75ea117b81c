package runsc

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// Pinned is the version that this driver was made with; `make setup` builds it.
const Pinned = "v0.0.0-20260905035102-160fafc42237"

// oldest is the first day whose versions are taken. Debian's package is of
// 2022 and lacks what this driver rests on; whether a newer one has it all is
// seen by Probe.
const oldest = 20240101

const howToGet = "`make setup` builds the pinned one, as does `CGO_ENABLED=0 GOBIN=$HOME/.local/share/greenwright/bin go install gvisor.dev/gvisor/runsc@" + Pinned + "`"

// places are where a current program is looked for besides PATH: beside the
// running program, where `make setup` puts it, and in greenwright's own
// directories.
func places() []string {
	var out []string
	if self, err := os.Executable(); err == nil {
		out = append(out, filepath.Join(filepath.Dir(self), "runsc"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, ".local/share/greenwright/bin/runsc"))
	}
	return append(out, "/usr/local/lib/greenwright/runsc")
}

// find gives the first program that is there and new enough. A program that
// was named is the only one looked at.
func find(named string) (string, error) {
	names := append([]string{"runsc"}, places()...)
	if named != "" {
		names = []string{named}
	}
	var refused error
	for _, name := range names {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if program, err = filepath.Abs(program); err == nil {
			err = current(program)
		}
		if err == nil {
			return program, nil
		}
		refused = errors.Join(refused, err)
	}
	if refused != nil {
		return "", fmt.Errorf("%w: %w: %s", sandbox.ErrUnavailable, refused, howToGet)
	}
	return "", fmt.Errorf("%w: gVisor (runsc) is not installed: %s", sandbox.ErrUnavailable, howToGet)
}

// current refuses a program that is too old, or that does not say.
func current(program string) error {
	day, err := builtOn(program)
	if err != nil {
		return err
	}
	if day < oldest {
		return fmt.Errorf("%s is of %d, which is too old", program, day)
	}
	return nil
}

var (
	// pseudoVersion is a Go module version without a tag: time and commit.
	pseudoVersion = regexp.MustCompile(`-(\d{8})\d{6}-[0-9a-f]{12}$`)
	// releaseName is what releases ("release-20260817.0") and Debian's package
	// ("0.0~20221219.0") print.
	releaseName = regexp.MustCompile(`runsc version \S*?(20\d{6})(?:\D|$)`)
)

// versionLimit bounds a question that needs milliseconds.
const versionLimit = 10 * time.Second

// builtOn is the day of the program's source as a number, e.g. 20260905.
func builtOn(program string) (int, error) {
	if info, err := buildinfo.ReadFile(program); err == nil && info.Main.Path == "gvisor.dev/gvisor" {
		if m := pseudoVersion.FindStringSubmatch(info.Main.Version); m != nil {
			return strconv.Atoi(m[1])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionLimit) //nolint:forbidigo // a short question of New
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("asking %s for its version: %w", program, err)
	}
	m := releaseName.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s does not say of which day it is", program)
	}
	return strconv.Atoi(string(m[1]))
}
