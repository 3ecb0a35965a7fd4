package test

import (
	"os"
	"strings"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/rule"
	"plumb/knowledge"
)

// TestMeasuredIsOfPowerCuts checks that the rows that measured.yaml names are
// among those of research/powercut.
func TestMeasuredIsOfPowerCuts(t *testing.T) {
	all, err := rule.Measurements(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("../research/powercut/rows.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, row := range m.Cuts {
			if !strings.Contains(string(rows), `{"`+row+`", `) {
				t.Errorf("measured.yaml: research/powercut has no row %s", row)
			}
		}
	}
}

// TestMeasuredIsOfExperiments checks that what measured.yaml tells was told by
// experiments that are there, and can be repeated as they were run.
func TestMeasuredIsOfExperiments(t *testing.T) {
	all, err := rule.Measurements(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Cuts != nil {
			continue
		}
		name := "../experiments/" + m.Experiment + ".yaml"
		text, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("measured.yaml, %s: %v", m.Experiment, err)
			continue
		}
		x, err := experiment.Parse(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		switch same := strings.HasPrefix(x.Hash, m.Ledger); {
		case !same && m.Changed == "":
			t.Errorf("measured.yaml, %s: the file has the hash %.12s, and ledger says %s: run it again, or say under changed what differs", m.Experiment, x.Hash, m.Ledger)
		case same && m.Changed != "":
			t.Errorf("measured.yaml, %s: the file has the hash of the ledger, so nothing that counts has changed", m.Experiment)
		}
	}
}
