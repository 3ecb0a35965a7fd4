package units

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built is a package of a program, as go list describes it.
type built struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// TestNobodyPrintsDurations: Go writes 1h0m0s and 1.234567891s, which nobody reads. Sentences get lengths of time from this package.
func TestNobodyPrintsDurations(t *testing.T) {
	if testing.Short() {
		t.Skip("it types every package")
	}
	for _, module := range []struct {
		dir, packages   string
		leastOf, leastC int // packages and calls, so that it sees when it looks at none
	}{{"../..", "./internal/...", 150, 10000}, {"../../research", "./...", 10, 2000}} {
		exports, ours := listed(t, module.dir, module.packages)
		fset := token.NewFileSet()
		from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
		calls := 0
		for _, p := range ours {
			if strings.HasSuffix(p.ImportPath, "/units") {
				continue
			}
			calls += printed(t, fset, from, p)
		}
		if len(ours) < module.leastOf || calls < module.leastC {
			t.Errorf("in %s it looked at %d packages with %d calls", module.dir, len(ours), calls)
		}
	}
}

// listed gives the packages of a module, and where the compiled form of all is that they import.
func listed(t *testing.T, dir, packages string) (exports map[string]string, ours []built) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module", packages)
	cmd.Dir, cmd.Stderr = filepath.FromSlash(dir), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p built
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports, ours
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main && !strings.HasSuffix(p.ImportPath, "test") {
			ours = append(ours, p)
		}
	}
}

// printed reports where a package gives a duration to what takes anything, as Sprintf does, or asks it for its text. What
// watch/feed passes to a plumb that it starts is read by no person.
func printed(t *testing.T, fset *token.FileSet, from types.Importer, p built) (calls int) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: from}).Check(p.ImportPath, fset, files, &info); err != nil {
		t.Fatal(err)
	}
	isDuration := func(e ast.Expr) bool {
		t := info.Types[e].Type // nil for the name of a package
		return t != nil && t.String() == "time.Duration"
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			calls++
			if of, ok := call.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "String" && isDuration(of.X) && !strings.HasSuffix(p.ImportPath, "/feed") {
				t.Errorf("%s: the text of a duration", fset.Position(call.Pos()))
			}
			takes, ok := info.Types[call.Fun].Type.(*types.Signature)
			if !ok || !takes.Variadic() {
				return true
			}
			last, ok := takes.Params().At(takes.Params().Len() - 1).Type().(*types.Slice) // of append it can be a string
			if !ok || !types.IsInterface(last.Elem()) {
				return true
			}
			for _, arg := range call.Args[min(len(call.Args), takes.Params().Len()-1):] {
				if isDuration(arg) {
					t.Errorf("%s: a duration as it is: %s", fset.Position(arg.Pos()), types.ExprString(arg))
				}
			}
			return true
		})
	}
	return calls
}
