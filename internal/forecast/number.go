package forecast

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
)

// unit is what numbers of a column count.
type unit struct {
	word    string  // as it is written; "" where none is
	bytes   float64 // in one of it
	decimal bool    // a power of 1000
	binary  bool    // kB, MB and GB in the cells are powers of 1024
	percent bool
}

// unitOf reads the name of a unit. K and KiB are 1024 bytes, as df -h writes and Plumb
// does, and kB and kilobytes are 1000, as the standard has it.
func unitOf(word string) (u unit, is bool) {
	u = unit{word: word, bytes: 1}
	switch word = strings.ToLower(word); word {
	case "", "b", "byte", "bytes":
		return u, true
	case "%", "percent", "pct":
		u.percent = true
		return u, true
	}
	m := multiple.FindStringSubmatch(word)
	if m == nil {
		return u, false
	}
	each := 1024.0
	if u.decimal = m[2] == "b" || strings.HasPrefix(m[2], "byte") || m[3] != "" && !strings.HasSuffix(m[3], "bi"); u.decimal {
		each = 1000
	}
	u.bytes = math.Pow(each, float64(strings.IndexByte("kmgtpe", word[0])+1))
	return u, true
}

// ofBinary is the unit where kB, MB and GB are powers of 1024.
func (u unit) ofBinary() unit {
	if u.decimal {
		u.bytes, u.decimal, u.binary = math.Pow(1024, math.Round(math.Log(u.bytes)/math.Log(1000))), false, true
	}
	return u
}

// multiple is a unit of many bytes: k, KiB, kB, kbytes, kibibytes or kilobytes.
var multiple = regexp.MustCompile(`^(?:([kmgtpe])(|i|ib|ibytes?|b|bytes?)|(kilo|mega|giga|tera|peta|exa|kibi|mebi|gibi|tebi|pebi|exbi)bytes?)$`)

// mark is where a file shows how it writes something.
type mark struct {
	line int // 0: nowhere
	text string
}

func (m *mark) set(line int, text string) {
	if m.line == 0 {
		*m = mark{line, Clip(text)}
	}
}

// numerals are how a file writes numbers: where a comma, and where a point, can only be
// what parts wholes from parts.
type numerals struct {
	comma, point mark
	semicolons   bool // part its columns, as they do where commas part wholes from parts
}

// see learns from one number.
func (n *numerals) see(text string, line int) {
	text = withoutSpaces(text)
	comma, point := strings.LastIndexByte(text, ','), strings.LastIndexByte(text, '.')
	switch {
	case point >= 0 && comma > point, strings.Count(text, ".") > 1, comma >= 0 && point < 0 && !grouped(text, ","):
		n.comma.set(line, text)
	case comma >= 0 && point >= 0, strings.Count(text, ",") > 1, point >= 0 && !grouped(text, "."):
		n.point.set(line, text)
	}
}

// agree is an error where a file writes numbers in two ways.
func (n *numerals) agree() error {
	if n.comma.line > 0 && n.point.line > 0 {
		return hint.With(fmt.Errorf("line %d has a decimal comma (%s), and line %d a decimal point (%s)", n.comma.line, n.comma.text, n.point.line, n.point.text),
			"write all numbers alike, best with a point and without groups: 1234567.8")
	}
	return nil
}

