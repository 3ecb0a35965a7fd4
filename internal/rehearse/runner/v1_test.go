package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// v1 is a rehearsal that the Plumb of 2026-11-23 (3baf977) began, and that was killed.
const v1 = "rehearsal-20261123-144632.json"

// keptIn gives ports with a directory that holds a rehearsal, as edit changes it.
func keptIn(t *testing.T, edit func(string) string) (p Ports, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/v1", v1))
	if err != nil {
		t.Fatal(err)
	}
	p = Ports{Books: t.TempDir(), Live: host.NewLiveDoer(host.NewLive(host.LiveOptions{}))}
	t.Cleanup(func() { p.Live.Close() })
	file = filepath.Join(p.Books, v1)
	if err := os.WriteFile(file, []byte(edit(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return p, file
}

func TestResumesWhatEarlierPlumbsBegan(t *testing.T) {
	p, file := keptIn(t, func(text string) string { return text })
	x, err := Resume(t.Context(), "", Options{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if x.Sandbox != "mariadb" || x.Budget != 5*time.Minute || x.Ledger != "/tmp/fx/reh4/ledger" || x.Plan != "/tmp/fx/reh4/plan.json" || x.Dir != "/var/tmp" {
		t.Errorf("options %+v", x.Options)
	}
	s := x.proposal.Stages
	if len(s) != 1 || s[0].Experiment.Hash != "3e075582349ced7c1caf5f12ac37ad87fb860c2cc3f7625bff0f570034b0f6ef" || s[0].AtOnce != 21 {
		t.Errorf("%d stages, the first has the hash %s", len(s), s[0].Experiment.Hash)
	}
	if later, err := s[0].Within(time.Hour); err != nil || later.Experiment.Hash != s[0].Experiment.Hash || later.Experiment.Budget != time.Hour {
		t.Errorf("with more time it has the hash %s: %v", later.Experiment.Hash, err)
	}
	if steps := x.proposal.Steps; len(steps) != 1 || steps[0].Knob.Name != "innodb_buffer_pool_size" || steps[0].Gain != 7 || steps[0].Value != "256M" {
		t.Errorf("steps %+v", x.proposal.Steps)
	}
	if err := x.write(t.Context(), x.kept); err != nil {
		t.Fatal(err)
	}
	if all, err := readAllKept(t.Context(), p.Live, p.Books); err != nil || len(all) != 1 || x.keptFile(all[0].Name) != file {
		t.Errorf("written again: %+v, %v", all, err)
	}
}

// A rehearsal of a newer form is refused as it is.
func TestNewerRehearsalStaysAsItIs(t *testing.T) {
	p, file := keptIn(t, func(text string) string {
		text = strings.Replace(text, `"plumb": 1`, `"plumb": 2`, 1)
		return strings.Replace(text, `"budget": 300000000000`, `"budget": "5m"`, 1)
	})
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resume(t.Context(), "", Options{}, p)
	if err == nil || !strings.Contains(err.Error(), "a rehearsal of version 2") || !strings.Contains(hint.Of(err), "newer plumb") {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("what was refused has changed: %v", err)
	}
}
