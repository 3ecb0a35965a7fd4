package rule

import (
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/host/hosttest"
	"plumb/knowledge"
)

// TestMeasuredIsOfRules checks that every measurement is of rules there are,
// and that a rule whose basis is measured has one.
func TestMeasuredIsOfRules(t *testing.T) {
	all, err := Measurements(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	cat := hosttest.Catalog(t)
	base, err := Open(knowledge.FS, cat)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range base.Rules() {
		known[r.ID] = true
		if r.Basis == Measured && len(About(all, r.ID)) == 0 {
			t.Errorf("%s: the basis is measured, and measured.yaml has nothing of it", r.ID)
		}
	}
	for _, m := range all {
		for _, id := range m.Rules {
			if !known[id] {
				t.Errorf("measured.yaml, %s: there is no rule %s", m.Experiment, id)
			}
		}
	}
}

const soundMeasurement = `- rules: [mysql/a]
  experiment: recordsize
  date: 2026-11-21
  machine: 2 processors
  setup: MariaDB
  shows: 41 % more (8.7 to 83 %)
  ledger: 0123456789ab
  doubt: none of it carries over
`

func TestMeasuredReportsMistakes(t *testing.T) {
	if all, err := parseMeasured([]byte(soundMeasurement)); err != nil || len(all) != 1 || all[0].Date.Day() != 21 {
		t.Fatalf("%v, %v", all, err)
	}
	for change, want := range map[string]string{
		"date: 2026-11-21|date: yesterday":                "a date is written as",
		"shows: 41 % more (8.7 to 83 %)|shows: 41 %":      "with their intervals",
		"ledger: 0123456789ab|ledger: run 7":              "hexadecimal",
		"machine: 2 processors|machines: 2":               `no key "machines"`,
		"doubt: none of it carries over|doubt: \"\"":      "says nothing",
		"rules: [mysql/a]|rules: []":                      "at least one rule",
		"  ledger: 0123456789ab\n|":                       "experiment and ledger, or the key power_cuts",
		"  setup:|  power_cuts: [a]\n  setup:":            "experiment and ledger, or the key power_cuts",
		"  setup:|  power_cuts: []\n  setup:":             "at least one row",
		"- rules: [mysql/a]|- {}\n- rules: [mysql/a]":     `needs the key "rules"`,
		"  setup: MariaDB\n|":                             `needs the key "setup"`,
		soundMeasurement + "|rules: all\n":                "is a list",
		"experiment: recordsize|experiment: [recordsize]": "is a text",
	} {
		from, to, _ := strings.Cut(change, "|")
		_, err := parseMeasured([]byte(strings.Replace(soundMeasurement, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", to, err, want)
		}
	}
	cuts := strings.NewReplacer("experiment: recordsize", "power_cuts: [mariadb-ext4]", "  ledger: 0123456789ab\n", "").Replace(soundMeasurement)
	if all, err := parseMeasured([]byte(cuts)); err != nil || len(all) != 1 || len(all[0].Cuts) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := Measurements(fstest.MapFS{}); err == nil {
		t.Error("no file is no error")
	}
}

func FuzzMeasured(f *testing.F) {
	f.Add([]byte(soundMeasurement))
	f.Add([]byte("[{rules: {a: b}, date: [1]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseMeasured(text)
		for _, m := range all {
			if err == nil && (len(m.Rules) == 0 || m.Date.IsZero() || m.Shows == "" || m.Ledger == "" && m.Cuts == nil) {
				t.Fatalf("half a measurement was read: %+v", m)
			}
		}
	})
}
