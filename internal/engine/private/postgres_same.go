package private

import (
	"math"
	"slices"
	"strings"

	engine "plumb/internal/engine/postgres"
)

// Lookup implements lab.Engine.
func (postgresEngine) Lookup(effective map[string]string, setting string) (value string, known bool) {
	key := postgresName(setting)
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
// configuration file. effective is a value as [postgresEngine.Effective] gives it, with
// the unit that a bare number has. A value that the server rounds to its unit
// is the same.
func (postgresEngine) Same(setting, asked, effective string) bool {
	key := postgresName(setting)
	asked, effective = strings.TrimSpace(asked), strings.TrimSpace(effective)
	if strings.EqualFold(asked, effective) || automatic(key, asked) {
		return true
	}
	number, unit, _ := strings.Cut(effective, " ")
	if engine.Scale(unit) == 0 {
		number, unit = effective, ""
	}
	want, isNumber := quantity(asked, unit)
	have, isToo := quantity(number, unit)
	if isNumber && isToo {
		if step := engine.Scale(unit); step > 0 && want > 0 && !strings.ContainsAny(number, ".e") {
			want = math.RoundToEven(want/step) * step
		}
		return math.Abs(want-have) <= 1e-6*math.Abs(have) // a real number is shown with six digits
	}
	if a, word := engine.ParseBool(asked); word {
		if b, word := engine.ParseBool(effective); word {
			return a == b
		}
		return a && slices.Contains(meansOn(key), strings.ToLower(effective))
	}
	if key == "encoding" || key == "locale" { // UTF-8 is UTF8
		return letters(asked) == letters(effective)
	}
	return slices.Equal(elements(asked), elements(effective))
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

// elements splits a list. A value that is none is a list of one.
func elements(list string) []string {
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
	n, given, ok := engine.Number(text)
	if !ok {
		return 0, false
	}
	if given != "" {
		if engine.Scale(given) == 0 || engine.Scale(unit) == 0 || engine.IsSize(given) != engine.IsSize(unit) {
			return 0, false
		}
		unit = given
	}
	return scaled(n, unit)
}

// scaled gives a number of a unit; 0 and -1 mean something of their own, and
// stay what they are.
func scaled(n float64, unit string) (float64, bool) {
	if s := engine.Scale(unit); s > 0 && n > 0 {
		n *= s
	}
	return n, true
}