// number reads a number of a unit. Whole bytes have no part behind a comma.
func (n *numerals) number(text string, of unit) (float64, error) {
	plain, whole := withoutSpaces(text), of.bytes == 1 && !of.percent
	switch {
	case n.comma.line > 0:
		plain = strings.Replace(ungroup(plain, "."), ",", ".", 1)
	case n.semicolons && n.point.line == 0 && grouped(plain, ".") && !of.percent:
		if plain = ungroup(plain, "."); !whole {
			return 0, twoWays(text, plain, ".")
		}
	case n.point.line > 0 || whole:
		plain = ungroup(plain, ",")
	case strings.Contains(plain, ","):
		return 0, twoWays(text, strings.ReplaceAll(plain, ",", ""), ",")
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || strings.ContainsAny(plain, "xXpP_") {
		return 0, fmt.Errorf("%q is not a number", Clip(text))
	}
	return v, nil
}

// twoWays is the error of a number whose sign may part groups of digits, or wholes from parts.
func twoWays(text, joined, sign string) error {
	return hint.With(fmt.Errorf("%q can be %s and %s", Clip(text), Clip(joined), Clip(strings.Replace(text, sign, ".", 1))),
		"write 1234 or 1.234; one number in the file that can only be one of them, such as 5,3 or 1,234.5, is enough")
}

// What is put between groups of three digits, other than commas and points.
var groupSpaces = []string{" ", "\u00a0", "\u202f", "\u2009", "'", "’"}

func withoutSpaces(text string) string {
	for _, space := range groupSpaces {
		text = ungroup(text, space)
	}
	return text
}

// ungroup joins the groups of three digits at the beginning of a number.
func ungroup(text, between string) string {
	if !strings.Contains(text, between) {
		return text
	}
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && !strings.ContainsRune(between, r) })
	if end < 0 {
		end = len(text)
	}
	if !grouped(text[:end], between) {
		return text
	}
	return strings.ReplaceAll(text[:end], between, "") + text[end:]
}

// grouped tells whether a text is all groups of three digits, the first one of one to three.
func grouped(text, between string) bool {
	groups := strings.Split(text, between)
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	first := groups[0]
	return len(groups) > 1 && len(first) >= 1 && len(first) <= 3 && first[0] != '0' && digits(first) &&
		!slices.ContainsFunc(groups[1:], func(s string) bool { return len(s) != 3 || !digits(s) })
}

// cut parts a cell into its number and its unit: "1,5 GiB".
func cut(cell string) (number, word string) {
	end := strings.LastIndexAny(cell, "0123456789") + 1
	return strings.TrimSpace(cell[:end]), strings.TrimSpace(cell[end:])
}

// unknowns are what programs write where nothing is known, in small letters.
var unknowns = []string{"", "-", "--", "?", "na", "n/a", "#n/a", "nan", "null", "nil", "none", "unknown"}

func isUnknown(cell string) bool {
	return slices.Contains(unknowns, strings.ToLower(strings.TrimSpace(cell)))
}

// amount reads a cell: bytes, or a part of a size if it is in per cent. of is the unit
// that the header names.
func (n *numerals) amount(cell string, of unit) (v float64, in unit, err error) {
	number, word := cut(strings.TrimSpace(cell))
	if word != "" {
		given, is := unitOf(word)
		if !is {
			return 0, of, notBytes(cell)
		}
		if of.binary {
			given = given.ofBinary()
		}
		of = given
	}
	v, err = n.number(number, of)
	if hint.Of(err) != "" {
		return 0, of, err
	}
	v *= of.bytes
	switch {
	case err == nil && v >= math.MaxInt64:
		return 0, of, fmt.Errorf("%q is more than 8E, which cannot be", Clip(cell))
	case err != nil || !(v >= 0):
		return 0, of, notBytes(cell)
	case of.percent && v > 100:
		return 0, of, fmt.Errorf("%q is more than the whole", Clip(cell))
	}
	return v, of, nil
}

// Size reads a size such as 16384, 16K, 1.5 GiB or 95 GB.
func Size(text string) (float64, error) {
	v, in, err := (&numerals{}).amount(text, unit{bytes: 1})
	if err == nil && in.percent {
		err = notBytes(text)
	}
	return v, hint.With(err, cmp.Or(hint.Of(err), "such as 16384, 16K, 1.5 GiB or 95 GB: K and KiB are 1024 bytes, and kB is 1000"))
}

func notBytes(cell string) error {
	return fmt.Errorf("%q is not a number of bytes", Clip(strings.TrimSpace(cell)))
}
