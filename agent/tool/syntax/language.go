package syntax

import (
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// languageOf chooses the parser by the file's name, and where one name stands
// for two dialects by what is in the file. Nil means that it is not checked.
func languageOf(name string, body []byte) checker {
	base := strings.ToLower(path.Base(name))
	if unchecked(name, base) {
		return nil
	}
	switch path.Ext(base) {
	case ".go":
		return checkGo
	case ".json":
		return jsonDialect(name, base, body)
	case ".jsonc", ".code-workspace":
		return checkJSONC
	case ".webmanifest", ".ipynb", ".geojson":
		return checkJSON
	case ".yaml", ".yml":
		return checkYAML
	case ".toml":
		return checkTOML
	case ".sh", ".bash":
		return checkShell
	case ".css":
		return script(api.LoaderCSS)
	}
	return scriptOf(base)
}

// unchecked names the files whose ending promises less than it says: templates
// and the data of tests, which is often broken on purpose.
func unchecked(name, base string) bool {
	for part := range strings.SplitSeq(strings.ToLower(path.Dir(name)), "/") {
		switch part {
		case "testdata", "fixtures", "__fixtures__", "test-fixtures":
			return true
		}
	}
	return strings.Contains(base, ".tmpl.") || strings.Contains(base, ".template.") ||
		strings.Contains(base, ".j2.") || strings.Contains(name, "{{")
}

// scriptOf knows the names of JavaScript and TypeScript.
func scriptOf(base string) checker {
	switch path.Ext(base) {
	case ".ts", ".mts", ".cts":
		return script(api.LoaderTS)
	case ".tsx":
		return script(api.LoaderTSX)
	case ".js", ".jsx":
		// Plain .js holds JSX, and Flow's or a macro's types, in many
		// projects; what either reading accepts is accepted.
		return either(script(api.LoaderJSX), script(api.LoaderTSX))
	case ".mjs", ".cjs":
		return script(api.LoaderJS)
	}
	return nil
}

// either reports the faults of first unless second has none.
func either(first, second checker) checker {
	return func(body []byte) []Fault {
		faults := first(body)
		if len(faults) == 0 || len(second(body)) == 0 {
			return nil
		}
		return faults
	}
}
