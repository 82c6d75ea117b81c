package bench_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// baselineAddr makes this test binary the plain receiver at that address.
const baselineAddr = "GREENWRIGHT_BENCH_BASELINE"

func TestMain(m *testing.M) {
	if addr := os.Getenv(baselineAddr); addr != "" {
		srv := &http.Server{Addr: addr, Handler: http.HandlerFunc(plain), ReadHeaderTimeout: 5 * time.Second}
		fmt.Fprintln(os.Stderr, srv.ListenAndServe())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// plain is the receiver that everybody writes first: read, verify, decode the
// whole payload, answer. It stores nothing and looks at nothing.
func plain(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		return // asked whether it is up
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if !hmac.Equal([]byte("sha256="+hex.EncodeToString(mac.Sum(nil))), []byte(r.Header.Get("X-Hub-Signature-256"))) {
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	var payload map[string]any
	if err := json.Unmarshal(body, &payload); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

// startPlain runs it as a process of its own, as what it is compared with.
func startPlain(log string) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{baselineAddr + "=" + addr}
	p, err := start(cmd, addr, "/", log)
	return p, err
}
