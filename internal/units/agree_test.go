package units

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// several are counts with a verb that are never one: of more than one thing that fits, of more than a limit, or of what this project makes.
var several = map[string]bool{
	"this model does not hold beyond the %d threads that were measured":                   true,
	"%d things are of kind %s: say which, such as %s":                                     true,
	"list the indexes of %s: only %d of them are looked at":                               true,
	"list the indexes of %s: only the %d oldest of its %d databases are looked into":      true,
	"%d backups are called %s":                                                            true,
	"%d vdevs need a volume.layout: stripe, mirror or raidz":                              true,
	"%d recipients are given, but age cannot open a file made for more than %d":           true,
	"All %d conditions that were checked hold · %s":                                       true,
	"the past is short: of real series of which %d days were known%s, %d %% of what came": true,
}

// A verb of a sentence about several things, with at most three words between it and their number.
var (
	ofSeveral = regexp.MustCompile(`^( [a-z'-]+){0,3} (are|were|have|do|need|stay|wait)\b`)
	verbs     = regexp.MustCompile(`%[-+ #0-9.]*[a-zA-Z%]`)
	limits    = regexp.MustCompile(`^(\w+\.)?(least|most|max|min|Most|Least|Max)`)
)

// TestCountsAgree: "1 more block are needed" is written where Count gives the number and the sentence goes on with the verb. Counted does both.
func TestCountsAgree(t *testing.T) {
	counts := 0
	err := filepath.WalkDir("..", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(filepath.Dir(name), "test") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if counted(n) {
				counts++
			}
			if text := disagrees(n); text != "" {
				t.Errorf("%s: with one it is wrong; Counted takes the verb too: %q", fset.Position(n.Pos()), text)
			}
			return true
		})
		return nil
	})
	if err != nil || counts < 150 {
		t.Errorf("looked at %d counts (%v)", counts, err)
	}
}

// counted tells whether an expression is a call of Count.
func counted(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		of, ok := f.X.(*ast.Ident)
		return ok && of.Name == "units" && f.Sel.Name == "Count"
	case *ast.Ident:
		return f.Name == "count" && len(call.Args) == 2
	}
	return false
}

// disagrees gives the text in which a count, put together or formatted, goes on with a verb that does not go with one; "" for none.
func disagrees(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		left := n.X
		if more, ok := left.(*ast.BinaryExpr); ok {
			left = more.Y
		}
		if text := literal(n.Y); n.Op == token.ADD && counted(left) && ofSeveral.MatchString(text) {
			return text
		}
	case *ast.CallExpr:
		for i, arg := range n.Args {
			if format := literal(arg); strings.Contains(format, "%") {
				return disagreesIn(format, n.Args[i+1:])
			}
		}
	}
	return ""
}

// disagreesIn looks at a format and what it formats.
func disagreesIn(format string, args []ast.Expr) string {
	for text := range several {
		if strings.HasPrefix(format, text) {
			return ""
		}
	}
	rest, of := format, 0
	for {
		at := verbs.FindStringIndex(rest)
		if at == nil {
			return ""
		}
		verb, before := rest[at[0]:at[1]], rest[:at[0]]
		if rest = rest[at[1]:]; verb == "%%" {
			continue
		}
		if of >= len(args) {
			return ""
		}
		arg := args[of]
		of++
		goesOn := ofSeveral.FindString(rest)
		switch {
		case goesOn == "", strings.HasSuffix(before, " of "), strings.HasSuffix(goesOn, " there are"): // "the checksums of 1 table are"
		case counted(arg):
			return format
		case verb == "%d" && strings.Count(goesOn, " ") > 1 && !strings.HasPrefix(goesOn, " bytes ") && !strings.HasPrefix(goesOn, " for ") && !limit(arg):
			return format
		}
	}
}

// limit tells whether an expression is the name of a limit, which is never one.
func limit(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return limits.MatchString(e.Name)
	case *ast.SelectorExpr:
		return limits.MatchString(e.Sel.Name)
	}
	return false
}

func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}

// Of one and of several, the words go with the number.
func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 more blocks are", 1: "1 more block is", 2: "2 more blocks are"} {
		if got := Counted(n, "more block", "is", "are"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Count(int64(1), "row"); got != "1 row" {
		t.Errorf("%q", got)
	}
}
