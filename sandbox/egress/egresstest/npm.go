package egresstest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
)

// The package that NPM serves; it exports the string "hello from afar".
const (
	PackageName    = "hello-from-afar"
	PackageVersion = "1.0.0"
)

// StartNPM starts a server with the one package. Clients need
// npm_config_registry=URL.
func StartNPM(host string) (*Server, error) {
	h, err := NPM()
	if err != nil {
		return nil, err
	}
	return Start(host, h)
}

// NPM speaks as much of the registry's protocol as npm install needs.
func NPM() (http.Handler, error) {
	archive, err := packageTar()
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(archive)
	file := "/" + PackageName + "/-/" + PackageName + "-" + PackageVersion + ".tgz"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+file, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	mux.HandleFunc("GET /"+PackageName, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(packument("http://"+r.Host+file, "sha512-"+base64.StdEncoding.EncodeToString(sum[:])))
	})
	return mux, nil
}

func packument(tarball, integrity string) map[string]any {
	return map[string]any{
		"name":      PackageName,
		"dist-tags": map[string]string{"latest": PackageVersion},
		"versions": map[string]any{PackageVersion: map[string]any{
			"name": PackageName, "version": PackageVersion, "main": "index.js",
			"dist": map[string]string{"tarball": tarball, "integrity": integrity},
		}},
	}
}

func packageTar() ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	for _, f := range []struct{ name, content string }{
		{"package/package.json", fmt.Sprintf(`{"name":%q,"version":%q,"main":"index.js"}`, PackageName, PackageVersion)},
		{"package/index.js", "module.exports = 'hello from afar';\n"},
	} {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}); err != nil {
			return nil, fmt.Errorf("packing a package: %w", err)
		}
		if _, err := t.Write([]byte(f.content)); err != nil {
			return nil, fmt.Errorf("packing a package: %w", err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("packing a package: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing a package: %w", err)
	}
	return out.Bytes(), nil
}
