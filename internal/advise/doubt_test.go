package advise_test

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// unplaced is a server with settings whose data directory could not be placed.
func unplaced(kind, name string, settings map[string]stack.Value) *stack.Stack {
	var see stack.Observation
	db := see.New(kind, name)
	db.Set("version", stack.Text("18.1"), "test")
	for fact, v := range settings {
		db.Set(fact, v, "test")
	}
	see.Gap(db.Ref, "place data at /srv/db: permission denied", "run as root", "data", "storage")
	s := &stack.Stack{}
	s.Add("test", see)
	return s
}

// embedded gives the built-in rules, and the catalogue that they speak of.
func embedded(t *testing.T) (*rule.Base, *catalog.Catalog) {
	t.Helper()
	cat := hosttest.Catalog(t)
	base, err := rule.Load(knowledge.FS, cat)
	if err != nil {
		t.Fatal(err)
	}
	return base, cat
}

func adviceOn(t *testing.T, s *stack.Stack) advise.Advice {
	t.Helper()
	base, cat := embedded(t)
	return advise.From(base.Judge(s), s, cat, advise.Options{})
}

// about gives the cases that speak of a setting.
func about(a advise.Advice, name string) (found []advise.Case) {
	for _, f := range a.Findings {
		for _, c := range f.Cases {
			if slices.ContainsFunc(c.Evidence, func(e rule.Evidence) bool { return e.Name == name }) {
				found = append(found, c)
			}
		}
	}
	return found
}

// A setting that is dangerous on most filesystems is told of, also where
// nobody could see which one it is.
func TestUnplacedDataHidesNoDangerousSetting(t *testing.T) {
	for _, c := range []struct {
		kind, name, setting string
		value               stack.Value
		title               string
	}{
		{"postgres", "5432", "full_page_writes", stack.Bool(false), "full_page_writes is off, and whether that is safe here is not known"},
		{"mysql", "3306", "innodb_doublewrite", stack.Text("OFF"), "innodb_doublewrite is OFF, and whether that is safe here is not known"},
		{"mysql", "3306", "innodb_flush_method", stack.Text("O_DIRECT_NO_FSYNC"), "innodb_flush_method is O_DIRECT_NO_FSYNC, and whether that is safe here is not known"},
	} {
		a := adviceOn(t, unplaced(c.kind, c.name, map[string]stack.Value{c.setting: c.value}))
		found := about(a, c.setting)
		if len(found) != 1 || found[0].Title != c.title {
			t.Errorf("%s: %d cases, want one titled %q: %+v", c.setting, len(found), c.title, found)
			continue
		}
		if f := a.Findings[0]; f.Rule.Harm != rule.Danger {
			t.Errorf("%s: harm %s", c.setting, f.Rule.Harm)
		}
		got := found[0]
		if !strings.Contains(got.Say, "permission denied") || !slices.Contains(got.Missing, c.kind+":"+c.name+"#data") {
			t.Errorf("%s: says %q, missing %v", c.setting, got.Say, got.Missing)
		}
		if len(a.Plan.Steps) != 0 {
			t.Errorf("%s: what is not known to be wrong is in the plan: %+v", c.setting, a.Plan.Steps)
		}
		if len(got.Remedies) == 0 || got.Remedies[0].Do != "let it be judged: run as root" {
			t.Errorf("%s: remedies %+v", c.setting, got.Remedies)
		}
	}
}

// A setting that is safe everywhere is no finding where the data is not placed,
// and neither is what nobody set.
func TestUnplacedDataIsNoFindingByItself(t *testing.T) {
	for _, settings := range []map[string]stack.Value{
		{"full_page_writes": stack.Bool(true), "fsync": stack.Bool(true)},
		{},
	} {
		if a := adviceOn(t, unplaced("postgres", "5432", settings)); len(about(a, "full_page_writes")) != 0 {
			t.Errorf("%v: %+v", settings, a.Findings)
		}
	}
}

// Where a rule about the setting has fired, the doubt of another adds nothing.
func TestDoubtIsSilentWhereARuleHasFired(t *testing.T) {
	a := adviceOn(t, unplaced("postgres", "5432", map[string]stack.Value{"fsync": stack.Bool(false), "full_page_writes": stack.Bool(true)}))
	if found := about(a, "fsync"); len(found) != 1 || len(found[0].Missing) != 0 {
		t.Errorf("fsync=off: %+v", found)
	}
}
