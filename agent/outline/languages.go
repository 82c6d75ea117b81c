package outline

import (
	"path"
	"strings"
)

// language is how files of one kind are scanned.
type language struct {
	name string
	lex  lexis
	scan func(*file)
	// words are the keywords that declare a name, for scanBraces.
	words map[string]Kind
	style style
}

// style is what the brace scanner must know beyond the words.
type style struct {
	bare     bool // functions are declared without a keyword: type name(…) {
	cLike    bool // the rules of C: typedef, prototypes, struct as a type
	script   bool // the rules of JavaScript
	newlines bool // a line end can end a declaration
}

const (
	cBlock    = "/*"
	cBlockEnd = "*/"

	// Words that several languages share.
	wordFunction  = "function"
	wordInterface = "interface"
	wordOperator  = "operator"
)

// languages maps the ends of names to languages.
var languages = map[string]*language{
	".go": goLanguage(), ".py": pythonLanguage(), ".pyi": pythonLanguage(), ".pyx": pythonLanguage(),
	".js": scriptLanguage(), ".jsx": scriptLanguage(), ".mjs": scriptLanguage(), ".cjs": scriptLanguage(),
	".ts": scriptLanguage(), ".tsx": scriptLanguage(), ".mts": scriptLanguage(), ".cts": scriptLanguage(),
	".java": javaLanguage(), ".kt": kotlinLanguage(), ".kts": kotlinLanguage(), ".cs": csharpLanguage(),
	".c": cLanguage(), ".h": cLanguage(), ".cc": cLanguage(), ".cpp": cLanguage(), ".cxx": cLanguage(),
	".hh": cLanguage(), ".hpp": cLanguage(), ".hxx": cLanguage(), ".m": cLanguage(), ".cu": cLanguage(),
	".rs": rustLanguage(), ".rb": rubyLanguage(), ".rake": rubyLanguage(), ".gemspec": rubyLanguage(),
	".php": phpLanguage(), ".swift": swiftLanguage(), ".scala": scalaLanguage(), ".sc": scalaLanguage(),
	".sh": shellLanguage(), ".bash": shellLanguage(), ".zsh": shellLanguage(), ".ksh": shellLanguage(),
	".mk": makeLanguage(), "makefile": makeLanguage(), "gnumakefile": makeLanguage(),
	".md": markdownLanguage(), ".markdown": markdownLanguage(), ".sql": sqlLanguage(),
	".proto": protoLanguage(), ".tf": terraformLanguage(), ".tofu": terraformLanguage(),
	"rakefile": rubyLanguage(), "gemfile": rubyLanguage(),
}

// languageOf is the language of a file by its name, nil when unknown.
func languageOf(name string) *language {
	base := strings.ToLower(baseName(name))
	if l := languages[path.Ext(base)]; l != nil {
		return l
	}
	return languages[base]
}

func goLanguage() *language {
	return &language{
		name: "go", scan: scanGo,
		lex:   lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, quotes: `"'`, long: "`", raw: "`"},
		words: map[string]Kind{"func": KindFunction, "type": KindType},
		style: style{newlines: true},
	}
}

func javaLanguage() *language {
	return &language{
		name: "java", scan: scanBraces,
		lex:   lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, quotes: `"'`, triple: `"`},
		words: map[string]Kind{"class": KindClass, wordInterface: KindInterface, "enum": KindEnum, "record": KindClass},
		style: style{bare: true},
	}
}

func csharpLanguage() *language {
	return &language{
		name: "csharp", scan: scanBraces,
		lex: lexis{line: []string{"//", "#"}, block: cBlock, close: cBlockEnd, quotes: `"'`, triple: `"`, extra: verbatim, starts: "@"},
		words: map[string]Kind{
			"class": KindClass, wordInterface: KindInterface, "enum": KindEnum, "record": KindClass, "struct": KindStruct,
			"namespace": KindModule, "delegate": KindType,
		},
		style: style{bare: true},
	}
}

func cLanguage() *language {
	return &language{
		name: "c", scan: scanC,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, quotes: `"'`, extra: rawString, starts: "R"},
		words: map[string]Kind{
			"class": KindClass, "struct": KindStruct, "union": KindStruct, "enum": KindEnum, "namespace": KindModule,
			"using": KindType, "concept": KindType,
		},
		style: style{bare: true, cLike: true},
	}
}

