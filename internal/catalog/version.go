package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is the numbers of a version: 8.0.36 is {8, 0, 36}. Calendar versions
// such as MySQL 26.7.0 compare like all others.
type Version []int

// Numbers gives what a version begins with: 10.11.19 of 10.11.19-MariaDB-log.
func Numbers(version string) string {
	if end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		version = version[:end]
	}
	return strings.TrimRight(version, ".")
}

// ParseVersion reads the numbers at the start of a version; what follows
// (-MariaDB, ~deb12u1, rc1, -1-amd64) is left out.
func ParseVersion(text string) (Version, error) {
	var v Version
	for part := range strings.SplitSeq(Numbers(strings.TrimPrefix(strings.TrimSpace(text), "v")), ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n > 99999999 {
			return nil, fmt.Errorf("%q is not a version: want numbers with dots, such as 8.0.36", text)
		}
		v = append(v, n)
	}
	if len(v) > 6 {
		return nil, fmt.Errorf("%q is not a version: it has more than six numbers", text)
	}
	return v, nil
}

// Compare orders versions; a number that is not there counts as 0.
func (v Version) Compare(o Version) int {
	for i := range max(len(v), len(o)) {
		a, b := 0, 0
		if i < len(v) {
			a = v[i]
		}
		if i < len(o) {
			b = o[i]
		}
		if a != b {
			return a - b
		}
	}
	return 0
}

// String gives the numbers with dots.
func (v Version) String() string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// Range is a range of versions, both ends included. A nil end is open. The
// end counts as far as it is written: "-5.7" has every 5.7.x.
type Range struct{ From, To Version }

// ParseRange reads "8.0.30-", "-5.7", "10.5-11.3", "10.11.14-10.11" for the
// rest of a series, or "5.7" for a whole one.
func ParseRange(text string) (Range, error) {
	from, to, isRange := strings.Cut(strings.TrimSpace(text), "-")
	if !isRange {
		to = from
	}
	var r Range
	for _, end := range []struct {
		text string
		into *Version
	}{{from, &r.From}, {to, &r.To}} {
		end.text = strings.TrimSpace(end.text)
		if end.text == "" {
			continue
		}
		v, err := ParseVersion(end.text)
		if err != nil || v.String() != end.text {
			return Range{}, fmt.Errorf("%q is not a range of versions: write \"8.0.30-\", \"-5.7\" or \"10.5-11.3\"", text)
		}
		*end.into = v
	}
	if r.From == nil && r.To == nil || r.From != nil && !r.Has(r.From) {
		return Range{}, fmt.Errorf("%q is not a range of versions: it is empty", text)
	}
	return r, nil
}

// Has reports whether the range includes a version.
func (r Range) Has(v Version) bool {
	if r.From != nil && v.Compare(r.From) < 0 {
		return false
	}
	if r.To == nil {
		return true
	}
	return slices.Clone(v)[:min(len(v), len(r.To))].Compare(r.To) <= 0
}

// ParseRanges reads ranges with commas between them: what came to several
// series with a minor release of each has one for each.
func ParseRanges(text string) ([]Range, error) {
	var all []Range
	for part := range strings.SplitSeq(text, ",") {
		r, err := ParseRange(part)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Has reports whether a flavour has the knob in a version. Knobs without
// ranges are everywhere; a flavour without a range does not have the knob. A
// version that cannot be read counts as one that has it.
func (k *Knob) Has(flavor, version string) bool {
	return k.Versions == nil || among(k.Versions, flavor, version)
}

// Ignores reports whether a flavour starts, in a version that does not have
// the knob, although a line in an option file sets it.
func (k *Knob) Ignores(flavor, version string) bool { return among(k.Ignored, flavor, version) }

// among reports whether a version is in the ranges of its flavour, or of all.
func among(ranges map[string]string, flavor, version string) bool {
	text, listed := ranges[flavor]
	if !listed {
		if text, listed = ranges[""]; !listed {
			return false
		}
	}
	all, err := ParseRanges(text)
	if err != nil {
		return true
	}
	v, err := ParseVersion(version)
	return err != nil || slices.ContainsFunc(all, func(r Range) bool { return r.Has(v) })
}
