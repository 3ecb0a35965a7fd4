// Package paths tells by their names alone how files and directories lie in one another. No link is followed and no file looked at:
// the names are clean, and both absolute or both relative to the same directory.
package paths

import (
	"path"
	"slices"
	"strings"
)

// Within tells whether a name is that of a directory, or of something below it.
func Within(name, dir string) bool {
	_, within := Cut(name, dir)
	return within
}

// Cut gives what a name has after that of a directory it lies within, without the slash between: "" for the directory itself. An
// empty name is unknown: nothing lies within it, nor it within anything.
func Cut(name, dir string) (rest string, within bool) {
	if name == "" || dir == "" {
		return "", false
	}
	rest, within = strings.CutPrefix(name, strings.TrimSuffix(dir, "/"))
	if !within || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// Matches tells whether a name fits one of some patterns, as path.Match has it.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { fits, _ := path.Match(p, name); return fits })
}
