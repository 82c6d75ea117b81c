package runsc_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/runsc"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConfiguration(t *testing.T) {
	limits := sandbox.Limits{FileBytes: 1000, OpenFiles: 64, Processes: 32}.WithDefaults()
	for name, spec := range map[string]sandbox.Spec{
		"host":  {Workspace: "/ws", Limits: limits, Mounts: []sandbox.Mount{{Source: "/cache/go", Target: "/opt/cache"}}},
		"image": {Workspace: "/ws", Root: "/images/a", Limits: limits},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := runsc.Configuration(spec)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConfigurationHolds checks what must be so whatever the golden files say.
func TestConfigurationHolds(t *testing.T) {
	for _, root := range []string{"", "/images/a"} {
		text, err := runsc.Configuration(sandbox.Spec{Workspace: "/ws", Root: root, Limits: sandbox.Limits{}.WithDefaults()})
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Process struct {
				Env             []string
				NoNewPrivileges bool
				User            struct{ UID int }
			}
			Root   struct{ Readonly bool }
			Mounts []struct {
				Destination, Type string
				Options           []string
			}
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if !c.Root.Readonly || !c.Process.NoNewPrivileges || c.Process.User.UID != 1000 || len(c.Process.Env) > 0 {
			t.Errorf("root %q: got %+v", root, c)
		}
		var writable []string
		for _, m := range c.Mounts {
			if m.Type == "bind" && !slices.Contains(m.Options, "ro") {
				writable = append(writable, m.Destination)
			}
		}
		slices.Sort(writable)
		if diff := cmp.Diff([]string{"/home/agent", "/tmp", "/workspace"}, writable); diff != "" {
			t.Errorf("writable binds: %s", diff)
		}
	}
}

func TestArguments(t *testing.T) {
	got := strings.Join(runsc.Arguments("/s", "/b", "/s/pid", "id"), " ")
	for _, want := range []string{"--root=/s ", "--network=none ", "--host-uds=none ", "--host-fifo=none ", " run -bundle /b "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	for _, never := range []string{"--rootless", "-detach", "--debug"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is in %q", never, got)
		}
	}
}