func kotlinLanguage() *language {
	return &language{
		name: "kotlin", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, nested: true, quotes: `"'`, triple: `"`},
		words: map[string]Kind{
			"class": KindClass, wordInterface: KindInterface, "object": KindModule, "fun": KindFunction,
			"val": KindConstant, "var": KindVariable, "typealias": KindType,
		},
		style: style{newlines: true},
	}
}

func scalaLanguage() *language {
	return &language{
		name: "scala", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, nested: true, quotes: `"'`, triple: `"`},
		words: map[string]Kind{
			"class": KindClass, "trait": KindInterface, "object": KindModule, "def": KindFunction, "enum": KindEnum,
			"val": KindConstant, "var": KindVariable, "type": KindType,
		},
		style: style{newlines: true},
	}
}

func swiftLanguage() *language {
	return &language{
		name: "swift", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, nested: true, quotes: `"`, triple: `"`, extra: hashString, starts: "#"},
		words: map[string]Kind{
			"class": KindClass, "struct": KindStruct, "enum": KindEnum, "protocol": KindInterface, "actor": KindClass,
			"extension": "", "func": KindFunction, "let": KindConstant, "var": KindVariable, "typealias": KindType, "init": KindMethod,
		},
		style: style{newlines: true},
	}
}

func rustLanguage() *language {
	return &language{
		name: "rust", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, nested: true, long: `"`, extra: rustLiteral, starts: `'rb`},
		words: map[string]Kind{
			"fn": KindFunction, "struct": KindStruct, "enum": KindEnum, "trait": KindInterface, "union": KindStruct, "mod": KindModule,
			"impl": "", "type": KindType, "const": KindConstant, "static": KindVariable, "macro_rules": KindMacro,
		},
	}
}

func phpLanguage() *language {
	return &language{
		name: "php", scan: scanBraces,
		lex: lexis{
			line: []string{"//"}, block: cBlock, close: cBlockEnd, long: `"'`, heredoc: "<<<",
			extra: phpText, starts: "#?", begin: "<?",
		},
		words: map[string]Kind{
			wordFunction: KindFunction, "class": KindClass, wordInterface: KindInterface, "trait": KindInterface, "enum": KindEnum,
			"namespace": KindModule, "const": KindConstant,
		},
	}
}

func protoLanguage() *language {
	return &language{
		name: "proto", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, quotes: `"'`},
		words: map[string]Kind{
			"message": KindMessage, "enum": KindEnum, "service": KindService, "rpc": KindMethod, "package": KindModule,
		},
	}
}

func scriptLanguage() *language {
	return &language{
		name: "javascript", scan: scanBraces,
		lex: lexis{line: []string{"//"}, block: cBlock, close: cBlockEnd, quotes: `"'`, extra: scriptLiteral, starts: "`/"},
		words: map[string]Kind{
			wordFunction: KindFunction, "class": KindClass, wordInterface: KindInterface, "enum": KindEnum, "namespace": KindModule,
			"module": KindModule, "type": KindType, "const": KindConstant, "let": KindVariable, "var": KindVariable,
		},
		style: style{script: true, newlines: true},
	}
}

func pythonLanguage() *language {
	return &language{
		name: "python", scan: scanPython,
		lex: lexis{line: []string{"#"}, quotes: `"'`, triple: `"'`},
	}
}

func rubyLanguage() *language {
	return &language{
		name: "ruby", scan: scanRuby,
		lex: lexis{quotes: `"'`, heredoc: "<<", extra: rubyText, starts: "#=/"},
	}
}

func shellLanguage() *language {
	return &language{
		name: "shell", scan: scanShell,
		lex: lexis{long: `"'`, raw: `'`, heredoc: "<<", extra: shellText, starts: `#\`},
	}
}

func makeLanguage() *language {
	return &language{name: "make", scan: scanMake, lex: lexis{line: []string{"#"}}}
}

func markdownLanguage() *language {
	return &language{name: "markdown", scan: scanMarkdown}
}

func sqlLanguage() *language {
	return &language{
		name: "sql", scan: scanSQL,
		lex: lexis{line: []string{"--"}, block: cBlock, close: cBlockEnd, long: `'`, raw: `'`, extra: dollarString, starts: "$"},
	}
}

func terraformLanguage() *language {
	return &language{
		name: "terraform", scan: scanTerraform,
		lex: lexis{line: []string{"//", "#"}, block: cBlock, close: cBlockEnd, quotes: `"`, heredoc: "<<"},
	}
}
