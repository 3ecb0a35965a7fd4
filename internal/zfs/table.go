package zfs

import (
	"fmt"
	"slices"
	"strings"
)

// Property is one line of `zfs get` or `zpool get`.
type Property struct {
	Of, Name, Value, Source string
}

// Named gives the property of a name among those of one dataset or pool; zero if it is not there.
func Named(all []Property, name string) (p Property) {
	if i := slices.IndexFunc(all, func(p Property) bool { return p.Name == name }); i >= 0 {
		p = all[i]
	}
	return p
}

// ParseProperties reads the tab-separated lines of `zfs get -Hp -o
// name,property,value,source` and `zpool get -Hp`. A line that was cut in the
// middle, or has another shape, is passed over.
func ParseProperties(text []byte) []Property {
	var all []Property
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // the answer was cut here
		}
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(fields) != 4 || !isName(fields[0]) || fields[1] == "" {
			continue
		}
		all = append(all, Property{fields[0], fields[1], fields[2], fields[3]})
	}
	return all
}

// parseAligned reads the same from the aligned columns that zfs-fuse's
// `zpool get` prints. No pool name, property or source holds a space; a value
// may, and then lies between.
func parseAligned(text []byte) []Property {
	var all []Property
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] == "NAME" || !isName(f[0]) {
			continue
		}
		last := len(f) - 1
		all = append(all, Property{f[0], f[1], strings.Join(f[2:last], " "), f[last]})
	}
	return all
}

// ParseRows reads tab-separated rows of a known number of columns, the first
// of which is a name.
func ParseRows(text []byte, columns int) [][]string {
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

// ParseValues reads the two columns that Values prints. Of two lines of one name the first counts: what people set
// comes last, and a line break in it makes lines.
func ParseValues(text []byte) map[string]string {
	all := map[string]string{}
	for _, row := range ParseRows(text, 2) {
		if _, had := all[row[0]]; !had {
			all[row[0]] = row[1]
		}
	}
	return all
}

// Mark is what a dataset says in one property, and where that comes from: it
// is "local" when it was set there.
type Mark struct{ Value, Source string }

// ParseMarks reads what Marks prints, by name. A removal relies on it, so a
// line that is not understood, or was cut, is an error.
func ParseMarks(text []byte) (map[string]Mark, error) {
	all := map[string]Mark{}
	rows := ParseRows(text, 3)
	if lines := strings.Count(string(text), "\n"); len(rows) != lines || len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("zfs get printed %d lines, of which %d were understood", lines, len(rows))
	}
	for _, row := range rows {
		all[row[0]] = Mark{row[1], row[2]}
	}
	return all, nil
}
