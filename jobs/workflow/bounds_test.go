package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/jobs/workflow"
)

// TestSmallFileStaysSmall: what a file of a few hundred kilobytes makes of
// itself is bounded, else anybody who can write a workflow ends the worker.
func TestSmallFileStaysSmall(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100_000), ",") + "]"
	wide := "[" + strings.TrimSuffix(strings.Repeat("1,", 256), ",") + "]"
	var jobs strings.Builder
	for i := range 100 {
		fmt.Fprintf(&jobs, "  j%d:\n    strategy: {matrix: {a: %s}}\n    steps: [%s]\n", i, wide, strings.TrimSuffix(strings.Repeat("{run: x},", 400), ","))
	}
	for name, text := range map[string]string{
		"product of long lists": "jobs:\n  a:\n    strategy: {matrix: {a: " + wide + ", b: " + list + "}}\n    steps: [{run: x}]\n",
		"combinations of steps": "jobs:\n" + jobs.String(),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > workflow.MaxBytes {
				t.Fatalf("the file has %d bytes", len(text))
			}
			if _, err := workflow.Parse("x.yml", []byte(text)); !errors.Is(err, workflow.ErrInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}
