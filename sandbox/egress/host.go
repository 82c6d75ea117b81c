package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The most bytes of a host name and of one label of it (RFC 1035, 2.3.4).
const (
	maxHost  = 253
	maxLabel = 63
)

// The kinds of host that are refused whatever the policy says.
var (
	errLiteral = errors.New("addresses are refused, only names are let through")
	errOddName = errors.New("not a host name")
)

// normalHost is the one spelling of a host name: lower case, without the dot
// that ends an absolute name. Everything that a resolver or a C library could
// read as an address is refused (inet_aton takes decimal, octal, hex and short
// forms), as is what is not letters, digits and hyphens: international names
// are written in punycode.
func normalHost(host string) (string, error) {
	if strings.ContainsAny(host, "[]:%") {
		return "", errLiteral
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || len(host) > maxHost {
		return "", fmt.Errorf("%w: empty or too long", errOddName)
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return "", err
		}
	}
	// A last label that is a number makes it an address (WHATWG URL, "ends in
	// a number"); no top-level domain is one (RFC 3696, 2).
	if numeric(labels[len(labels)-1]) {
		return "", errLiteral
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", errLiteral
	}
	return host, nil
}

func checkLabel(label string) error {
	if label == "" || len(label) > maxLabel {
		return fmt.Errorf("%w: a part is empty or too long", errOddName)
	}
	for i := range len(label) {
		c := label[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '-' && i > 0 && i < len(label)-1:
		case c >= 0x80:
			return fmt.Errorf("%w: write international names in punycode (xn--)", errOddName)
		default:
			return fmt.Errorf("%w: only letters, digits and inner hyphens are let through", errOddName)
		}
	}
	return nil
}

// numeric reports a label that a parser of addresses would read as a number.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// parsePort takes decimal digits only: 1 to 65535.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("port %+.20q: want a number from 1 to 65535", s)
	}
	return uint16(n), nil
}

// target is a host and port that a client asked for, checked for form.
type target struct {
	host string
	port uint16
}

func (t target) String() string { return t.host + ":" + strconv.Itoa(int(t.port)) }

// parseTarget reads host:port; without a port it is the given one, and 0
// demands that a port be written.
func parseTarget(s string, port uint16) (target, error) {
	if strings.ContainsAny(s, "@/?#\\") {
		return target{}, fmt.Errorf("%w: only host:port is let through", errOddName)
	}
	if strings.Contains(s, "[") || strings.Count(s, ":") > 1 {
		return target{}, errLiteral
	}
	host, text, written := strings.Cut(s, ":")
	if written {
		var err error
		if port, err = parsePort(text); err != nil {
			return target{}, err
		}
	}
	if port == 0 {
		return target{}, fmt.Errorf("%w: the port is missing", errOddName)
	}
	host, err := normalHost(host)
	return target{host, port}, err
}
