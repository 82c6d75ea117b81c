package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errHeadTooLong is answered with 431.
var errHeadTooLong = errors.New("the request's header is too long")

// readHead reads a request line and headers, with the empty line that ends
// them, and nothing of what follows.
func readHead(r *bufio.Reader, limit int) ([]byte, error) {
	var head []byte
	for {
		line, err := r.ReadSlice('\n')
		head = append(head, line...)
		if len(head) > limit {
			return nil, errHeadTooLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if bytes.HasSuffix(head, []byte("\n\r\n")) || bytes.HasSuffix(head, []byte("\n\n")) {
			return head, nil
		}
	}
}

// parseHead reads a request whose header two parsers cannot read differently.
func parseHead(head []byte, body io.Reader) (*http.Request, error) {
	hosts, err := checkFields(head)
	if err != nil {
		return nil, err
	}
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head), body)))
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if !req.ProtoAtLeast(1, 0) || req.ProtoAtLeast(2, 0) {
		return nil, errors.New("only HTTP/1.0 and HTTP/1.1 are spoken here")
	}
	if req.ProtoAtLeast(1, 1) && len(hosts) == 0 {
		return nil, errors.New("the Host header is missing")
	}
	if len(hosts) == 1 {
		req.Header.Set("Host", hosts[0]) // ReadRequest drops it for the host of the address
	}
	return req, nil
}

// checkFields looks at the raw lines for what net/http would silently settle:
// a length given twice or beside a transfer coding, several hosts, folded
// lines (RFC 9112, 5.2 and 6.3).
func checkFields(head []byte) (hosts []string, err error) {
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\n")
	seen := map[string]int{}
	for _, line := range lines[1:] {
		line = strings.TrimSuffix(line, "\r")
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(line, "\r\x00") {
			return nil, errors.New("a header line is malformed")
		}
		name = strings.ToLower(name)
		seen[name]++
		if name == "host" {
			hosts = append(hosts, strings.Trim(value, " \t"))
		}
	}
	switch {
	case seen["host"] > 1:
		return nil, errors.New("several Host headers")
	case seen["content-length"]+seen["transfer-encoding"] > 1:
		return nil, errors.New("several lengths of the body")
	}
	return hosts, nil
}

// hopHeaders belong to one connection (RFC 9110, 7.6.1) or to the proxy.
func hopHeaders() []string {
	return []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Authentication-Info", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Host", "Forwarded",
	}
}

// stripHop removes them, and what Connection names.
func stripHop(h http.Header) {
	for _, value := range h.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders() {
		h.Del(name)
	}
}
