package private

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Lookup implements lab.Engine.
func (Engine) Lookup(effective map[string]string, setting string) (value string, known bool) {
	key := canonical(setting)
	switch key { // of create: how the server calls it
	case "encoding":
		key = "server_encoding"
	case "locale":
		key = "lc_collate" // shown up to 15
	}
	value, known = effective[key]
	return value, known
}

// Same implements lab.Engine: it compares as the server reads its
// configuration file. effective is a value as [Engine.Effective] gives it, with
// the unit that a bare number has. A value that the server rounds to its unit
// is the same.
func (Engine) Same(setting, asked, effective string) bool {
	key := canonical(setting)
	asked, effective = strings.TrimSpace(asked), strings.TrimSpace(effective)
	if strings.EqualFold(asked, effective) || automatic(key, asked) {
		return true
	}
	number, unit, _ := strings.Cut(effective, " ")
	if scale(unit) == 0 {
		number, unit = effective, ""
	}
	want, isNumber := quantity(asked, unit)
	have, isToo := quantity(number, unit)
	if isNumber && isToo {
		if step := scale(unit); step > 0 && want > 0 && !strings.ContainsAny(number, ".e") {
			want = math.RoundToEven(want/step) * step
		}
		return math.Abs(want-have) <= 1e-6*math.Abs(have) // a real number is shown with six digits
	}
	if a, word := parseBool(asked); word {
		if b, word := parseBool(effective); word {
			return a == b
		}
		return a && slices.Contains(meansOn(key), strings.ToLower(effective))
	}
	if key == "encoding" || key == "locale" { // UTF-8 is UTF8
		return letters(asked) == letters(effective)
	}
	return slices.Equal(names(asked), names(effective))
}

// meansOn gives what an enumeration shows for on.
func meansOn(key string) []string {
	switch key {
	case "wal_compression": // since 15
		return []string{"pglz"}
	case "password_encryption": // up to 13
		return []string{"md5"}
	}
	return nil
}

// automatic tells whether a value leaves the choice to the server, which shows
// what it chose.
func automatic(key, asked string) bool {
	switch key {
	case "wal_buffers":
		return asked == "-1"
	case "commit_timestamp_buffers", "subtransaction_buffers", "transaction_buffers":
		return asked == "0"
	}
	return false
}

// names splits a list. A value that is none is a list of one.
func names(list string) []string {
	var out []string
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		out = append(out, strings.Trim(strings.TrimSpace(name), `"`))
	}
	return out
}

// letters leaves what is left of a name without punctuation.
func letters(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// quantity reads a number with a unit, in bytes or microseconds; unit is the
// one that a bare number has.
func quantity(text, unit string) (float64, bool) {
	text = strings.TrimSpace(text)
	if len(text) > 64 {
		return 0, false
	}
	if whole, err := strconv.ParseInt(text, 0, 64); err == nil { // hexadecimal and octal too
		return scaled(float64(whole), unit)
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, false
	}
	if given := strings.TrimSpace(text[end:]); given != "" {
		if scale(given) == 0 || scale(unit) == 0 || isSize(given) != isSize(unit) {
			return 0, false
		}
		unit = given
	}
	return scaled(n, unit)
}

// scaled gives a number of a unit; 0 and -1 mean something of their own, and
// stay what they are.
func scaled(n float64, unit string) (float64, bool) {
	if s := scale(unit); s > 0 && n > 0 {
		n *= s
	}
	return n, true
}

// scale gives a unit in bytes or microseconds; 0 for one that is unknown.
// Units of pg_settings have a factor: 8kB, 16MB.
func scale(unit string) float64 {
	digits := len(unit) - len(strings.TrimLeft(unit, "0123456789"))
	factor := 1.0
	if digits > 0 {
		n, err := strconv.ParseUint(unit[:digits], 10, 32)
		if err != nil || digits == len(unit) {
			return 0
		}
		factor, unit = float64(n), unit[digits:]
	}
	one := map[string]float64{"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
		"us": 1, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6, "d": 86400e6}
	return factor * one[unit]
}

func isSize(unit string) bool { return strings.HasSuffix(unit, "B") }

// parseBool takes what the server takes: unambiguous beginnings of true,
// false, yes, no, and on, off, 1, 0.
func parseBool(text string) (value, ok bool) {
	t := strings.ToLower(strings.TrimSpace(text))
	switch {
	case t == "":
		return false, false
	case t == "on" || t == "1" || strings.HasPrefix("true", t) || strings.HasPrefix("yes", t):
		return true, true
	case t == "off" || t == "of" || t == "0" || strings.HasPrefix("false", t) || strings.HasPrefix("no", t):
		return false, true
	}
	return false, false
}
