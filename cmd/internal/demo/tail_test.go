package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTailGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log := &tail{path: path}
	if _, err := log.next(); err == nil {
		t.Error("a log that is not there can be read")
	}
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		text string
		want []record
	}{
		{"", nil},
		{"{\"msg\":\"listening\",\"address\":\"127.0.0.1:1\"}\nnot JSON\n{\"msg\":\"half", []record{{Message: "listening", Address: "127.0.0.1:1"}}},
		{" a line\",\"exit_code\":3}\n", []record{{Message: "half a line", ExitCode: 3}}},
		{"", nil},
	} {
		write(step.text)
		got, err := log.next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
