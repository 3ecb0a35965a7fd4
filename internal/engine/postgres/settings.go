package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// settingsQuery reads reset_val as well: it is what a new session gets, while
// setting can be what this session was given to be harmless.
const settingsQuery = `SELECT lower(name) AS name, CASE WHEN source IN ('session', 'client') THEN reset_val ELSE setting END AS value, coalesce(unit, '') AS unit, source, sourcefile, sourceline, boot_val, pending_restart, vartype FROM pg_settings`

// autoFile is what ALTER SYSTEM writes, in the data directory. It is read last.
const autoFile = "/postgresql.auto.conf"

// setting is one row of pg_settings.
type setting struct {
	value, unit, source, file, boot, vartype string
	line                                     int
	pending                                  bool
}

func readSettings(rows host.Rows) map[string]setting {
	out := make(map[string]setting, len(rows.Values))
	for _, row := range rows.Values {
		if len(row) < 9 {
			continue
		}
		line, _ := strconv.Atoi(host.Text(row, 5))
		out[host.Text(row, 0)] = setting{value: host.Text(row, 1), unit: host.Text(row, 2), source: host.Text(row, 3), file: host.Text(row, 4),
			line: line, boot: host.Text(row, 6), pending: host.Text(row, 7) == "t", vartype: host.Text(row, 8)}
	}
	return out
}

// ofSession tells settings that say something about our own session only.
func ofSession(name string) bool {
	return name == "application_name" || name == "client_encoding" || strings.HasPrefix(name, "transaction_") && name != "transaction_timeout" && name != "transaction_buffers"
}

// allSettings sets every setting with its origin and its next value.
func (l *look) allSettings() {
	lines, complete := l.fileLines()
	winners := last(lines)
	for _, a := range l.in.args {
		winners[a.name] = a
	}
	var pending, changes []string
	for _, name := range slices.Sorted(maps.Keys(l.settings)) {
		s := l.settings[name]
		if s.pending {
			pending = append(pending, name)
		}
		f := l.catalog.Fact("postgres", name)
		if f != nil && f.Knob == nil || ofSession(name) {
			continue // a fact of ours with the same name, or one that is only our session's
		}
		fact, ok := l.fact(name, f, s, winners)
		if !ok {
			continue
		}
		if n, differs := nextOf(f, s, winners, name, fact.Value, complete); differs {
			fact.Next = &n
			changes = append(changes, fmt.Sprintf("%s: now %s, then %s%s", name, catalog.Show(f, fact.Value), catalog.Show(f, n.Value), at(n.Origin)))
		}
		l.t.Facts[name] = fact
	}
	l.t.Set("pending_restart", stack.List(pending), "pg_settings")
	if complete {
		l.t.Set("next_changes", stack.List(changes), "pg_file_settings")
	}
	l.absent()
}

func at(o stack.Origin) string {
	if o.File == "" {
		return " (" + o.From + ")"
	}
	return fmt.Sprintf(" (%s:%d)", o.File, o.Line)
}

func (l *look) fact(name string, f *catalog.Fact, s setting, winners map[string]assigned) (stack.Fact, bool) {
	v := stack.Text(s.value)
	if f != nil {
		var ok bool
		if v, ok = typed(f, s.unit, s.value); !ok {
			l.gap(fmt.Sprintf("%s = %q is not of type %s", name, s.value, f.Type), "", name)
			return stack.Fact{}, false
		}
	}
	fact := stack.Fact{Value: v, Source: "pg_settings"}
	if o, ok := originOf(s, winners[name]); ok {
		fact.Origin = &o
	}
	return fact, true
}

// originOf tells who set a value. The server shows file and line to roles
// with pg_read_all_settings only; the line we found stands in for it.
func originOf(s setting, win assigned) (stack.Origin, bool) {
	switch s.source {
	case "default":
		return stack.Origin{From: stack.FromDefault}, true
	case "override", "environment variable":
		if s.source == "override" {
			return stack.Origin{From: stack.FromComputed}, true
		}
		return stack.Origin{From: stack.FromCommand, Of: s.source}, true
	case "command line":
		return stack.Origin{From: stack.FromCommand}, true
	case "configuration file":
		o := stack.Origin{From: stack.FromFile, File: s.file, Line: s.line}
		if o.File == "" {
			o.File, o.Line = win.origin.File, win.origin.Line
		}
		if strings.HasSuffix(o.File, autoFile) {
			o.From = stack.FromPersisted
		}
		return o, true
	case "session", "client": // our own session has hidden who set it
		if win.name != "" {
			return win.origin, true
		}
		if s.value == s.boot {
			return stack.Origin{From: stack.FromDefault}, true
		}
		return stack.Origin{}, false
	case "database", "user", "database user", "global":
		return stack.Origin{From: stack.FromRuntime, Of: "ALTER ROLE or DATABASE … SET, for the role Plumb logs in as"}, true
	}
	return stack.Origin{}, false
}

