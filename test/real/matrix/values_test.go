package matrix

import (
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// scale gives PostgreSQL's units in bytes and in microseconds; 0 for another.
func scale(unit string) (bytes, micros float64) {
	switch unit {
	case "B":
		return 1, 0
	case "kB":
		return 1 << 10, 0
	case "8kB":
		return 8 << 10, 0
	case "MB":
		return 1 << 20, 0
	case "us":
		return 0, 1
	case "ms":
		return 0, 1e3
	case "s":
		return 0, 1e6
	case "min":
		return 0, 60e6
	}
	return 0, 0
}

// measures tells whether a fact of a type can count what a server counts in a
// unit. Of some sizes in bytes PostgreSQL names no unit.
func measures(t catalog.Type, unit string) bool {
	if unit == "" {
		return true
	}
	bytes, micros := scale(unit)
	switch t {
	case catalog.Bytes:
		return bytes > 0
	case catalog.Millis, catalog.Micros, catalog.Seconds:
		return micros > 0
	}
	return false
}

// factor turns a number of the server's into one of the fact's.
func factor(t catalog.Type, unit string) float64 {
	bytes, micros := scale(unit)
	switch {
	case unit == "":
		return 1
	case t == catalog.Bytes:
		return bytes
	case t == catalog.Millis:
		return micros / 1e3
	case t == catalog.Seconds:
		return micros / 1e6
	}
	return micros
}

// number reads a number as the server writes it, in the fact's unit. 0 and -1
// have meanings of their own and stay.
func number(f *catalog.Fact, unit, text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, false
	}
	if n == 0 || n == -1 {
		return n, true
	}
	return n * factor(f.Type, unit), true
}

// defaultDiffers compares a knob's default with the server's.
func defaultDiffers(f *catalog.Fact, s Server, is Setting) (says string, differs bool) {
	says, stated := toldDefault(f.Doc, s.Version)
	for _, key := range []string{s.Flavor, ""} {
		if text, ok := f.Knob.Default[key]; ok && !stated {
			says, stated = text, true
		}
	}
	if !stated {
		return "", false
	}
	want, err := catalog.ParseValue(f, says)
	if err != nil {
		return says, true
	}
	if is.Unit != "" {
		have, ok := number(f, is.Unit, *is.Default)
		return says, !ok || !want.Equal(stack.Float(have))
	}
	have, err := catalog.ParseValue(f, *is.Default)
	if err != nil {
		return says, true
	}
	if a, ok := want.Text(); ok {
		b, _ := have.Text()
		return says, !strings.EqualFold(a, b)
	}
	return says, !want.Equal(have)
}

// What a knob's doc says of older releases of a product with one flavour, in
// words that a test can hold it to.
var (
	oldDefault = regexp.MustCompile(`(?:default|compiled-in) (\S+) before (\d+(?:\.\d+)*)`)
	oldRestart = regexp.MustCompile(`before (\d+(?:\.\d+)*) a change needs a restart`)
)

// toldDefault gives the default that a doc tells of a version.
func toldDefault(doc, version string) (string, bool) {
	m := oldDefault.FindStringSubmatch(doc)
	if m == nil || !before(version, m[2]) {
		return "", false
	}
	return m[1], true
}

// toldRestart tells whether a doc says that a version needs a restart.
func toldRestart(doc, version string) bool {
	m := oldRestart.FindStringSubmatch(doc)
	return m != nil && before(version, m[1])
}

func before(version, than string) bool {
	a, err := catalog.ParseVersion(version)
	b, err2 := catalog.ParseVersion(than)
	return err == nil && err2 == nil && a.Compare(b) < 0
}
