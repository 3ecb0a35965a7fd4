package main

import (
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v4"
)

//go:embed plumb.yaml
var plumbText []byte

//go:embed advisers.yaml
var advisersText []byte

// advice is what another adviser says for the machine of the contest.
type advice struct {
	Adviser  string            // its name in tables
	Engine   string            // that it is for
	Settings map[string]string // of the server, as its configuration file has them
	Host     map[string]string // sysctls of the machine
	Unsafe   map[string]string // more settings, of another arm: a crash may cost data
	Notes    []string          // what was left out, chosen or scaled; sentences
}

func otherAdvisers() (all []advice) {
	if err := yaml.Unmarshal(advisersText, &all); err != nil {
		panic(err) // it is part of the program
	}
	return all
}

// advised is what plumb check advises, by engine ("mariadb"), by engine and
// load ("mariadb-tpcc") or by cell ("mariadb-tpcc-gp3").
type advised map[string]map[string]string

func readPlumb() (advised, error) {
	var a advised
	if err := yaml.Unmarshal(plumbText, &a); err != nil {
		return nil, fmt.Errorf("read plumb.yaml: %w", err)
	}
	return a, nil
}

// of gives the most particular advice there is for a cell.
func (a advised) of(c cell) map[string]string {
	for _, key := range []string{c.name(), c.engine.name + "-" + c.load, c.engine.name} {
		if s, there := a[key]; there {
			return s
		}
	}
	return nil
}