// nextOf tells what the next start would bring, when that differs. A value
// that only counts for our own role or that the server computes has none.
func nextOf(f *catalog.Fact, s setting, winners map[string]assigned, name string, now stack.Value, complete bool) (stack.Next, bool) {
	win, given := winners[name]
	raw, o := win.value, win.origin
	switch {
	case s.source == "default" && given, s.source == "configuration file" && given, s.source == "command line" && given:
	case s.source == "configuration file" && complete:
		raw, o = s.boot, stack.Origin{From: stack.FromDefault}
		if strings.HasPrefix(name, "lc_") || name == "timezone" || name == "log_timezone" {
			return stack.Next{}, false // their default is the environment's
		}
	default:
		return stack.Next{}, false
	}
	if s.vartype == "bool" {
		a, okA := ParseBool(raw)
		b, okB := ParseBool(s.value)
		if okA && okB && a == b {
			return stack.Next{}, false
		}
	}
	if f == nil || f.Type == catalog.Text {
		if samePlain(s, raw) {
			return stack.Next{}, false
		}
		return stack.Next{Value: stack.Text(raw), Origin: o}, raw != "" || now.String() != ""
	}
	v, ok := typed(f, s.unit, raw)
	if !ok || v.Equal(now) {
		return stack.Next{}, false
	}
	if n, isInt := v.Int(); isInt && n == -1 {
		return stack.Next{}, false // the server has put what it computed in its place
	}
	return stack.Next{Value: v, Origin: o}, true
}

// samePlain compares texts and unlisted settings; an enumeration does not
// care about case.
func samePlain(s setting, raw string) bool {
	if s.vartype == "enum" || s.vartype == "bool" {
		return strings.EqualFold(raw, s.value)
	}
	a, unitA, okA := Number(raw)
	b, _, okB := Number(s.value)
	if okA && okB && s.vartype != "string" {
		if unitA == "" {
			return a == b
		}
		return a*Scale(unitA) == b*max(Scale(s.unit), 1)
	}
	return raw == s.value
}

// absent marks knobs of other releases. A role without pg_read_all_settings is
// not shown some that are there, data_directory among them.
func (l *look) absent() {
	_, all := l.settings["data_directory"]
	version := l.settings["server_version"].value
	var hidden []string
	for name, f := range l.catalog.Knobs("postgres") {
		_, have := l.settings[name]
		switch {
		case have || f.Knob == nil || ofSession(name):
		case !all && f.Knob.Has("postgres", version):
			hidden = append(hidden, name)
		default:
			l.t.SetAbsent(name, "pg_settings")
		}
	}
	if len(hidden) > 0 {
		slices.Sort(hidden)
		l.gap("pg_settings does not show this role every setting", grantsHint, hidden...)
	}
}

// fileQuery asks the server what its next start would read.
const fileQuery = "SELECT sourcefile, sourceline, lower(name) AS name, setting, applied, error FROM pg_file_settings ORDER BY seqno"

// fileLines gives what the next start would read: from the server, or from
// the files themselves when the role may not ask. complete is false when
// neither could be read.
func (l *look) fileLines() (lines []assigned, complete bool) {
	rows, err := l.h.Query(l.ctx, l.in.target, fileQuery)
	if err != nil {
		return l.ownLines(grantsHint)
	}
	lines, bad := readFileRows(rows)
	l.t.Set("config_errors", stack.List(bad), "pg_file_settings")
	return lines, true
}

// readFileRows reads the rows of pg_file_settings. bad names the lines for
// which the server would not start, nor take anything of a reload.
func readFileRows(rows host.Rows) (lines []assigned, bad []string) {
	for _, row := range rows.Values {
		line, _ := strconv.Atoi(host.Text(row, 1))
		problem := host.Text(row, 5)
		if host.Cell(row, 0) == nil && !strings.HasPrefix(problem, "could not open") {
			continue // a line is gone whose setting waits for a restart: of no file, and no mistake
		}
		if problem != "" && problem != "setting could not be applied" {
			bad = append(bad, fmt.Sprintf("%s:%d: %s", host.Text(row, 0), line, strings.TrimSpace(host.Text(row, 2)+" "+problem)))
			continue
		}
		if host.Cell(row, 2) == nil {
			continue
		}
		o := stack.Origin{From: stack.FromFile, File: host.Text(row, 0), Line: line}
		if strings.HasSuffix(o.File, autoFile) {
			o.From = stack.FromPersisted
		}
		lines = append(lines, assigned{host.Text(row, 2), host.Text(row, 3), o})
	}
	return lines, bad
}
