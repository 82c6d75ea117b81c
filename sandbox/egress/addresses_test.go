package egress_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
)

// turns gives another answer each time.
type turns struct {
	mu      sync.Mutex
	answers [][]netip.Addr
	asked   []string
}

func (r *turns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.answers[min(len(r.asked), len(r.answers)-1)]
	r.asked = append(r.asked, host)
	return answer, nil
}

func TestAddressesAreChecked(t *testing.T) {
	cases := []struct {
		name, addrs string
		private     bool
		want        int
	}{
		{"public", "93.184.215.14", false, 200},
		{"public v6", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", false, 200},
		{"mapped public", "::ffff:93.184.215.14", false, 200},
		{"loopback", "127.0.0.1", false, 403},
		{"one of several", "93.184.215.14 10.0.0.1", false, 403},
		{"private", "192.168.1.1", false, 403},
		{"private, meant", "192.168.1.1", true, 200},
		{"shared", "100.64.0.1", false, 403},
		{"reserved, meant", "198.18.0.7", true, 200},
		{"metadata", "169.254.169.254", false, 403},
		{"metadata, even if meant", "169.254.169.254", true, 403},
		{"one of several, even if meant", "10.0.0.1 169.254.169.254", true, 403},
		{"metadata v6", "fd00:ec2::254", true, 403},
		{"alibaba", "100.100.100.200", true, 403},
		{"azure", "168.63.129.16", false, 403},
		{"mapped loopback", "::ffff:127.0.0.1", false, 403},
		{"mapped metadata", "::ffff:169.254.169.254", true, 403},
		{"compatible", "::169.254.169.254", true, 403},
		{"nat64 loopback", "64:ff9b::7f00:1", false, 403},
		{"nat64 metadata", "64:ff9b::a9fe:a9fe", true, 403},
		{"nat64 public", "64:ff9b::5db8:d70e", false, 403},
		{"6to4 metadata", "2002:a9fe:a9fe::1", true, 403},
		{"6to4", "2002:c0a8:101::1", false, 403},
		{"teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", false, 403},
		{"teredo metadata", "2001:0:4136:e378:8000:63bf:5601:5601", true, 403},
		{"link-local v6", "fe80::1", true, 403},
		{"zone", "fe80::1%eth0", true, 403},
		{"site-local", "fec0::1", false, 403},
		{"ula", "fd12::1", false, 403},
		{"ula, meant", "fd12::1", true, 200},
		{"loopback v6", "::1", false, 403},
		{"unspecified", "0.0.0.0", true, 403},
		{"unspecified v6", "::", true, 403},
		{"this network", "0.1.2.3", true, 403},
		{"multicast", "224.0.0.1", true, 403},
		{"multicast v6", "ff02::1", true, 403},
		{"broadcast", "255.255.255.255", true, 403},
		{"reserved", "240.0.0.1", false, 403},
		{"documentation", "2001:db8::1", false, 403},
		{"documentation 2", "3fff::1", false, 403},
		{"srv6", "5f00::1", false, 403},
		{"discard", "100::1", false, 403},
		{"not delegated", "4000::1", true, 403},
		{"benchmark", "198.18.0.1", false, 403},
		{"test-net", "203.0.113.9", false, 403},
		{"as112", "192.175.48.1", false, 403},
	}
	s := httptest.NewServer(echo())
	defer s.Close()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := egress.Policy{Allow: rules(t, "name.test:8080")}
			if c.private {
				p.AllowPrivate = []string{"name.test"}
			}
			dialer := &redirect{to: s.Listener.Addr().String()}
			w := start(t, p, egress.WithDialer(dialer), egress.WithResolver(egresstest.Names{"name.test": addrs(strings.Fields(c.addrs)...)}))
			_, _, status := w.tunnel("name.test:8080")
			if status != c.want || (len(dialer.dialed) > 0) != (c.want == 200) {
				t.Errorf("CONNECT = %d, want %d; dialled %v", status, c.want, dialer.dialed)
			}
		})
	}
}

// TestRebinding: the second answer is another one, and each connection asks once.
func TestRebinding(t *testing.T) {
	s := httptest.NewServer(echo())
	defer s.Close()
	resolver := &turns{answers: [][]netip.Addr{addrs("93.184.215.14"), addrs("127.0.0.1")}}
	dialer := &redirect{to: s.Listener.Addr().String()}
	w := start(t, egress.Policy{Allow: rules(t, "name.test:8080")}, egress.WithDialer(dialer), egress.WithResolver(resolver))
	get := "GET http://name.test:8080/ HTTP/1.1\r\nHost: name.test:8080\r\n" + w.auth() + "\r\n"
	if status, body := w.raw(get); status != 200 {
		t.Fatalf("first = %d %s", status, body)
	}
	if status, _ := w.raw(get); status != 403 {
		t.Errorf("second = %d, want 403", status)
	}
	if len(resolver.asked) != 2 || len(dialer.dialed) != 1 || dialer.dialed[0] != "93.184.215.14:8080" {
		t.Errorf("asked %v, dialled %v", resolver.asked, dialer.dialed)
	}
}
