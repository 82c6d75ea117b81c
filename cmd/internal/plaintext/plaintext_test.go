package plaintext_test

import (
	"testing"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
)

func TestReadable(t *testing.T) {
	body := "<!-- greenwright:progress:1 -->\n**Done**\r\n\n\n\n| Command | Before | After |\n|---|---|---|\n| `a \\| b` | 🔴 exit 1 | not run |\n| `c` | 🟢 exit 0 | x |\n\n<details><summary>How</summary>\n\n| | |\n|---|---|\n| Asked by | `x` |\n\n</details>"
	want := "**Done**\n\nCommand  Before     After\n`a | b`  🔴 exit 1  not run\n`c`      🟢 exit 0  x\n\n▾ How\n\nAsked by  `x`\n"
	if got := plaintext.Readable(body); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
