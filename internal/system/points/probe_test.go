package points

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

var taken = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func points(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for i, label := range []protect.Label{protect.Crash, protect.Proven, protect.Locked, protect.Crash} {
		at := taken.Add(time.Duration(i-3) * 24 * time.Hour)
		p := protect.Point{Form: 1, ID: at.Format("20060102T150405Z") + "-0000", State: protect.Taken, Label: label,
			Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Times: protect.Times{Snapshot: at.Add(-time.Hour)}}
		p.Members = []protect.Member{{Volume: protect.Volume{Storage: "shelf", Name: "data"}, Snapshot: p.ID}}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		files[protect.Directory+"/"+p.ID+".json"] = string(text)
	}
	return files
}

func TestProbe(t *testing.T) {
	files := points(t)
	files["/var/lib/plumb/protect/status.json"] = `{"form": 1, "acts": [
		{"kind": "drill", "server": "mysql:3306", "since": "2027-03-13T00:00:00Z", "why": "no memory"},
		{"kind": "snapshot", "server": "postgres:5432", "ok": "2027-03-13T00:00:00Z"}]}`
	seen := &stack.Stack{Things: []*stack.Thing{stack.NewThing("mysql", "3306")}}
	obs, err := Probe{Storages: []protect.Storage{shelf{}}}.Collect(t.Context(), &hosttest.Map{Files: files, Who: host.About{Taken: taken}}, seen)
	if err != nil || len(obs.Things) != 2 {
		t.Fatalf("%+v, %v", obs, err)
	}
	m, p := obs.Things[0], obs.Things[1]
	ints := func(t *stack.Thing, name string) int64 { n, _ := t.Int(name); return n }
	runs, _ := m.Bool("server_runs")
	if m.Ref.String() != "points:mysql:3306" || !runs || ints(m, "points") != 4 || ints(m, "newest_age") != 3600 || ints(m, "oldest_age") != 3*86400+3600 ||
		ints(m, "proven_age") != 2*86400+3600 || strings.Join(m.List("failing"), "") != "drill: no memory" {
		t.Errorf("%+v", m)
	}
	runs, known := p.Bool("server_runs")
	named, _ := p.Bool("in_policy")
	if _, ok := p.Get("proven_age"); ok || !known || runs || !named || ints(p, "points") != 0 {
		t.Errorf("%+v", p)
	}
}

// shelf is a storage of which some snapshots are gone, and some cannot be looked at.
type shelf struct {
	protect.Storage
	gone, unread string
}

func (shelf) Name() string { return "shelf" }

func (s shelf) State(_ context.Context, _ host.Reader, m protect.Member) (protect.MemberState, error) {
	switch m.Snapshot {
	case s.gone:
		return protect.MemberState{Gone: true}, nil
	case s.unread:
		return protect.MemberState{}, errors.New("the disk does not answer")
	}
	return protect.MemberState{}, nil
}

// TestLostPointsAreNone: a proven point whose snapshots are gone, or cannot be read, proves nothing now.
func TestLostPointsAreNone(t *testing.T) {
	files := points(t)
	ids := map[int]string{}
	for i := range 4 {
		at := taken.Add(time.Duration(i-3) * 24 * time.Hour)
		ids[i] = at.Format("20060102T150405Z") + "-0000"
	}
	seen := &stack.Stack{}
	ints := func(storages ...protect.Storage) (points, newest, lost int64, proven, asked bool) {
		obs, err := Probe{Storages: storages}.Collect(t.Context(), &hosttest.Map{Files: files, Who: host.About{Taken: taken}}, seen)
		if err != nil || len(obs.Things) != 1 {
			t.Fatalf("%+v, %v", obs, err)
		}
		points, _ = obs.Things[0].Int("points")
		newest, _ = obs.Things[0].Int("newest_age")
		lost, asked = obs.Things[0].Int("lost")
		_, proven = obs.Things[0].Int("proven_age")
		return points, newest, lost, proven, asked
	}
	if points, newest, lost, proven, asked := ints(shelf{gone: ids[1], unread: ids[3]}); points != 2 || newest != 86400+3600 || lost != 2 || proven || !asked {
		t.Errorf("%d points, the newest %d s old, %d lost, proven %v", points, newest, lost, proven)
	}
	obs, err := Probe{}.Collect(t.Context(), &hosttest.Map{Files: files, Who: host.About{Taken: taken}}, seen)
	if err != nil || len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, "of 4 points are still there is not known") {
		t.Fatalf("of a storage that nobody asks: %+v, %v", obs, err)
	}
	for _, fact := range []string{"points", "oldest_age", "newest_age", "proven_age"} {
		if v, known := obs.Things[0].Facts[fact]; known || !slices.Contains(obs.Gaps[0].Facts, fact) {
			t.Errorf("of a storage that nobody asks: %s is %+v; %+v", fact, v, obs.Gaps)
		}
	}
}

func TestProbeWithoutPoints(t *testing.T) {
	obs, err := Probe{}.Collect(t.Context(), &hosttest.Map{}, &stack.Stack{})
	if err != nil || len(obs.Things)+len(obs.Gaps) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	// A file that cannot be read could be the proven one.
	files := points(t)
	files[protect.Directory+"/20270101T000000Z-0000.json"] = "{"
	if obs, err := (Probe{}).Collect(t.Context(), &hosttest.Map{Files: files}, &stack.Stack{}); err == nil || len(obs.Things) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	denied := hosttest.NewFaulty(&hosttest.Map{Files: points(t)}, hosttest.Fault{Op: "glob", Err: fs.ErrPermission})
	if _, err := (Probe{}).Collect(t.Context(), denied, &stack.Stack{}); err == nil {
		t.Error("no word of what may not be read")
	}
}
