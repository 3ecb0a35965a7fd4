package experiment

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"plumb/internal/strictyaml"
	"plumb/internal/units"
)

// items reads a list of bounded length.
func (r *reader) items(n *strictyaml.Node, what string, most int, each func(*strictyaml.Node)) {
	if strictyaml.IsList(n) && len(n.Content) > most {
		r.doc.Errorf(n, "%s has %d items: at most %d are possible", what, len(n.Content), most)
		return
	}
	r.doc.Items(n, what, each)
}

// needed reads a text that is not empty.
func (r *reader) needed(n *strictyaml.Node, what string) string {
	text := strings.TrimSpace(r.doc.Text(n, what))
	if text == "" && n.Kind == yaml.ScalarNode && !strictyaml.IsNull(n) {
		r.doc.Errorf(n, "%s is empty", what)
	}
	return text
}

// label reads the name of an arm, an axis or a level.
func (r *reader) label(n *strictyaml.Node, what string) string {
	name := r.needed(n, what)
	if len(name) > longest || strings.ContainsFunc(name, unicode.IsControl) {
		r.doc.Errorf(n, "%s is one line of at most %d characters", what, longest)
		return ""
	}
	return name
}

// line reads a text that stands on one line: it goes into a configuration file
// or a command.
func (r *reader) line(n *strictyaml.Node, what string) string {
	text := r.doc.Text(n, what)
	if strings.ContainsFunc(text, unicode.IsControl) {
		r.doc.Errorf(n, "%s is one line", what)
		return ""
	}
	return text
}

// count reads a whole number of low to high. 1_000_000 may be written.
func (r *reader) count(n *strictyaml.Node, what string, low, high int64) int64 {
	text := r.doc.Text(n, what)
	if text == "" {
		return low
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || v < low || v > high {
		r.doc.Errorf(n, "%s is a whole number of %d to %d, not %q", what, low, high, text)
		return low
	}
	return v
}

// real reads a number of low to high.
func (r *reader) real(n *strictyaml.Node, what string, low, high float64) float64 {
	text := r.doc.Text(n, what)
	if text == "" {
		return low
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= low && v <= high) {
		r.doc.Errorf(n, "%s is a number of %g to %g, not %q", what, low, high, text)
		return low
	}
	return v
}

// size reads bytes, 0 or low to 1P.
func (r *reader) size(n *strictyaml.Node, what string, low Bytes) Bytes {
	text := r.doc.Text(n, what)
	if text == "" {
		return 0
	}
	b, err := ParseBytes(text)
	switch {
	case err != nil:
		r.doc.Errorf(n, "%s: %v", what, err)
		return 0
	case b != 0 && b < low || b > 1<<50:
		r.doc.Errorf(n, "%s is %s: %s to 1024T are possible", what, b, low)
		return 0
	}
	return b
}

// percent reads "5%", as a part: 0.05. The sign is wanted, because 5 and 0.05
// could both be meant by a bare number.
func (r *reader) percent(n *strictyaml.Node, what string) float64 {
	text := r.doc.Text(n, what)
	if text == "" {
		return 0
	}
	number, signed := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(text), "±"), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !signed || math.IsNaN(v) || v <= 0 || v >= 100 {
		r.doc.Errorf(n, "%s is a percentage between 0%% and 100%%, written 5%%, not %q", what, text)
		return 0
	}
	return v / 100
}

// duration reads 20s, 1m30s or 500ms.
func (r *reader) duration(n *strictyaml.Node, what string, low, high time.Duration) time.Duration {
	text := r.doc.Text(n, what)
	if text == "" {
		return low
	}
	v, err := time.ParseDuration(text)
	if err != nil && text == "0" {
		v, err = 0, nil
	}
	switch {
	case err != nil:
		r.doc.Errorf(n, "%s is a time such as 20s, 500ms or 1m30s, not %q", what, text)
		return low
	case v < low || v > high:
		r.doc.Errorf(n, "%s is %s: %s to %s are possible", what, text, units.Short(low), units.Short(high))
		return low
	}
	return v
}

// settings reads names and values, as they are written: off stays off, 0.90
// stays 0.90.
func (r *reader) settings(n *strictyaml.Node, what string) map[string]string {
	out := map[string]string{}
	r.doc.Entries(n, what, func(key, value *strictyaml.Node) {
		if !settingName.MatchString(key.Value) {
			r.doc.Errorf(key, "%.40q is not the name of a setting", key.Value)
			return
		}
		out[key.Value] = r.line(value, what+"."+key.Value)
	})
	return out
}
