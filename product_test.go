package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/product"
)

// namesProducts lists the files below engine/ that may name a product, and why.
var namesProducts = map[string]string{
	"internal/budget/models.go":       "the memory of each product is an equation of its own, which rules and views draw on",
	"internal/rehearse/kind.go":       "the one table of in what rehearsals differ by product",
	"internal/rehearse/tunables.go":   "the candidates of that table",
	"internal/lab/ledger/ledger.go":   "the ledger itself may be in PostgreSQL",
	"internal/lab/ledger/postgres.go": "likewise",
	"internal/host/redact/redact.go":  "how client programs write secrets",
	"internal/host/redact/words.go":   "likewise",
	"internal/edit/edit.go":           "kinds of files, which are named as the file is",
	"internal/view/metrics/compat.go": "other exporters, some of which are called as their servers are",
}

// TestProductsAreNamedInOnePlace: what lies below engine/ asks the table of
// products, and names none, neither in a text nor by its constants. Elsewhere
// no list of them is written out a second time.
func TestProductsAreNamedInOnePlace(t *testing.T) {
	names := productNames()
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.path, "plumb/internal/")
		if name == "product" {
			continue
		}
		for _, file := range strings.Fields(p.files) {
			path := "internal/" + name + "/" + file
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if namesProducts[path] != "" {
				continue
			}
			if belowEngine(name) {
				for _, at := range namedIn(f, names) {
					t.Errorf("%s names a product: ask internal/product, or give a reason in namesProducts", fset.Position(at))
				}
			}
			for _, at := range listsOf(f, names) {
				t.Errorf("%s lists products once more: internal/product has the list", fset.Position(at))
			}
		}
	}
	for file, why := range namesProducts {
		if matches, _ := filepath.Glob(file); why == "" || len(matches) == 0 {
			t.Errorf("namesProducts lists %s, which is not there or has no reason", file)
		}
	}
}

// productNames are the words that are products: kinds, flavours, what people
// call them, what they run as, and their schemes.
func productNames() map[string]bool {
	names := map[string]bool{}
	for _, s := range product.Servers() {
		words := slices.Concat([]string{s.Kind}, s.Programs, s.Wrappers, s.Accounts, s.Schemes)
		for _, f := range s.Flavors {
			words = append(words, f.Name, f.Label, f.Claim)
		}
		for _, w := range words {
			names[strings.ToLower(w)] = w != ""
		}
	}
	return names
}

// belowEngine tells whether a package is in a lower layer than the engines.
func belowEngine(name string) bool {
	for _, layer := range layers {
		if slices.Contains(layer, "engine/mysql") {
			return false
		}
		if slices.Contains(layer, name) {
			return true
		}
	}
	return false
}

// isProduct tells whether an expression is the name of a product.
func isProduct(n ast.Node, names map[string]bool) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return n.Kind == token.STRING && err == nil && names[strings.ToLower(strings.TrimSuffix(text, "://"))]
	case *ast.SelectorExpr:
		from, ok := n.X.(*ast.Ident)
		return ok && from.Name == "product" && slices.Contains([]string{"MySQL", "Postgres", "Mongo", "ProxySQL", "MariaDB", "Percona"}, n.Sel.Name)
	}
	return false
}

// namedIn gives where a file names products.
func namedIn(f *ast.File, names map[string]bool) (at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		if n != nil && isProduct(n, names) {
			at = append(at, n.Pos())
		}
		return true
	})
	return at
}

// listsOf gives where a file writes out three products or more, in a list of
// texts or in one case of a switch. A table with something for each is none.
func listsOf(f *ast.File, names map[string]bool) (at []token.Pos) {
	count := func(n ast.Node, list []ast.Expr) {
		found := 0
		for _, e := range list {
			if isProduct(e, names) {
				found++
			}
		}
		if found > 2 {
			at = append(at, n.Pos())
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			count(n, n.Elts)
		case *ast.CaseClause:
			count(n, n.List)
		}
		return true
	})
	return at
}
