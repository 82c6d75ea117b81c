package egress_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/greenwright/greenwright/sandbox/egress"
)

func TestParseRule(t *testing.T) {
	cases := []struct {
		text string
		want egress.Rule
		back string // the normal text
	}{
		{"example.org", egress.Rule{Host: "example.org", Port: 443}, "example.org"},
		{"Example.ORG.", egress.Rule{Host: "example.org", Port: 443}, "example.org"},
		{"example.org:443", egress.Rule{Host: "example.org", Port: 443}, "example.org"},
		{"example.org:80", egress.Rule{Host: "example.org", Port: 80}, "example.org:80"},
		{"*.example.org:8443", egress.Rule{Host: "example.org", Port: 8443, Subdomains: true}, "*.example.org:8443"},
		{"*.svc.internal", egress.Rule{Host: "svc.internal", Port: 443, Subdomains: true}, "*.svc.internal"},
		{"*.internal", egress.Rule{Host: "internal", Port: 443, Subdomains: true}, "*.internal"},
		{"mirror:3128", egress.Rule{Host: "mirror", Port: 3128}, "mirror:3128"},
		{"xn--mnchen-3ya.example", egress.Rule{Host: "xn--mnchen-3ya.example", Port: 443}, "xn--mnchen-3ya.example"},
	}
	for _, c := range cases {
		got, err := egress.ParseRule(c.text)
		if err != nil || got != c.want || got.String() != c.back {
			t.Errorf("ParseRule(%q) = %+v (%s), %v; want %+v (%s)", c.text, got, got, err, c.want, c.back)
		}
	}
	refused := []string{
		"", ":443", "*", "*.", "*.com", "*.co.uk", "a.*.example.org", "*example.org", "example.org:0", "example.org:65536", "example.org:https",
		"https://example.org", "example.org/path", "user@example.org", "exa mple.org", "münchen.example", "example..org", "-a.example",
		strings.Repeat("a", 64) + ".org", "example.org:443:443", "*.1.2.3.4", "example.org:+443", "example.org: 443", "a_b.example.org",
	}
	for _, text := range append(refused, spellings()...) {
		if r, err := egress.ParseRule(text); err == nil {
			t.Errorf("ParseRule(%q) = %+v, want an error", text, r)
		}
	}
}

