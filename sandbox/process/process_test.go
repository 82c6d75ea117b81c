package process_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/process"
)

func TestRingKeepsHeadAndTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, process.HeadBytes, process.HeadBytes + 1, process.HeadBytes + process.TailBytes, process.HeadBytes + process.TailBytes + 1, 3 * process.TailBytes} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte(rng.Uint32())
		}
		var ring process.Ring
		for rest := whole; len(rest) > 0; {
			k := min(len(rest), 1+rng.IntN(9000))
			_, _ = ring.Write(rest[:k])
			rest = rest[k:]
		}
		out := ring.Output()
		head := min(size, process.HeadBytes)
		tail := min(size-head, process.TailBytes)
		if !bytes.Equal(out.Head, whole[:head]) || !bytes.Equal(out.Tail, whole[size-tail:]) {
			t.Errorf("%d bytes: head or tail differ", size)
		}
		if out.TotalBytes != int64(size) || out.Dropped != int64(size-head-tail) {
			t.Errorf("%d bytes: total %d, dropped %d", size, out.TotalBytes, out.Dropped)
		}
	}
}

func TestRunWaitsForTheProcessNotForThePipe(t *testing.T) {
	limits := sandbox.Limits{}.WithDefaults()
	res, err := process.Run(context.Background(), process.Spec{
		Argv: []string{"/bin/sh", "-c", "setsid sleep 20 & echo out"}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: limits,
	})
	if err != nil || res.Output.String() != "out\n" || res.Duration > 10*time.Second {
		t.Errorf("got %q after %s, %v", res.Output, res.Duration, err)
	}
}

func TestRunHasNoEnvironmentOfItsOwn(t *testing.T) {
	t.Setenv("GREENWRIGHT_TEST_TOKEN", "x")
	res, err := process.Run(context.Background(), process.Spec{Argv: []string{"/usr/bin/env"}, Limits: sandbox.Limits{}.WithDefaults()})
	if err != nil || res.Output.TotalBytes != 0 {
		t.Errorf("got %q, %v", res.Output, err)
	}
}
