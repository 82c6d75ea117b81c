package egresstest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
)

// The module that GoProxy serves; its package's Greeting is "hello from afar".
const (
	ModulePath    = "registry.test/hello"
	ModuleVersion = "v1.0.0"
)

const (
	moduleFile   = "module " + ModulePath + "\n\ngo 1.21\n"
	moduleSource = "// Package hello greets.\npackage hello\n\n// Greeting is what is said.\nconst Greeting = \"hello from afar\"\n"
)

// StartGoProxy starts a server with the one module. Clients need GOPROXY=URL,
// and GOSUMDB=off to keep them from asking the public checksum database.
func StartGoProxy(host string) (*Server, error) {
	h, err := GoProxy()
	if err != nil {
		return nil, err
	}
	return Start(host, h)
}

// GoProxy speaks the GOPROXY protocol (go.dev/ref/mod#goproxy-protocol).
func GoProxy() (http.Handler, error) {
	archive, err := moduleZip()
	if err != nil {
		return nil, err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":"2024-01-02T03:04:05Z"}`, ModuleVersion)
	base := "/" + ModulePath
	mux := http.NewServeMux()
	for path, content := range map[string][]byte{
		base + "/@latest":                       []byte(info),
		base + "/@v/list":                       []byte(ModuleVersion + "\n"),
		base + "/@v/" + ModuleVersion + ".info": []byte(info),
		base + "/@v/" + ModuleVersion + ".mod":  []byte(moduleFile),
		base + "/@v/" + ModuleVersion + ".zip":  archive,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	}
	return mux, nil
}

func moduleZip() ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, content := range map[string]string{"go.mod": moduleFile, "hello.go": moduleSource} {
		w, err := z.Create(ModulePath + "@" + ModuleVersion + "/" + name)
		if err != nil {
			return nil, fmt.Errorf("packing a module: %w", err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			return nil, fmt.Errorf("packing a module: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing a module: %w", err)
	}
	return out.Bytes(), nil
}