func TestPolicyFromYAML(t *testing.T) {
	var p egress.Policy
	text := "allow: [example.org, '*.example.com:8443']\npresets: [go, npm]\nallow_private: [mirror]\n"
	if err := yaml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	want := egress.Policy{Allow: rules(t, "example.org", "*.example.com:8443"), Presets: []string{"go", "npm"}, AllowPrivate: []string{"mirror"}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if err := yaml.Unmarshal([]byte("allow: [127.0.0.1]"), &p); err == nil {
		t.Error("an address was taken for a rule")
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	bad := egress.Policy{
		Allow: []egress.Rule{{Host: "127.0.0.1", Port: 80}, {Host: "UPPER.example", Port: 1}, {}}, Presets: []string{"nmp", "go"},
		AllowPrivate: []string{"10.0.0.1", "mirror:80"},
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"127.0.0.1", "UPPER.example", `"nmp"`, `nearest is "npm"`, "10.0.0.1", "mirror:80"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	for _, name := range egress.PresetNames() {
		p := egress.Policy{Presets: []string{name}}
		if err := p.Validate(); err != nil || len(p.Rules()) == 0 || p.Empty() {
			t.Errorf("preset %s: %v, %v", name, err, p.Rules())
		}
	}
	if got := egress.PresetNames(); !slices.Equal(got, []string{"crates", "debian", "go", "npm", "pypi"}) {
		t.Errorf("presets = %v", got)
	}
	if (egress.Policy{}).Validate() != nil || !(egress.Policy{}).Empty() {
		t.Error("the zero policy is valid and empty")
	}
}

func TestNarrow(t *testing.T) {
	operator := egress.Policy{
		Allow:   rules(t, "*.example.org", "files.example.com:8080", "pypi.org", "files.pythonhosted.org"),
		Presets: []string{"go"}, AllowPrivate: []string{"a.example.org"},
	}
	cases := []struct {
		wanted  []string
		want    egress.Policy
		missing string // in the error
	}{
		{nil, egress.Policy{}, ""},
		{[]string{"a.example.org"}, egress.Policy{Allow: rules(t, "a.example.org")}, ""},
		{[]string{"*.b.example.org"}, egress.Policy{Allow: rules(t, "*.b.example.org")}, ""},
		{[]string{"*.example.org"}, egress.Policy{Allow: rules(t, "*.example.org")}, ""},
		{[]string{"go"}, egress.Policy{Presets: []string{"go"}}, ""},
		{[]string{"pypi"}, egress.Policy{Presets: []string{"pypi"}}, ""},
		{[]string{"proxy.golang.org"}, egress.Policy{Allow: rules(t, "proxy.golang.org")}, ""},
		{[]string{"files.example.com:8080"}, egress.Policy{Allow: rules(t, "files.example.com:8080")}, ""},
		{[]string{"example.org"}, egress.Policy{}, "does not allow example.org"},
		{[]string{"*.files.example.com:8080"}, egress.Policy{}, "*.files.example.com:8080"},
		{[]string{"*.pypi.org"}, egress.Policy{}, "*.pypi.org"},
		{[]string{"a.example.org:80"}, egress.Policy{}, "a.example.org:80"},
		{[]string{"files.example.com"}, egress.Policy{}, "files.example.com"},
		{[]string{"notexample.org"}, egress.Policy{}, "notexample.org"},
		{[]string{"npm"}, egress.Policy{}, "registry.npmjs.org, registry.yarnpkg.com"},
		{[]string{"a.example.org", "evil.test", "npmm", "1.2.3.4"}, egress.Policy{}, "evil.test"},
		{[]string{"evil.test", "npmm"}, egress.Policy{}, `nearest is "npm"`},
	}
	for _, c := range cases {
		got, err := operator.Narrow(c.wanted)
		if c.missing != "" {
			if err == nil || !strings.Contains(err.Error(), c.missing) || !got.Empty() {
				t.Errorf("Narrow(%q) = %+v, %v; want an error with %q", c.wanted, got, err, c.missing)
			}
			continue
		}
		c.want.AllowPrivate = operator.AllowPrivate
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("Narrow(%q): %v\n%s", c.wanted, err, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	g := egress.New(egress.Policy{})
	env, done := g.Open("127.0.0.1:3128")
	defer done()
	got := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if _, twice := got[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		got[name] = value
	}
	proxy := "http://run:" + tokenIn(t, env) + "@127.0.0.1:3128"
	for _, name := range []string{
		"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "npm_config_proxy", "npm_config_https_proxy",
	} {
		if got[name] != proxy {
			t.Errorf("%s = %q, want %q", name, got[name], proxy)
		}
	}
	if got["NO_PROXY"] != "localhost,127.0.0.1,::1" || got["no_proxy"] != got["NO_PROXY"] {
		t.Errorf("NO_PROXY = %q", got["NO_PROXY"])
	}
	if java := got["JAVA_TOOL_OPTIONS"]; !strings.Contains(java, "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128") {
		t.Errorf("JAVA_TOOL_OPTIONS = %q", java)
	}
	if len(tokenIn(t, env)) < 26 {
		t.Errorf("the token has %d characters, fewer than 128 bits", len(tokenIn(t, env)))
	}
}

func TestTheMachinesOwnAddressesAreNotPublic(t *testing.T) {
	a := addrs("93.184.215.14", "2606:2800:21f::1")
	for _, one := range a {
		if !egress.Public(one) || egress.Public(one, a...) {
			t.Errorf("%s: public %v, as the machine's own %v", one, egress.Public(one), egress.Public(one, a...))
		}
	}
}

func TestInvalidRulesAllowNothing(t *testing.T) {
	w := startAnyway(t, egress.Policy{Allow: []egress.Rule{{Host: "com", Port: 443, Subdomains: true}}})
	if _, _, status := w.tunnel("example.com:443"); status != 403 {
		t.Errorf("= %d, want 403", status)
	}
}
