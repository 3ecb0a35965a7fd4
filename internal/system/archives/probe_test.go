package archives

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

var taken = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// machine is one on which services said something.
func machine(t *testing.T, all ...archive.Status) hosttest.Map {
	t.Helper()
	h := hosttest.Map{Files: map[string]string{}, Who: host.About{Taken: taken}}
	for _, s := range all {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		h.Files[archive.StatusFile("/s", s.Name)] = string(text)
	}
	return h
}

func troubles(t *stack.Thing) string { return strings.Join(t.List("troubles"), "; ") }

// What is wrong with a service is what plumb archive status says of it, at the time of the check.
func TestTroubles(t *testing.T) {
	ill := archive.Source{Name: "write-ahead log"}
	ill.Ill(errors.New("no bucket\nat all"), taken.Add(-time.Minute))
	h := machine(t,
		archive.Status{Name: "ill", To: "s3://a/b", Alive: taken, Since: taken, Sources: []archive.Source{ill}},
		archive.Status{Name: "late", Alive: taken, Sources: []archive.Source{{Name: "mysql", Follows: true, Whole: taken.Add(-3 * time.Hour)}}},
		archive.Status{Name: "silent", Alive: taken.Add(-time.Hour)},
		archive.Status{Name: "slow", Alive: taken, Sources: []archive.Source{{Name: "mysql", Follows: true, Whole: taken.Add(-time.Hour)}}}, // it may look once an hour
		archive.Status{Name: "well", Alive: taken.Add(-time.Second), Sources: []archive.Source{{Name: "mysql", Follows: true, Whole: taken}}},
	)
	obs, err := Probe{State: "/s"}.Collect(t.Context(), h, &stack.Stack{})
	if err != nil || len(obs.Things) != 5 {
		t.Fatalf("%+v, %v", obs, err)
	}
	for i, want := range []string{"write-ahead log: failed 1 time since 2026-11-29T11:59:00Z: no bucket at all", "mysql: what was written in the last 3h is not in the archive", "the service has reported nothing for 1h: ", "", ""} {
		if got := troubles(obs.Things[i]); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, and it should be %q", obs.Things[i].Ref, got, want)
		}
	}
	if to := obs.Things[0].Text("to"); to != "s3://a/b" || obs.Things[0].Ref.String() != "archives:ill" {
		t.Errorf("%s to %s", obs.Things[0].Ref, to)
	}
}

// Where no service ever ran there is nothing, a tape of before says nothing, and what cannot be read is a gap that hides no other.
func TestProbe(t *testing.T) {
	if obs, err := (Probe{}).Collect(t.Context(), hosttest.Map{}, &stack.Stack{}); err != nil || len(obs.Things)+len(obs.Gaps) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	before := hosttest.NewFaulty(machine(t), hosttest.Fault{Op: "glob", Err: host.ErrNotOnTape})
	if obs, err := (Probe{State: "/s"}).Collect(t.Context(), before, &stack.Stack{}); err != nil || len(obs.Things) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	denied := hosttest.NewFaulty(machine(t), hosttest.Fault{Op: "glob", Err: fs.ErrPermission})
	if _, err := (Probe{State: "/s"}).Collect(t.Context(), denied, &stack.Stack{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("of what may not be read: %v", err)
	}
	h := machine(t, archive.Status{Name: "main", Alive: taken})
	h.Files[archive.StatusFile("/s", "torn")] = "{"
	if obs, err := (Probe{State: "/s"}).Collect(t.Context(), h, &stack.Stack{}); err == nil || len(obs.Things) != 1 {
		t.Errorf("%+v, %v", obs, err)
	}
}
