package rehearse

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/engine/private"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
	"plumb/test/captured"
)

// fromTape reads a captured host as a check does.
func fromTape(t *testing.T, name string) *stack.Stack {
	t.Helper()
	s, err := captured.Stack(t.Context(), name, known())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The plans of captured hosts, and plans that set a knob of every kind on
// them, become experiments whose servers the lab would configure.
func TestTapesCanBeRehearsed(t *testing.T) {
	tapes, err := filepath.Glob("../../fixtures/*.tape.gz")
	if err != nil || len(tapes) == 0 {
		t.Fatalf("no tapes in fixtures: %v", err)
	}
	rules, err := rule.Open(knowledge.FS, known())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tapes {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tape.gz"), func(t *testing.T) {
			s := fromTape(t, name)
			checked := advise.From(rules.Judge(s), s, known(), advise.Options{}).Plan
			for _, db := range slices.Concat(s.OfKind("mysql"), s.OfKind("postgres")) {
				if in, _ := db.Bool("logged_in"); !in {
					if _, err := Propose(s, known(), checked, nil, Want{Server: db.Ref, Dir: "/var/tmp"}); err == nil || hintOf(err) == "" {
						t.Errorf("%s could not be asked: %v", db.Ref, err)
					}
					continue
				}
				for what, plan := range map[string]advise.Plan{"checked": checked, "many": many(s, db)} {
					rehearsed(t, s, db, what, plan)
				}
			}
		})
	}
}

func rehearsed(t *testing.T, s *stack.Stack, db *stack.Thing, what string, plan advise.Plan) {
	w := Want{Server: db.Ref, Budget: 4 * time.Hour, Host: true}
	p, err := Propose(s, known(), plan, nil, w)
	if err != nil && strings.Contains(err.Error(), "find a place") { // a test's server may have a filesystem to itself
		w.Dir = "/var/tmp"
		p, err = Propose(s, known(), plan, nil, w)
	}
	if err != nil {
		t.Errorf("%s, %s: %v", db.Ref, what, err)
		return
	}
	t.Logf("%s, %s: %s, scale %.2f, %d stages", db.Ref, what, p.Title, p.Scale, len(p.Stages))
	for _, line := range p.Says {
		t.Log("  ", line)
	}
	for _, step := range p.Steps {
		if what == "checked" || step.Left != "" && !strings.Contains(step.Left, "at most") {
			t.Logf("   %s = %s: %s %s", step.Knob, step.To, step.Arm, step.Left)
		}
	}
	for _, stage := range p.Stages {
		for _, a := range stage.Experiment.Arms {
			configurable(t, stage, a)
		}
	}
	if what == "many" && len(p.Stages) > 0 {
		t.Logf("%s", p.Stages[0].Text)
	}
}

// configurable tells whether the lab's engines take an arm's settings.
func configurable(t *testing.T, stage Stage, a experiment.Arm) {
	for _, e := range private.Engines() {
		if slices.Contains(e.Names(), a.Setup.Server.Engine) {
			if _, err := e.Files(lab.Program{}, *a.Setup.Server, "/box/data", "/box/run"); err != nil {
				t.Errorf("stage %s, %s: %v", stage.Name, a.Name, err)
			}
		}
	}
}

// many sets knobs of a server that it has to what they are.
func many(s *stack.Stack, db *stack.Thing) (plan advise.Plan) {
	for name, f := range known().Knobs(db.Ref.Kind) {
		if v, ok := db.Get(name); ok {
			plan.Steps = append(plan.Steps, advise.Step{Knob: stack.Knob{Of: db.Ref, Name: name}, To: v, Effect: f.Knob.Effect, Why: []string{"a/rule"}})
		}
	}
	for _, d := range s.OfKind("dataset") {
		plan.Steps = append(plan.Steps, planned(d.Ref, "recordsize", 16<<10, "compression", "off").Steps...)
	}
	return plan
}

// What bears on durability is taken over, whatever it is: no list keeps it
// apart but for what is there for rescues, and what the sandbox has no peer for.
func TestDurabilityIsTakenOver(t *testing.T) {
	rescue := []string{"innodb_force_recovery", "ignore_checksum_failure", "ignore_invalid_pages", "ignore_system_indexes", "zero_damaged_pages", "recovery_init_sync_method"}
	for _, kind := range []string{"mysql", "postgres"} {
		for name, f := range known().Knobs(kind) {
			for value, class := range f.Knob.Durability {
				apart, _ := excluded(kind, name, strings.TrimPrefix(value, catalog.Above))
				if apart && !slices.Contains(rescue, name) {
					t.Errorf("%s %s = %s (%s) is kept apart", kind, name, value, class)
				}
			}
		}
	}
}
