package postgres

import (
	_ "embed" // the units
	"slices"
	"strings"
)

//go:embed units.txt
var unitsOfSettings string

// baseUnit gives the unit of a bare number in a configuration file, for when
// the server cannot be asked; "" for none.
func baseUnit(name string) string {
	for line := range strings.Lines(unitsOfSettings) {
		if unit, names, ok := strings.Cut(line, ": "); ok && slices.Contains(strings.Fields(names), name) {
			return unit
		}
	}
	return ""
}
