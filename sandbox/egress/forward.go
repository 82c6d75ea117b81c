package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// checkForm refuses what is no plain request of a proxy.
func checkForm(req *http.Request, t target) error {
	bad := func(reason string) error { return &refusal{status: http.StatusBadRequest, reason: reason} }
	if err := checkHostHeader(req, t); err != nil {
		return err
	}
	if req.Method == http.MethodConnect {
		if req.ContentLength != 0 || len(req.TransferEncoding) > 0 {
			return bad("CONNECT has no body")
		}
		return nil
	}
	switch {
	case req.URL.Scheme != "http":
		return bad("this is a proxy: ask for http:// addresses, and for others by CONNECT")
	case req.URL.User != nil:
		return bad("user names in addresses are refused")
	case t.port == tlsPort:
		return bad("port 443 is for TLS, by CONNECT")
	case len(req.Header.Values("Upgrade")) > 0:
		return &refusal{status: http.StatusForbidden, reason: "Upgrade is refused"}
	case req.Method == http.MethodTrace:
		return &refusal{status: http.StatusForbidden, reason: "TRACE is refused"}
	}
	return nil
}

// checkHostHeader demands that the Host header, if there is one, says what the
// request line says (RFC 9112, 3.2.2 would have it ignored).
func checkHostHeader(req *http.Request, t target) error {
	value := req.Header.Get("Host")
	if value == "" {
		return nil
	}
	port := uint16(80)
	if req.Method == http.MethodConnect {
		port = t.port
	}
	if h, err := parseTarget(value, port); err != nil || h != t {
		return &refusal{status: http.StatusBadRequest, reason: "the Host header differs from " + t.String()}
	}
	return nil
}

// forward sends a plain request and its answer on. Redirects are the client's
// to follow, through the same checks.
func (x *exchange) forward(ctx context.Context, req *http.Request, t target) error {
	up, err := x.reach(ctx, t)
	if err != nil {
		return err
	}
	if req.Header.Get("Expect") != "" {
		if _, err := io.WriteString(x.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil // the client has gone: there is nobody to tell
		}
	}
	transport := x.transport(up)
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(outgoing(ctx, req, t))
	if err != nil || res.StatusCode == http.StatusSwitchingProtocols {
		if err == nil {
			_ = res.Body.Close()
		}
		return &refusal{status: http.StatusBadGateway, reason: t.String() + " gave no answer", allowed: true}
	}
	defer func() { _ = res.Body.Close() }()
	x.relay(req, res)
	return nil
}

// outgoing is the request as it is sent: to the host that was checked, without
// what was meant for the proxy.
func outgoing(ctx context.Context, req *http.Request, t target) *http.Request {
	out := req.Clone(ctx)
	out.RequestURI, out.Trailer, out.Close = "", nil, true
	out.URL.Host = t.String()
	out.Host = t.host
	if t.port != 80 {
		out.Host += ":" + strconv.Itoa(int(t.port))
	}
	stripHop(out.Header)
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // none, instead of net/http's
	}
	return out
}

// maxAnswerHead is what an answer's header may take: the default of curl.
const maxAnswerHead = 300 << 10

// transport uses the one connection and no other.
func (x *exchange) transport(up *metered) *http.Transport {
	conns := make(chan net.Conn, 1)
	conns <- up
	return &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-conns:
				return c, nil
			default:
				return nil, errors.New("one request has one connection")
			}
		},
		DisableCompression: true, DisableKeepAlives: true,
		MaxResponseHeaderBytes: maxAnswerHead, ResponseHeaderTimeout: x.gateway.limits.Idle,
	}
}

// relay writes an answer to the client as it comes.
func (x *exchange) relay(req *http.Request, res *http.Response) {
	stripHop(res.Header)
	res.ProtoMajor, res.ProtoMinor, res.Close = 1, 1, true
	if !req.ProtoAtLeast(1, 1) {
		res.TransferEncoding = nil // HTTP/1.0 has no chunks: the end is the end
	}
	buffered := bufio.NewWriter(x.conn)
	res.Body = &flushing{ReadCloser: res.Body, writer: buffered}
	// The struct hides ReadFrom, inside which flushing may not flush.
	if err := res.Write(struct{ io.Writer }{buffered}); err != nil {
		return
	}
	if buffered.Flush() == nil {
		x.linger()
	}
}

// flushing sends what was written before it waits for more.
type flushing struct {
	io.ReadCloser
	writer *bufio.Writer
}

func (f *flushing) Read(p []byte) (int, error) {
	if err := f.writer.Flush(); err != nil {
		return 0, err
	}
	return f.ReadCloser.Read(p)
}
