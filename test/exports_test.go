package test

import (
	"go/ast"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportedFunctionsAreCalledElsewhere finds functions that are exported for nobody, and with them dead code: the compiler and linters
// tell only of unexported functions that nobody calls. Methods are left out, as an interface of any package may want them.
func TestExportedFunctionsAreCalledElsewhere(t *testing.T) {
	all := sources(t)
	named := map[string]bool{} // by another package: "plumb/internal/host.Exists"
	for _, s := range all {
		for _, name := range s.selections() {
			named[name] = true
		}
	}
	for _, s := range all {
		if strings.HasSuffix(s.path, "_test.go") || !strings.HasPrefix(s.path, "../internal/") {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && !named[s.importPath()+"."+f.Name.Name] {
				t.Errorf("%s: no other package calls %s: remove it, or do not export it", s.set.Position(f.Pos()), f.Name.Name)
			}
		}
	}
}

func (s source) importPath() string {
	return path.Join("plumb", strings.TrimPrefix(filepath.ToSlash(filepath.Dir(s.path)), ".."))
}

// selections lists what a file names of packages that it imports, with their import paths. A test outside of the package it tests
// imports that package too.
func (s source) selections() (all []string) {
	imports := map[string]string{} // by the name in this file
	for _, i := range s.file.Imports {
		from := strings.Trim(i.Path.Value, `"`)
		name := path.Base(from)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = from
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && imports[id.Name] != "" {
				all = append(all, imports[id.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return all
}
