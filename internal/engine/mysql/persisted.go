package mysql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// maxPersisted bounds mysqld-auto.cnf, which holds a few kilobytes.
const maxPersisted = 4 << 20

// parsePersisted reads mysqld-auto.cnf, the JSON that SET PERSIST writes. Up
// to 8.0.28 all dynamic variables are under mysql_server and those that need
// a restart under mysql_server_static_options; later each has a group of its
// own. file is what the origins name.
func parsePersisted(text []byte, file string) ([]assigned, error) {
	if len(text) > maxPersisted {
		return nil, fmt.Errorf("parse %s: over %d bytes", file, maxPersisted)
	}
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	found := map[string]string{}
	for name, raw := range groups {
		if name != "Version" {
			collectPersisted(raw, found, 0)
		}
	}
	var out []assigned
	for name, value := range found {
		out = append(out, assigned{name: name, value: value,
			origin: stack.Origin{From: stack.FromPersisted, File: file, Line: lineOf(text, name)}})
	}
	slices.SortFunc(out, func(a, b assigned) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// collectPersisted finds {"name": {"Value": "…"}} at any depth to the third.
func collectPersisted(raw json.RawMessage, found map[string]string, depth int) {
	var group map[string]json.RawMessage
	if depth > 3 || json.Unmarshal(raw, &group) != nil {
		return
	}
	for name, inner := range group {
		var entry struct{ Value *string }
		if json.Unmarshal(inner, &entry) == nil && entry.Value != nil {
			found[name] = *entry.Value
			continue
		}
		collectPersisted(inner, found, depth+1)
	}
}

// lineOf gives the line a variable stands in; 0 when it is not found. The
// server writes all on one line, people who edit the file do not.
func lineOf(text []byte, name string) int {
	i := bytes.Index(text, []byte(`"`+name+`"`))
	if i < 0 {
		return 0
	}
	return 1 + bytes.Count(text[:i], []byte("\n"))
}
