package rule

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumb/internal/strictyaml"
)

// measuredFile lists what experiments of our own showed.
const measuredFile = "measured.yaml"

// Measurement is what an experiment of our own showed about some rules.
type Measurement struct {
	Rules      []string  // ids
	Experiment string    // name of its file in experiments/, without .yaml; "" where the power was cut
	Cuts       []string  // rows of research/powercut whose trials showed it; nil where it was an experiment
	Date       time.Time // the day on which it ran
	Machine    string
	Setup      string // servers, filesystem, load
	Shows      string // a sentence with numbers and their intervals
	Ledger     string // how the hash begins under which a ledger has an experiment's trials
	Changed    string // what decides trials and has changed in the file since; "" when nothing has
	Doubt      string // what does not carry over
}

// Measurements reads measured.yaml. It returns what is sound, together with every
// mistake, joined into one error whose parts are of type [strictyaml.Error].
func Measurements(fsys fs.FS) ([]Measurement, error) {
	data, err := fs.ReadFile(fsys, measuredFile)
	if err != nil {
		return nil, fmt.Errorf("read what was measured: %w", err)
	}
	return parseMeasured(data)
}

func parseMeasured(data []byte) (all []Measurement, err error) {
	s, root := strictyaml.Parse(measuredFile, data)
	if root == nil {
		return nil, s.Err()
	}
	s.Items(root, "the file", func(n *strictyaml.Node) {
		before := len(s.Errors())
		m := measurement(s, n)
		if len(s.Errors()) == before {
			all = append(all, m)
		}
	})
	return all, s.Err()
}

// Forms of what is written.
var (
	hashBegin = regexp.MustCompile(`^[0-9a-f]{8,64}$`)
	interval  = regexp.MustCompile(`\([−+-]?[\d.,]+ to [−+-]?[\d.,]+`)
)

func measurement(s *strictyaml.Document, n *strictyaml.Node) (m Measurement) {
	text := func(into *string, what string) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) {
			if *into = strings.TrimSpace(s.Text(n, what)); *into == "" {
				s.Errorf(n, "%s says nothing", what)
			}
		}
	}
	s.Object(n, "a measurement", strictyaml.Fields{
		"rules": func(n *strictyaml.Node) {
			if m.Rules = s.Texts(n, "rules"); len(m.Rules) == 0 {
				s.Errorf(n, "rules names at least one rule")
			}
		},
		"experiment": text(&m.Experiment, "experiment"),
		"power_cuts": func(n *strictyaml.Node) {
			if m.Cuts = s.Texts(n, "power_cuts"); len(m.Cuts) == 0 {
				s.Errorf(n, "power_cuts names at least one row of research/powercut")
			}
		},
		"date": func(n *strictyaml.Node) {
			day, err := time.Parse(time.DateOnly, s.Text(n, "date"))
			if err != nil {
				s.Errorf(n, "a date is written as 2026-11-21")
			}
			m.Date = day
		},
		"machine": text(&m.Machine, "machine"),
		"setup":   text(&m.Setup, "setup"),
		"shows": func(n *strictyaml.Node) {
			if m.Shows = strings.TrimSpace(s.Text(n, "shows")); !interval.MatchString(m.Shows) {
				s.Errorf(n, "shows has numbers with their intervals: 41 %% more (8.7 to 83 %%)")
			}
		},
		"ledger": func(n *strictyaml.Node) {
			if m.Ledger = s.Text(n, "ledger"); !hashBegin.MatchString(m.Ledger) {
				s.Errorf(n, "ledger is how the experiment's hash begins, at least 8 hexadecimal digits")
			}
		},
		"changed": text(&m.Changed, "changed"),
		"doubt":   text(&m.Doubt, "doubt"),
	}, "rules", "date", "machine", "setup", "shows", "doubt")
	if experiment, cuts := m.Experiment != "" && m.Ledger != "", m.Cuts != nil; experiment == cuts {
		s.Errorf(n, "a measurement needs the keys experiment and ledger, or the key power_cuts")
	}
	return m
}

// About gives the measurements of a rule.
func About(all []Measurement, id string) (of []Measurement) {
	for _, m := range all {
		if slices.Contains(m.Rules, id) {
			of = append(of, m)
		}
	}
	return of
}
