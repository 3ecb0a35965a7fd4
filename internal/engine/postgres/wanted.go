package postgres

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// knobRow is what pg_settings says of one setting.
type knobRow struct {
	value   string // what a new session gets
	unit    string // of a bare number
	context string // postmaster, sighup, user, …
	vartype string // bool, integer, real, enum, string
	source  string
	min     string
	max     string
	enum    []string
}

// wanted is a value in the forms the server reads and shows.
type wanted struct {
	text   string   // as it is written: 4GB, on, 'a b'
	number *float64 // as pg_settings shows it, in the setting's own unit; nil for what is no number
	shown  string   // as pg_settings shows a word; "" for numbers, and for texts, which a server may spell anew
	// literal is a text as the server quotes it; it is asked for it.
	literal string
	note    string // what was rounded
}

// wantedOf brings a value to the server's form. An error is a *change.Refusal.
func wantedOf(f *catalog.Fact, r knobRow, v stack.Value) (wanted, error) {
	switch r.vartype {
	case "bool":
		b, ok := v.Bool()
		if text, isText := v.Text(); !ok && isText {
			b, ok = ParseBool(text)
		}
		if !ok {
			return wanted{}, &change.Refusal{Why: fmt.Sprintf("%s is neither on nor off", v)}
		}
		word := "off"
		if b {
			word = "on"
		}
		return wanted{text: word, shown: word}, nil
	case "enum":
		word, ok := spelled(v)
		for _, e := range r.enum {
			if ok && strings.EqualFold(e, word) {
				shown := e
				if f.Name == "wal_compression" && e == "on" {
					shown = "pglz" // since 15 another name of it
				}
				return wanted{text: e, shown: shown}, nil
			}
		}
		return wanted{}, &change.Refusal{Why: fmt.Sprintf("%s is not one of its values: %s", v, strings.Join(r.enum, ", "))}
	case "string", "":
		return wantedText(v)
	}
	return wantedNumber(f, r, v)
}

// spelled gives the text of a value that names something; on and off stand
// among the words of some enumerations.
func spelled(v stack.Value) (string, bool) {
	if b, ok := v.Bool(); ok {
		return map[bool]string{true: "on", false: "off"}[b], true
	}
	if l, ok := v.List(); ok {
		return strings.Join(l, ", "), true
	}
	return v.Text()
}

func wantedText(v stack.Value) (wanted, error) {
	word, ok := spelled(v)
	switch {
	case !ok:
		return wanted{text: v.String()}, nil
	case strings.ContainsAny(word, "\n\r\x00"):
		return wanted{}, &change.Refusal{Why: "the value has more than one line, which ALTER SYSTEM does not accept"}
	case strings.Contains(word, "***"):
		return wanted{}, &change.Refusal{Why: "the value contains a secret, which Plumb does not handle", What: "set it with psql"}
	}
	return wanted{text: word}, nil
}

// wantedNumber turns a number in the unit of its fact into the server's unit.
// A value that the server would round is rounded here, to what it then shows.
func wantedNumber(f *catalog.Fact, r knobRow, v stack.Value) (wanted, error) {
	n, ok := v.Number()
	if !ok {
		return wanted{}, &change.Refusal{Why: fmt.Sprintf("%s is not a number", v)}
	}
	own := n // in the setting's unit
	factor := inFact(f, r.unit)
	if n > 0 && factor > 0 {
		own = n / factor
	}
	w := wanted{}
	if r.vartype == "integer" {
		whole := math.RoundToEven(own)
		if own > 0 {
			whole = max(whole, 1)
		}
		if whole != own {
			w.note = fmt.Sprintf("%s is rounded to a multiple of %s: %s", v, r.unit, unitText(r.unit, whole))
		}
		own = whole
	}
	if why := outside(r, own); why != "" {
		return wanted{}, &change.Refusal{Why: why}
	}
	w.number, w.text = &own, unitText(r.unit, own)
	if strings.HasSuffix(f.Name, "_permissions") || strings.HasSuffix(f.Name, "_file_mode") {
		w.text = fmt.Sprintf("%04o", int64(own))
	}
	return w, nil
}

// inFact gives a setting's unit in the unit of its fact: 8192 for 8kB and
// bytes; 0 when the fact counts in the setting's own.
func inFact(f *catalog.Fact, unit string) float64 {
	switch f.Type {
	case catalog.Bytes, catalog.Micros:
		return Scale(unit)
	case catalog.Millis:
		return Scale(unit) / 1e3
	case catalog.Seconds:
		return Scale(unit) / 1e6
	}
	return 0
}

// unitText writes a number of a unit as a person would: 524288 of 8kB is 4GB.
// 0 and what is negative have a meaning of their own and take no unit; bytes
// and microseconds could be written with theirs only since 11 and 12.
func unitText(unit string, n float64) string {
	plain := strconv.FormatFloat(n, 'f', -1, 64)
	in := Scale(unit)
	if n <= 0 || in == 0 || n != math.Trunc(n) {
		return plain
	}
	units := []string{"d", "h", "min", "s", "ms"}
	if IsSize(unit) {
		units = []string{"TB", "GB", "MB", "kB"}
	}
	for _, u := range units {
		if total := n * in; math.Mod(total, Scale(u)) == 0 {
			return strconv.FormatFloat(total/Scale(u), 'f', -1, 64) + u
		}
	}
	return plain
}

// outside says that a value is not in the server's range.
func outside(r knobRow, own float64) string {
	low, errLow := strconv.ParseFloat(r.min, 64)
	high, errHigh := strconv.ParseFloat(r.max, 64)
	if errLow == nil && own < low || errHigh == nil && own > high {
		return fmt.Sprintf("%s is outside the server's range, %s to %s", unitText(r.unit, own), unitText(r.unit, low), unitText(r.unit, high))
	}
	return ""
}

// isQuotedList tells the settings whose elements the server writes as quoted
// names: one string with commas would be one name. Measured with 10 to 18.
func isQuotedList(name string, major int) bool {
	if name == "unix_socket_directories" {
		return major >= 14 // before it was one text
	}
	return slices.Contains([]string{"local_preload_libraries", "oauth_validator_libraries", "output_plugin_libraries", "search_path",
		"session_preload_libraries", "shared_preload_libraries", "temp_tablespaces"}, name)
}

// elements are the names of a quoted list as string literals, for a statement.
func elements(list string) string {
	var out []string
	for _, name := range splitNames(list) {
		out = append(out, Literal(name))
	}
	if out == nil {
		return "''"
	}
	return strings.Join(out, ", ")
}

// Literal writes a text as SQL, with standard_conforming_strings: a backslash is
// a plain byte.
func Literal(text string) string { return product.DialectOf(product.Postgres).Quote(text) }

// Identifier writes a name as SQL.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
