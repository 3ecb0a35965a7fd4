// Package pages reads the pages that users read, for tests of what they say.
package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Fenced is a block of a page that is shown as it stands. Its first group is what is in it.
var Fenced = regexp.MustCompile("(?ms)^```[^\n]*\n(.*?)^```$")

// Read gives the Markdown files of the repository, which is at root, by their names from there.
func Read(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !d.IsDir() && filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, root+"/")] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 || all["README.md"] == "" {
		t.Fatalf("found only %d pages", len(all))
	}
	return all
}
