package zfs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isName tells what may be the name of a pool or dataset from what cannot:
// an answer that is none must not make one.
func isName(s string) bool {
	return s != "" && s[0] != '/' && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// property is one line of `zfs get` or `zpool get`.
type property struct {
	of, name, value, source string
}

// parseProperties reads the tab-separated lines of `zfs get -Hp -o
// name,property,value,source` and `zpool get -Hp`. A line that was cut in the
// middle, or has another shape, is passed over.
func parseProperties(text []byte) []property {
	var all []property
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // the answer was cut here
		}
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(fields) != 4 || !isName(fields[0]) || fields[1] == "" {
			continue
		}
		all = append(all, property{fields[0], fields[1], fields[2], fields[3]})
	}
	return all
}

// parseAligned reads the same from the aligned columns that zfs-fuse's
// `zpool get` prints. No pool name, property or source holds a space; a value
// may, and then lies between.
func parseAligned(text []byte) []property {
	var all []property
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] == "NAME" || !isName(f[0]) {
			continue
		}
		last := len(f) - 1
		all = append(all, property{f[0], f[1], strings.Join(f[2:last], " "), f[last]})
	}
	return all
}

// parseRows reads tab-separated rows of a known number of columns, the first
// of which is a name.
func parseRows(text []byte, columns int) [][]string {
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if f := strings.Split(strings.TrimRight(line, "\r\n"), "\t"); len(f) == columns && isName(f[0]) {
			rows = append(rows, f)
		}
	}
	return rows
}
