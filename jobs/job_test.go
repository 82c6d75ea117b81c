package jobs_test

import (
	"testing"

	"github.com/greenwright/greenwright/jobs"
)

// TestOpeningThatNobodyEdited: an event and the API do not write it alike.
func TestOpeningThatNobodyEdited(t *testing.T) {
	for name, c := range map[string][2]string{
		"ends of lines":    {"a\r\nb", "a\nb"},
		"uploaded picture": {"See ![x](https://git.example.com/acme/widgets/uploads/0a/x.png) and\n[y](https://git.example.com/-/project/7/uploads/y.pdf)", "See ![x](/uploads/0a/x.png) and\n[y](/uploads/y.pdf)"},
	} {
		if jobs.TextHash("t", c[0]) != jobs.TextHash("t", c[1]) {
			t.Errorf("%s: %q and %q are taken for different texts", name, c[0], c[1])
		}
	}
	for name, other := range map[string]string{"another picture": "![x](/uploads/0b/x.png)", "another text": "See [x](/uploads/0a/x.png)"} {
		if jobs.TextHash("t", "![x](/uploads/0a/x.png)") == jobs.TextHash("t", other) {
			t.Errorf("%s is taken for the same", name)
		}
	}
}
