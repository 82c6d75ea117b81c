package egress_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox/egress"
)

func FuzzParseRule(f *testing.F) {
	for _, seed := range append(spellings(), "example.org", "*.example.org:80", "a.b:1") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := egress.ParseRule(text)
		if err != nil {
			return
		}
		again, err := egress.ParseRule(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, its text %q is %+v, %v", text, r, r, again, err)
		}
		if !r.Covers(r) || r.Port == 0 {
			t.Errorf("%+v does not cover itself", r)
		}
	})
}

// FuzzNormalHost: whatever passes is a name to every parser of addresses.
func FuzzNormalHost(f *testing.F) {
	for _, seed := range append(spellings(), "example.org") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		name, err := egress.NormalHost(host)
		if err != nil {
			return
		}
		if again, err := egress.NormalHost(name); err != nil || again != name {
			t.Errorf("%q is %q is %q, %v", host, name, again, err)
		}
		if _, err := netip.ParseAddr(name); err == nil {
			t.Errorf("%q is an address", name)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Trim(name, "0123456789.") == "" {
			t.Errorf("%q passed", name)
		}
	})
}

// hello is what crypto/tls sends first.
func hello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(client, config).Handshake()
	}()
	buf := make([]byte, 16<<10)
	n, err := server.Read(buf)
	_ = server.Close()
	<-done
	_ = client.Close()
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func FuzzServerName(f *testing.F) {
	f.Add(hello(f, &tls.Config{ServerName: "example.org"}))
	f.Add(hello(f, &tls.Config{ServerName: "a.b", MaxVersion: tls.VersionTLS12}))
	f.Add([]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, read, err := egress.ServerName(bytes.NewReader(data))
		if err != nil {
			return
		}
		if name == "" || !bytes.HasPrefix(data, read) {
			t.Errorf("name %q; %d of %d bytes", name, len(read), len(data))
		}
	})
}

// TestServerNameInPieces: the name is found wherever TCP and TLS cut.
func TestServerNameInPieces(t *testing.T) {
	whole := hello(t, &tls.Config{ServerName: "example.org"})
	body := whole[5:]
	for cut := 1; cut < len(body); cut += 7 {
		var records []byte
		for _, part := range [][]byte{body[:cut], body[cut:]} {
			records = append(records, 0x16, 3, 1, byte(len(part)>>8), byte(len(part)))
			records = append(records, part...)
		}
		name, read, err := egress.ServerName(io.MultiReader(bytes.NewReader(records[:cut]), bytes.NewReader(append(records[cut:], "rest"...))))
		if err != nil || name != "example.org" || !bytes.HasPrefix(append(records, "rest"...), read) || len(read) < len(records) {
			t.Fatalf("cut at %d: %q, %d of %d, %v", cut, name, len(read), len(records), err)
		}
	}
}

func TestEncryptedHelloIsRefused(t *testing.T) {
	whole := hello(t, &tls.Config{ServerName: "example.org"})
	// The extensions come last; one more is put behind them, and the three
	// lengths around are raised.
	extension := []byte{0xfe, 0x0d, 0, 11, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0xaa} // RFC 9849, 5: an outer one
	n := len(extension)
	add := func(b []byte, at int) {
		v := int(b[at])<<8 | int(b[at+1]) + n
		b[at], b[at+1] = byte(v>>8), byte(v)
	}
	changed := append(bytes.Clone(whole), extension...)
	add(changed, 3) // record
	add(changed, 7) // message
	session := 9 + 2 + 32
	suites := session + 1 + int(changed[session])
	compression := suites + 2 + (int(changed[suites])<<8 | int(changed[suites+1]))
	add(changed, compression+1+int(changed[compression]))
	if _, _, err := egress.ServerName(bytes.NewReader(changed)); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("err = %v", err)
	}
	if _, _, err := egress.ServerName(bytes.NewReader(whole)); err != nil {
		t.Errorf("the control: %v", err)
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte("GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n"))
	f.Add([]byte("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\nContent-Length: 1\r\n\r\n"))
	f.Add([]byte("POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		req, err := egress.ParseHead(head, strings.NewReader(""))
		if err != nil {
			return
		}
		if len(req.TransferEncoding) > 0 && req.ContentLength > 0 {
			t.Errorf("%q has two lengths", head)
		}
	})
}
