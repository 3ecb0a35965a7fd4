package test

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// TestSecurityPageNamesTestsThatExist: each sentence of the page is held by a
// test, and a test that was renamed or removed leaves no promise behind.
func TestSecurityPageNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				there[f.Name.Name] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllSubmatch(page, -1)
	if len(named) < 5 {
		t.Fatalf("the page names only %d tests", len(named))
	}
	for _, n := range named {
		if !there[string(n[1])] {
			t.Errorf("docs/security.md names %s, and there is no such test", n[1])
		}
	}
}
