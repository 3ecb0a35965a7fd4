package mysql_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/engine/mysql"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// Every knob of the catalogue is set to the value it has: the server takes
// the statements, and what they bring about reads as the recipe says.
func TestEveryKnob(t *testing.T) {
	for _, c := range []struct {
		name string
		tree func() (sandbox.MySQLOptions, error)
	}{
		{"MariaDB, installed", func() (sandbox.MySQLOptions, error) { return sandbox.MySQLOptions{}, nil }},
		{"MariaDB 11.4", func() (sandbox.MySQLOptions, error) {
			base, err := sandbox.MariaDBTree()
			return sandbox.MySQLOptions{Basedir: base}, err
		}},
		{"MySQL of Debian sid", mysqlOfSid},
	} {
		t.Run(c.name, func(t *testing.T) {
			sandbox.NeedLong(t, "starts a real server: run without -short")
			o, err := c.tree()
			sandbox.Need(t, err)
			everyKnob(t, newLive(t, o))
		})
	}
}

func mysqlOfSid() (sandbox.MySQLOptions, error) {
	base, loader, err := sandbox.MySQLTree()
	return sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true}, err
}

func everyKnob(t *testing.T, l *live) {
	seen := l.observe()
	thing := seen.Find(l.knob("").Of)
	setter := mysql.NewSetter(l.cat, l.given())
	knobs := l.cat.Knobs("mysql")
	lasting, edited, waits := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		value, known := thing.Get(name)
		if !known || value.IsAbsent() {
			continue
		}
		r, err := setter.Recipe(t.Context(), l.doer, seen, change.Want{Knob: l.knob(name), To: value, Fact: knobs[name]})
		if refusal, ok := errors.AsType[*change.Refusal](err); ok {
			if knobs[name].Knob.Effect != catalog.Recreate && !strings.Contains(refusal.Why, "cannot be set") && name != "wsrep_provider_options" {
				t.Errorf("%s = %s: %s", name, value, refusal.Why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s = %s: %v", name, value, err)
			continue
		}
		if r.Waits != "" {
			waits++
		}
		for _, a := range r.Acts {
			if a.Edit != nil {
				edited++
				continue
			}
			if strings.Contains(a.Switch.On, "persisted") {
				lasting++
			}
			turn(t, l, name, value, a.Switch)
		}
	}
	t.Logf("%d in files, %d persisted, %d wait for a restart", edited, lasting, waits)
}

// turn does a switch and undoes it, as package change would.
func turn(t *testing.T, l *live, name string, value stack.Value, s *change.Switch) {
	read := func(want string) string {
		for end := time.Now().Add(time.Duration(s.Patience) * time.Millisecond); ; time.Sleep(50 * time.Millisecond) {
			rows, err := l.doer.Query(t.Context(), *s.Inspect.Target, s.Inspect.Query)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got := change.None
			if len(rows.Values) > 0 && rows.Values[0][0] != nil {
				got = strings.TrimSpace(*rows.Values[0][0])
			}
			if got == want || !time.Now().Before(end) {
				return got
			}
		}
	}
	do := func(ops []change.Op, before string) {
		quoted := "'" + strings.ReplaceAll(strings.ReplaceAll(before, "'", "''"), `\`, `\\`) + "'"
		for _, op := range ops {
			if err := l.doer.Exec(t.Context(), *op.Target, strings.NewReplacer("{before}", before, "{before:sql}", quoted).Replace(op.Statement)); err != nil {
				t.Errorf("%s = %s: %v", name, value, err)
			}
		}
	}
	before := read(s.After)
	do(s.Do, before)
	if got := read(s.After); got != s.After {
		t.Errorf("%s = %s: it reads %q, not %q", name, value, got, s.After)
	}
	undo := s.Undo
	if before == change.None && s.UndoNone != nil {
		undo = s.UndoNone
	}
	do(undo, before)
	if got := read(before); got != before {
		t.Errorf("%s: undo left %q in place of %q", name, got, before)
	}
}
