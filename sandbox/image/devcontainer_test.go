package image_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/greenwright/greenwright/sandbox/image"
)

func TestDevcontainerImage(t *testing.T) {
	for content, want := range map[string]string{
		`{"image": "golang:1.26"}`: "golang:1.26",
		"// a comment\n{\n  /* another */ \"image\": \"ghcr.io/a/b@sha256:" + strings.Repeat("0", 64) + "\", // here\n  \"features\": {},\n}": "ghcr.io/a/b@sha256:" + strings.Repeat("0", 64),
	} {
		if got, err := image.DevcontainerImage([]byte(content)); err != nil || got != want {
			t.Errorf("%s: %q, %v", content, got, err)
		}
	}
	for content, reason := range map[string]string{
		``:                                   "",
		`{`:                                  "",
		`[]`:                                 "",
		`{"image": 1}`:                       "",
		`{}`:                                 "names none",
		`{"image": ""}`:                      "names none",
		`{"build": {"dockerfile": "D"}}`:     "builds an image",
		`{"dockerFile": "D"}`:                "builds an image",
		`{"dockerComposeFile": ["c.yml"]}`:   "Compose",
		`{"image": "x", "build": {}}`:        "builds an image",
		`{"image": "a/${localEnv:SECRET}"}`:  "variables",
		`{"image": "oci:/etc"}`:              "file of the host",
		`{"image": "docker-archive:/x.tar"}`: "file of the host",
		`{"image": "docker-archive:x"}`:      "file of the host",
		`{"image": "not a reference"}`:       "",
		`{"image": "` + strings.Repeat("a", 70_000) + `"}`: "more than",
		strings.Repeat("[", 60_000):                        "",
	} {
		got, err := image.DevcontainerImage([]byte(content))
		if got != "" || !errors.Is(err, image.ErrNoImage) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60s: %q, %v", content, got, err)
		}
	}
}

func FuzzDevcontainerImage(f *testing.F) {
	for _, s := range []string{`{"image":"a:1"}`, `{"build":{}}`, "// x\n{\"image\":\"b\",}", `{"image":"${x}"}`, "[[[[", `{"image":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		ref, err := image.DevcontainerImage(content)
		if (err == nil) == (ref == "") || (err != nil && !errors.Is(err, image.ErrNoImage)) {
			t.Fatalf("%q, %v", ref, err)
		}
		if err != nil {
			return
		}
		if _, perr := name.ParseReference(ref); perr != nil || image.IsLocal(ref) || strings.Contains(ref, "${") {
			t.Fatalf("%q, %v", ref, perr)
		}
	})
}
