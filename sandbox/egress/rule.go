package egress

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// DefaultPort is what a rule without a port allows: HTTPS alone. Plain HTTP
// needs a rule that ends in :80.
const DefaultPort = 443

// Rule allows one host, or all names below one, on one port. The zero value
// allows nothing. Its text is host, host:port, *.suffix or *.suffix:port; a
// wildcard does not cover the suffix itself.
type Rule struct {
	Host       string // normalised; without the "*." of a wildcard
	Port       uint16
	Subdomains bool // the names below Host, at any depth
}

// ParseRule reads a rule. Addresses, names with anything but letters, digits
// and hyphens, and wildcards over a public suffix such as *.com are errors.
func ParseRule(text string) (Rule, error) {
	name, wildcard := strings.CutPrefix(text, "*.")
	t, err := parseTarget(name, DefaultPort)
	if err != nil {
		return Rule{}, fmt.Errorf("egress rule %.300q: %w", text, err)
	}
	if suffix, icann := publicsuffix.PublicSuffix(t.host); wildcard && icann && suffix == t.host {
		return Rule{}, fmt.Errorf("egress rule %.300q: anyone can register a name below %s", text, t.host)
	}
	return Rule{Host: t.host, Port: t.port, Subdomains: wildcard}, nil
}

// String is the rule's text; the default port is left out.
func (r Rule) String() string {
	text := r.Host
	if r.Subdomains {
		text = "*." + text
	}
	if r.Port != DefaultPort {
		text += ":" + strconv.Itoa(int(r.Port))
	}
	return text
}

// MarshalText is String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRule.
func (r *Rule) UnmarshalText(text []byte) error {
	parsed, err := ParseRule(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// Covers reports that every host and port that other allows, r allows too.
func (r Rule) Covers(other Rule) bool {
	if r.Host == "" || r.Port != other.Port {
		return false
	}
	if r.Host == other.Host {
		return r.Subdomains == other.Subdomains
	}
	return r.Subdomains && strings.HasSuffix(other.Host, "."+r.Host)
}

func anyCovers(rules []Rule, other Rule) bool {
	for _, r := range rules {
		if r.Covers(other) {
			return true
		}
	}
	return false
}
