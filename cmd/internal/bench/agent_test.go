package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/proctest"
)

// The figures of other agents for the same scenario, measured on this kind of
// machine with one scripted model: CPU net of the commands, memory, bytes of
// prompts over 50 turns. Each is the best of four (claude-code, codex,
// opencode, pi).
const (
	peerCPU4     = 398 * time.Millisecond
	peerFurther  = 10 * time.Millisecond
	peerMemory   = 233 << 20
	peerBytes50  = 640_000
	shortTurns   = 4
	longTurns    = 50
	agentRepeats = 5
)

// cost is what one run took.
type cost struct {
	cpu    time.Duration // of the program and all that it started
	memory int64         // the program's peak, bytes
	sent   int           // bytes of prompts
	shared int           // of them, what the request before began with
	wall   time.Duration
}

// BenchmarkAgentRun is a toy fix through `greenwright run`, sandbox and proof
// rooms included, with a scripted model behind a real HTTP server.
func BenchmarkAgentRun(b *testing.B) {
	bin := build(b)
	for range b.N {
		var short, long []cost
		for range agentRepeats {
			short = append(short, toyFix(b, bin, shortTurns))
			long = append(long, toyFix(b, bin, longTurns))
		}
		cpu4, cpu50 := middle(short, func(c cost) float64 { return float64(c.cpu) }), middle(long, func(c cost) float64 { return float64(c.cpu) })
		further := (cpu50 - cpu4) / (longTurns - shortTurns)
		memory := middle(long, func(c cost) float64 { return float64(c.memory) })
		sent := middle(long, func(c cost) float64 { return float64(c.sent) })
		b.ReportMetric(cpu4/1e6, "cpu-ms/4-turns")
		b.ReportMetric(further/1e6, "cpu-ms/further-turn")
		b.ReportMetric(memory/(1<<20), "MB")
		b.ReportMetric(sent, "prompt-bytes/50-turns")
		b.ReportMetric(middle(long, func(c cost) float64 { return float64(c.shared) / float64(c.sent) }), "shared-prefix")
		b.ReportMetric(cpu4/float64(peerCPU4), "cpu-to-best-peer")
		b.ReportMetric(further/float64(peerFurther), "further-to-best-peer")
		b.ReportMetric(memory/peerMemory, "memory-to-best-peer")
		b.ReportMetric(sent/peerBytes50, "bytes-to-best-peer")
		b.ReportMetric(middle(long, func(c cost) float64 { return float64(c.wall) })/1e6, "wall-ms/50-turns")
	}
}

func middle(costs []cost, of func(cost) float64) float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// toyFix lets the program mend a file in so many turns: the last but three
// read, edit and check, the last two submit.
func toyFix(b *testing.B, bin string, turns int) cost {
	b.Helper()
	repo := toyRepo(b)
	server, err := modeltest.NewServer(script(turns)...)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "run", "--repo", repo, "--task", "the greeting is wrong", "--verify", "grep -q hello greeting.txt")
	cmd.Dir = b.TempDir()
	cmd.Env = append(os.Environ(), "GREENWRIGHT_DATA_DIR="+dataDir(b), "GREENWRIGHT_MODEL=anthropic/scripted", "GREENWRIGHT_SANDBOX=bwrap",
		"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=scripted-key", "HOME="+b.TempDir())
	start := time.Now()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	peak := proctest.Peak(cmd.Process.Pid)
	err = cmd.Wait()
	memory := peak()
	if err != nil || memory == 0 {
		b.Fatalf("%v, memory %d\n%s", err, memory, out.String())
	}
	wall := time.Since(start)
	requests := server.Requests()
	if len(requests) != turns || len(server.Violations()) > 0 {
		b.Fatalf("%d requests of %d, %v\n%s", len(requests), turns, server.Violations(), out.String())
	}
	c := cost{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall, memory: memory}
	var last []byte
	for _, r := range requests {
		n := 0
		for n < min(len(last), len(r.Raw)) && last[n] == r.Raw[n] {
			n++
		}
		last = r.Raw
		c.shared += n
		c.sent += len(r.Raw)
	}
	return c
}

func toyRepo(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("helo\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q", "-b", "main").CombinedOutput(); err != nil {
		b.Fatalf("git init: %v\n%s", err, out)
	}
	commitAll(b, dir)
	return dir
}

func commitAll(b *testing.B, dir string) {
	b.Helper()
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "state"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// script is the model's part.
func script(turns int) []modeltest.Step {
	call := func(name string, args map[string]any) modeltest.Step {
		return modeltest.Do(modeltest.Call{Name: name, Args: args})
	}
	steps := []modeltest.Step{
		modeltest.Do(modeltest.Call{Name: "read_file", Args: map[string]any{"path": "greeting.txt"}}),
		modeltest.Do(modeltest.Call{Name: "edit_file", Args: map[string]any{"path": "greeting.txt", "old_string": "helo", "new_string": "hello"}},
			modeltest.Call{Name: "run_command", Args: map[string]any{"command": "grep -q hello greeting.txt"}}),
	}
	for i := len(steps) + 2; i < turns; i++ {
		steps = append(steps, call("run_command", map[string]any{"command": fmt.Sprintf("echo turn %d", i)}))
	}
	submit := call("finish", map[string]any{"summary": "the greeting was misspelt"})
	return append(steps, submit, submit)
}

// TestScriptHasItsTurns: the benchmark asks for what it says.
func TestScriptHasItsTurns(t *testing.T) {
	for _, turns := range []int{shortTurns, longTurns} {
		if got := len(script(turns)); got != turns {
			t.Errorf("%d steps for %d turns", got, turns)
		}
	}
}
