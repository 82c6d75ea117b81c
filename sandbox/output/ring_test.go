package output_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/greenwright/greenwright/sandbox/output"
)

func TestRingKeepsHeadAndTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, output.HeadBytes, output.HeadBytes + 1, output.HeadBytes + output.TailBytes, output.HeadBytes + output.TailBytes + 1, 3 * output.TailBytes} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte(rng.Uint32())
		}
		var ring output.Ring
		for rest := whole; len(rest) > 0; {
			k := min(len(rest), 1+rng.IntN(9000))
			_, _ = ring.Write(rest[:k])
			rest = rest[k:]
		}
		out := ring.Output()
		head := min(size, output.HeadBytes)
		tail := min(size-head, output.TailBytes)
		if !bytes.Equal(out.Head, whole[:head]) || !bytes.Equal(out.Tail, whole[size-tail:]) {
			t.Errorf("%d bytes: head or tail differ", size)
		}
		if out.TotalBytes != int64(size) || out.Dropped != int64(size-head-tail) {
			t.Errorf("%d bytes: total %d, dropped %d", size, out.TotalBytes, out.Dropped)
		}
	}
}
