// Package verdict loads what can hold a server back: knowledge/verdicts, read
// by package rule, which judges them.
package verdict

import (
	"fmt"
	"io/fs"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/rule"
)

// dir is where they are.
const dir = "verdicts"

// Load reads all verdicts, with a catalogue of windows ([catalog.Windows]). It
// returns those that are sound, sorted by id, with every mistake in the others.
func Load(fsys fs.FS, cat *catalog.Catalog) ([]*rule.Limit, error) {
	all, err := rule.Limits(fsys, dir, cat)
	if err != nil {
		err = fmt.Errorf("read the verdicts: %w", err)
	}
	return all, err
}

// Read reads one as it is written, for explaining. The error is fs.ErrNotExist
// where there is none of that id.
func Read(fsys fs.FS, id string) (*rule.Limit, error) { return rule.ReadLimit(fsys, dir, id) }

// IDs lists the ids, without reading the files.
func IDs(fsys fs.FS) []string {
	names, _ := fs.Glob(fsys, dir+"/*/*.yaml") // the pattern is sound
	var ids []string
	for _, n := range names {
		ids = append(ids, n[len(dir)+1:len(n)-len(".yaml")])
	}
	slices.Sort(ids)
	return ids
}
