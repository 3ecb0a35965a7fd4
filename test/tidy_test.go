// Package test holds what is checked of the source tree as a whole.
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

// Limits of STYLE.md.
const (
	functionLines = 70
	fileLines     = 500
	parameters    = 7
)

type source struct {
	path string
	file *ast.File
	set  *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	set := token.NewFileSet()
	var all []source
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path, f, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found only %d Go files", len(all))
	}
	return all
}

func TestFunctionsFitAScreen(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.lines(f); n > functionLines {
				t.Errorf("%s: %s has %d lines, the limit is %d", s.path, f.Name.Name, n, functionLines)
			}
		}
	}
}

// Of more arguments some belong together, and have a name.
func TestFunctionsTakeFewParameters(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Type.Params.NumFields() > parameters {
				t.Errorf("%s:%d: %s takes %d parameters, more than %d", s.path, s.set.Position(f.Pos()).Line, f.Name.Name, f.Type.Params.NumFields(), parameters)
			}
		}
	}
}

func (s source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

func TestFilesAreOneIdea(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.set.File(s.file.Pos()).LineCount(); n > fileLines {
			t.Errorf("%s has %d lines, the limit is %d", s.path, n, fileLines)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// bags are names under which anything can be put.
var bags = []string{"util", "utils", "common", "helper", "helpers", "misc"}

func TestNoInitAndNoBags(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function: call it from where it is needed", s.path)
			}
		}
		if s.file.Name.Name == "base" || slices.Contains(bags, s.file.Name.Name) {
			t.Errorf("%s: package %s says nothing: name it after what it is", s.path, s.file.Name.Name)
		}
		if name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.path), ".go"), "_test"); slices.Contains(bags, name) {
			t.Errorf("%s: the name says nothing: call the file by what is in it", s.path)
		}
	}
}

// TestExportedThingsAreDocumented asks it of types and functions; a group of
// constants or variables may share one comment.
func TestExportedThingsAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no comment", s.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver is false for methods of unexported types, which carry the
// contract of the interface they implement.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	e := f.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}

// homes are texts that only one file of the product may contain. All others call a function of that file, so that what
// the text asks of a machine is asked in one way, and an error on the way is handled in one way.
var homes = map[string]string{"/run/systemd/system": "../internal/host/host.go"}

func TestTextsHaveOneHome(t *testing.T) {
	at := map[string][]string{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text := strings.Trim(lit.Value, "`\"")
				at[text] = append(at[text], s.path)
			}
			return true
		})
	}
	for text, home := range homes {
		if got := at[text]; !slices.Equal(got, []string{home}) {
			t.Errorf("%q is in %v, and belongs in %s alone", text, got, home)
		}
	}
}

var marker = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

func TestNoLeftovers(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "tidy_test.go") {
			continue
		}
		for _, c := range s.file.Comments {
			if m := marker.FindString(c.Text()); m != "" {
				t.Errorf("%s: a %s was left: file an issue or do it", s.set.Position(c.Pos()), m)
			}
		}
	}
}
