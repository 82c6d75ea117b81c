package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is one connection of a command: one request, one decision.
type exchange struct {
	gateway  *Gateway
	conn     net.Conn
	reader   *bufio.Reader // of conn
	cancel   context.CancelFunc
	started  time.Time
	idle     *time.Timer
	decision Decision // of the goroutine that runs it
	out, in  atomic.Int64

	mu       sync.Mutex
	upstream net.Conn // guarded by mu
	ended    bool     // guarded by mu
	cause    string   // guarded by mu; why it ended early
	told     bool     // of the goroutine that runs it
}

func newExchange(g *Gateway, conn net.Conn, cancel context.CancelFunc) *exchange {
	x := &exchange{gateway: g, conn: conn, reader: bufio.NewReader(conn), cancel: cancel, started: time.Now()}
	x.mu.Lock() // end, when the timer calls it, must find the timer
	defer x.mu.Unlock()
	x.idle = time.AfterFunc(g.limits.Idle, func() { x.end("idle: no byte for " + g.limits.Idle.String()) })
	return x
}

// refusal is what a client is told instead of being connected.
type refusal struct {
	status  int
	reason  string // one line of printable ASCII
	remedy  string // which setting would change it
	header  string // one more header line, with its end
	allowed bool   // the policy let it through, the world did not
	addr    netip.AddrPort
}

func (r *refusal) Error() string { return r.reason }

// run answers the request. It returns when both directions have ended.
func (x *exchange) run(ctx context.Context) {
	defer x.tell()
	req, err := x.readRequest()
	if err != nil {
		x.refuseError(err)
		return
	}
	x.decision.Method = printable(req.Method, 20)
	t, targetErr := x.wanted(req)
	token, ok := tokenOf(req.Header)
	grant := x.gateway.grants.find(token)
	if !ok || grant == nil || !grant.admit(x) {
		x.refuse(&refusal{status: http.StatusProxyAuthRequired, reason: "no valid token of this run",
			header: "Proxy-Authenticate: Basic realm=\"greenwright\"\r\n"})
		return
	}
	defer grant.leave(x)
	defer x.tell()
	if targetErr != nil {
		x.refuseError(targetErr)
		return
	}
	if req.Method == http.MethodConnect {
		err = x.connect(ctx, t)
	} else {
		err = x.forward(ctx, req, t)
	}
	if err != nil {
		x.refuseError(err)
	}
}

// readRequest reads the header within its limits. io.EOF is a connection that
// was closed without a word.
func (x *exchange) readRequest() (*http.Request, error) {
	limits := x.gateway.limits
	_ = x.conn.SetReadDeadline(time.Now().Add(limits.HeaderTime))
	head, err := readHead(x.reader, limits.HeaderBytes)
	switch {
	case errors.Is(err, errHeadTooLong):
		return nil, &refusal{status: http.StatusRequestHeaderFieldsTooLarge, reason: err.Error()}
	case isTimeout(err):
		return nil, &refusal{status: http.StatusRequestTimeout, reason: "the request's header took too long"}
	case err != nil:
		return nil, io.EOF
	}
	_ = x.conn.SetReadDeadline(time.Time{})
	req, err := parseHead(head, x.reader)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, reason: printable(err.Error(), 200)}
	}
	return req, nil
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// wanted is where a request leads, and puts it into the decision.
func (x *exchange) wanted(req *http.Request) (target, error) {
	asked, port := req.RequestURI, uint16(0)
	if req.Method != http.MethodConnect {
		asked, port = req.URL.Host, 80
	}
	t, err := parseTarget(asked, port)
	if err != nil {
		x.decision.Host = printable(asked, maxHost)
		return target{}, &refusal{status: http.StatusForbidden,
			reason: fmt.Sprintf("%s: %s", printable(strconv.Quote(asked), maxHost), err)}
	}
	x.decision.Host, x.decision.Port = t.host, t.port
	return t, checkForm(req, t)
}

// refuseError turns an error into an answer; only a *refusal has text for it.
func (x *exchange) refuseError(err error) {
	var r *refusal
	if errors.As(err, &r) {
		x.refuse(r)
	}
}

// refuse tells the decision, then the client, and lets it read that.
func (x *exchange) refuse(r *refusal) {
	if x.answer(r) {
		x.linger()
	}
}

// answer reports whether it could be written.
func (x *exchange) answer(r *refusal) bool {
	x.decision.Verdict, x.decision.Reason = Verdict(r.allowed), r.reason
	if r.addr.IsValid() {
		x.decision.Addr = r.addr
	}
	x.tell()
	line := "greenwright: " + r.reason
	if r.remedy != "" {
		line += "; " + r.remedy
	}
	// The line stands in the status too: go and pip show that of a CONNECT and
	// not the body. Printable text is what RFC 9112, 4 allows there.
	body := line + "\n"
	if x.decision.Method == http.MethodHead {
		body = ""
	}
	_, err := fmt.Fprintf(x.conn, "HTTP/1.1 %d %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", r.status, line, r.header, len(body), body)
	return err == nil
}

// Closing while the client still sends can take the answer away from it, so a
// little of what comes is read first.
const (
	lingerTime  = 200 * time.Millisecond
	lingerBytes = 256 << 10
)

func (x *exchange) linger() {
	if !closeWrite(x.conn) {
		return
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, x.reader, lingerBytes)
}

// closeWrite ends one direction; false if the connection cannot.
func closeWrite(c net.Conn) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// end closes both connections; the first cause given stays.
func (x *exchange) end(cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended, x.cause = true, cause
	x.idle.Stop()
	x.cancel()
	_ = x.conn.Close()
	if x.upstream != nil {
		_ = x.upstream.Close()
	}
}

// attach makes the connection to the host end with the exchange.
func (x *exchange) attach(up net.Conn) (*metered, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		_ = up.Close()
		return nil, net.ErrClosed
	}
	x.upstream = up
	return &metered{Conn: up, exchange: x}, nil
}

// tell records the decision, once, unless the client said nothing.
func (x *exchange) tell() {
	x.mu.Lock()
	cause := x.cause
	x.mu.Unlock()
	d := &x.decision
	if x.told || d.Method == "" && d.Reason == "" {
		return
	}
	x.told = true
	if d.Reason == "" {
		d.Reason = cause
	}
	d.BytesOut, d.BytesIn, d.Duration = x.out.Load(), x.in.Load(), time.Since(x.started)
	x.gateway.ledger.record(*d)
}

// printable is at most n bytes of hostile text, safe in a line of a log.
func printable(s string, n int) string {
	out := make([]byte, 0, min(len(s), n))
	for i := 0; i < len(s) && len(out) < n; i++ {
		if c := s[i]; c < ' ' || c > '~' {
			out = append(out, '?')
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}
