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

// elsewhere are the files that write units themselves, and why.
var elsewhere = map[string]string{
	"view/load/sysbench.go":           "the report of sysbench 1.0.20, to the letter",
	"catalog/native.go":               "what servers read",
	"rule/functions.go":               "names of units in rules",
	"edit/edit.go":                    "below this package",
	"forecast/date.go":                "how others write dates",
	"storage/volume/limit_measure.go": "the name of a measurement, in the unit of a limit",
}

// A verb with a unit of bytes or time behind it ("%d MiB", "%.1fs"), and such a
// unit alone, as it is put behind a number; and a moment in UTC. A count of plain bytes is exact and
// needs no way of its own.
var written = regexp.MustCompile(`%[-+ #0-9.*]*[dfgsv] ?([KMGTP]i?B|kB|ns|us|µs|ms)\b|%[-+ #0-9.*]*[dfg] ?(s|min|h)\b|^ ([KMGTP]i?B|KiB|ms|µs|us|min|s|h)(/s)?$|^ ?[KMGT]iB(/s)?$|15:04\S* (UTC|MST)$`)

// TestNobodyElseWritesUnits: two packages that write the same number differently
// make a reader look for the difference.
func TestNobodyElseWritesUnits(t *testing.T) {
	files, found := 0, 0
	err := filepath.WalkDir("..", func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "units") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !written.MatchString(text) {
				return true
			}
			found++
			if elsewhere[strings.TrimPrefix(filepath.ToSlash(name), "../")] == "" {
				t.Errorf("%s writes a unit itself, where package units should: %q", name, text)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 300 || found < 5 {
		t.Errorf("looked at %d files, found %d (%v)", files, found, err)
	}
}
