package syntax

import (
	"bytes"
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"

	"github.com/evanw/esbuild/pkg/api"
	"mvdan.cc/sh/v3/syntax"
)

func checkGo(body []byte) []Fault {
	if !goCost().affordable(body) {
		return nil
	}
	_, err := parser.ParseFile(token.NewFileSet(), "", body, parser.SkipObjectResolution|parser.AllErrors)
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		return nil
	}
	var faults []Fault
	for _, e := range list {
		faults = append(faults, Fault{Line: e.Pos.Line, Column: e.Pos.Column, Message: e.Msg})
	}
	return faults
}

// maxCSSNesting is far beyond what is written; esbuild's work for nested rules
// grows faster than their depth.
const maxCSSNesting = 50

// script checks JavaScript, TypeScript and style sheets by the transform that
// a bundler would make of one file: it resolves no import.
func script(loader api.Loader) checker {
	return func(body []byte) []Fault {
		if loader == api.LoaderCSS && nesting(body, false) > maxCSSNesting || loader != api.LoaderCSS && !scriptCost().affordable(body) {
			return nil
		}
		if isTemplate(body) || loader != api.LoaderCSS && bytes.Contains(body, []byte("@flow")) {
			return nil // another language by the same ending
		}
		result := api.Transform(string(body), api.TransformOptions{
			Loader:   loader,
			LogLevel: api.LogLevelSilent,
			LogLimit: maxFaults,
			Target:   api.ESNext,
			JSX:      api.JSXPreserve,
			// What a project's own tsconfig allows is allowed.
			TsconfigRaw: `{"compilerOptions":{"experimentalDecorators":true}}`,
		})
		messages := result.Errors
		if loader == api.LoaderCSS {
			// A style sheet's syntax errors are warnings to esbuild, since
			// browsers skip them.
			messages = slices.Concat(messages, cssSyntax(result.Warnings))
		}
		return faultsOf(messages)
	}
}

// isTemplate knows the marks of text templates; two braces alone are ordinary
// in scripts.
func isTemplate(body []byte) bool {
	mark := regexp.MustCompile(`\{\{-?\s*(define|end|if|else|range|template|block|with|include|\.)|\{%|<%`)
	return mark.Match(body)
}

// cssSyntax keeps the warnings that say that the parser lost its way.
func cssSyntax(warnings []api.Message) []api.Message {
	return slices.DeleteFunc(slices.Clone(warnings), func(m api.Message) bool { return m.ID != "css-syntax-error" })
}

func faultsOf(messages []api.Message) []Fault {
	var faults []Fault
	for _, m := range messages {
		f := Fault{Line: 1, Message: m.Text}
		if m.Location != nil {
			f.Line, f.Column = m.Location.Line, m.Location.Column+1
		}
		faults = append(faults, f)
	}
	return faults
}

// checkShell reads bash, of which POSIX shell is a part. A first line that
// names another shell is another language; a file without a first line may be
// anything that is sourced, and is read as bash.
func checkShell(body []byte) []Fault {
	first, _, _ := bytes.Cut(body, []byte("\n"))
	if bytes.HasPrefix(first, []byte("#!")) {
		for _, other := range []string{"zsh", "fish", "ksh", "csh", "python", "perl", "node", "bats", "busybox"} {
			if bytes.Contains(first, []byte(other)) {
				return nil
			}
		}
	}
	if bytes.Contains(body, []byte("{{")) || bytes.Contains(body, []byte("<%")) {
		return nil
	}
	if !shellCost().affordable(body) {
		return nil
	}
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(body), "")
	fault, ok := errors.AsType[syntax.ParseError](err)
	if !ok {
		return nil
	}
	return []Fault{{Line: int(fault.Pos.Line()), Column: int(fault.Pos.Col()), Message: fault.Text}}
}
