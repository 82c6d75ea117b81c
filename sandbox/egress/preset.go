package egress

import "slices"

// presetHosts are the hosts that a package manager needs, by preset name.
func presetHosts() map[string][]string {
	return map[string][]string{
		// The defaults of GOPROXY and GOSUMDB (go.dev/ref/mod#environment-variables);
		// the proxy redirects large archives to Cloud Storage (golang/go#52908),
		// where anybody may have a bucket: that host is for the operator to name.
		"go": {"proxy.golang.org", "sum.golang.org"},
		// The default registries of npm (docs.npmjs.com/cli/using-npm/config#registry)
		// and of yarn; archives come from the same hosts.
		"npm": {"registry.npmjs.org", "registry.yarnpkg.com"},
		// The index (packaging.python.org, simple repository API) and where its
		// links to files lead.
		"pypi": {"pypi.org", "files.pythonhosted.org"},
		// The sparse index, and the "dl" and "api" of its config.json
		// (doc.rust-lang.org/cargo/reference/registry-index.html).
		"crates": {"index.crates.io", "static.crates.io", "crates.io"},
		// The mirrors that Debian's own images name; apt speaks plain HTTP
		// there, what it fetches is signed.
		"debian": {
			"deb.debian.org", "deb.debian.org:80",
			"security.debian.org", "security.debian.org:80",
		},
	}
}

// PresetNames are the known presets, sorted.
func PresetNames() []string {
	var names []string
	for name := range presetHosts() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// presetRules are a preset's rules; ok is false for an unknown name.
func presetRules(name string) (rules []Rule, ok bool) {
	hosts, ok := presetHosts()[name]
	for _, host := range hosts {
		rule, err := ParseRule(host)
		if err != nil {
			return nil, false // cannot happen: the presets are tested
		}
		rules = append(rules, rule)
	}
	return rules, ok
}

// nearest is the known name with the least edits to what was written.
func nearest(written string, known []string) string {
	best, least := "", len(written)+1
	for _, name := range known {
		if d := edits(written, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
