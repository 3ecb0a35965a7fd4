package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parserName tells the functions that read what a machine or a person wrote.
var parserName = regexp.MustCompile(`^([pP]arse|[rR]ead)[A-Z]|^(Parse|parse)$`)

// notFuzzed are functions with a parser's name that are none, or are reached
// by a fuzz target another way, with the reason.
var notFuzzed = map[string]string{
	"internal/host/command.go:parseCommands": "takes our own list",
	"internal/host/live_file.go:readHead":    "takes a name and a limit, and reads bytes as they are",
	"internal/tape/read.go:parseEntry":       "FuzzRead reaches it line by line",
}

// Every function that parses text of a machine is reached from a fuzz target
// of its package: called in one, or by a function that is.
func TestEveryParserIsFuzzed(t *testing.T) {
	for dir, files := range goFiles(t, "../internal") {
		calls, parsers, reached := map[string][]string{}, map[string]string{}, []string{}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				used := names(f.Body)
				calls[f.Name.Name] = append(calls[f.Name.Name], used...)
				isTest := strings.HasSuffix(name, "_test.go")
				if isTest && strings.HasPrefix(f.Name.Name, "Fuzz") {
					reached = append(reached, used...)
				}
				if !isTest && f.Recv == nil && parserName.MatchString(f.Name.Name) && takesText(f) {
					parsers[f.Name.Name] = strings.TrimPrefix(name, "../") + ":" + f.Name.Name
				}
			}
		}
		for i := 0; i < len(reached); i++ { // what is reached by what is reached
			for _, next := range calls[reached[i]] {
				if !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
		for name, at := range parsers {
			if !slices.Contains(reached, name) && notFuzzed[at] == "" {
				t.Errorf("%s: %s is not reached from any fuzz target in %s", at, name, dir)
			}
		}
	}
}

// goFiles gives the Go files below a directory by package directory.
func goFiles(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") {
			out[filepath.Dir(name)] = append(out[filepath.Dir(name)], name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names lists the identifiers a body uses.
func names(body ast.Node) []string {
	var out []string
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !slices.Contains(out, id.Name) {
			out = append(out, id.Name)
		}
		return true
	})
	return out
}

// takesText reports whether a function has a parameter of bytes, or one of
// text with nothing else but texts.
func takesText(f *ast.FuncDecl) bool {
	texts, others := 0, 0
	for _, p := range f.Type.Params.List {
		switch typ := p.Type.(type) {
		case *ast.ArrayType:
			if id, ok := typ.Elt.(*ast.Ident); ok && id.Name == "byte" {
				return true
			}
			others++
		case *ast.Ident:
			if typ.Name == "string" {
				texts++
			} else {
				others++
			}
		default:
			others++
		}
	}
	return texts > 0 && others == 0
}
