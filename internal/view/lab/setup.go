package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
)

// setups are the set-ups of arms, taken apart by what they share.
type setups struct {
	common []Setting
	differ []string            // paths, in order
	of     []map[string]string // all paths of each arm
}

// Setting is one path of a set-up, and its value.
type Setting struct{ Path, Value string }

func setupsOf(arms []experiment.Arm) (s setups) {
	paths := map[string]bool{}
	for _, a := range arms {
		flat := FlatSetup(a.Setup)
		s.of = append(s.of, flat)
		for path := range flat {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		value, have := s.of[0][path]
		same := have && !slices.ContainsFunc(s.of, func(m map[string]string) bool { v, ok := m[path]; return !ok || v != value })
		if same {
			s.common = append(s.common, Setting{path, value})
		} else {
			s.differ = append(s.differ, path)
		}
	}
	return s
}

// FlatSetup gives a set-up by the paths that experiment files use.
func FlatSetup(s experiment.Setup) map[string]string {
	flat := map[string]string{}
	b, err := json.Marshal(s)
	if err != nil { // only a number that JSON cannot hold
		return map[string]string{"set-up": err.Error()}
	}
	var tree map[string]any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return map[string]string{"set-up": err.Error()}
	}
	flatten("", tree, flat)
	return flat
}

// isSize tells the paths whose numbers are bytes.
func isSize(path string) bool {
	switch path {
	case "volume.size", "volume.log", "volume.cache", "volume.arc", "server.memory", "load.total", "load.block", "beside.size":
		return true
	}
	return false
}

func flatten(at string, v any, flat map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			flatten(strings.TrimPrefix(at+"."+k, "."), child, flat)
		}
	case []any:
		var words []string
		for _, w := range v {
			words = append(words, fmt.Sprint(w))
		}
		flat[at] = strings.Join(words, " ")
	case json.Number:
		flat[at] = v.String()
		if n, err := v.Int64(); err == nil && isSize(at) {
			flat[at] = experiment.Bytes(n).String()
		}
	case nil:
	default:
		flat[at] = fmt.Sprint(v)
	}
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
