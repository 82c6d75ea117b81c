package egresstest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a registry on the loopback interface, over plain HTTP.
type Server struct {
	// Host is the name that clients ask for; a [Names] resolver or an entry of
	// the hosts file must lead it to 127.0.0.1.
	Host string
	Port uint16
	// URL is the registry's address, without a slash at its end.
	URL string

	http *http.Server
	done sync.WaitGroup
	hits atomic.Int64
}

// Start serves a handler under a host name, on a free port, until Close.
func Start(host string, h http.Handler) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.TODO(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", host, err)
	}
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	s := &Server{Host: host, Port: port, URL: fmt.Sprintf("http://%s:%d", host, port)}
	s.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		h.ServeHTTP(w, r)
	})}
	s.done.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Hits is how many requests have come.
func (s *Server) Hits() int64 { return s.hits.Load() }

// Rule is the egress rule that lets clients through.
func (s *Server) Rule() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// Close ends it and its connections.
func (s *Server) Close() {
	_ = s.http.Close()
	s.done.Wait()
}

// Names is a resolver: host names, without a dot at the end, to addresses.
// Names that it does not have do not exist.
type Names map[string][]netip.Addr

// Loopback resolves all the hosts to 127.0.0.1.
func Loopback(hosts ...string) Names {
	n := Names{}
	for _, host := range hosts {
		n[host] = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	return n
}

// LookupNetIP is that of *net.Resolver.
func (n Names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	addrs, ok := n[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}
