package rollback

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/stack"
)

var db = stack.Ref{Kind: "mysql", Name: "3306"}

// described is an engine of which only who its server is gets asked.
type described struct{ protect.Engine }

func (described) Kind() string { return db.Kind }
func (described) Describe(context.Context, host.Reader, *stack.Stack, stack.Ref) (protect.Server, host.Target, error) {
	return protect.Server{Ref: db, Identity: "one"}, host.Target{}, nil
}

// shelf is a storage of which one snapshot is gone.
type shelf struct {
	protect.Storage
	gone string
}

func (shelf) Name() string { return "shelf" }
func (s shelf) State(_ context.Context, _ host.Reader, m protect.Member) (protect.MemberState, error) {
	return protect.MemberState{Gone: m.Snapshot == s.gone}, nil
}

// here is this machine, without servers.
type here struct{ *host.LiveDoer }

func (here) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-11-24 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

func until(t *testing.T, clock string) *replay.Target {
	t.Helper()
	to, err := replay.Parse("2026-11-24 " + clock + " UTC")
	must(t, err)
	return &to
}

// TestNearest: a log is replayed from the newest proven point whose snapshots were all there before the time, and still are.
func TestNearest(t *testing.T) {
	k := &protect.Keeper{Do: here{hosttest.LiveDoer(t)}, Engines: []protect.Engine{described{}}, Storages: []protect.Storage{shelf{gone: "gone"}}, Store: protect.Store{Dir: t.TempDir()}, Host: "db1", Now: time.Now}
	put := func(clock string, label protect.Label, change func(*protect.Point)) {
		p := protect.Point{ID: "20261124T" + strings.ReplaceAll(clock, ":", "") + "Z-0000", State: protect.Taken, Host: "db1", Label: label, Server: protect.Server{Ref: db, Identity: "one"},
			Members: []protect.Member{{Volume: protect.Volume{Storage: "shelf", Name: "data"}, Snapshot: clock}},
			Times:   protect.Times{Began: at(clock), Snapshot: at(clock).Add(500 * time.Millisecond), Storage: 1500 * time.Millisecond}}
		if change != nil {
			change(&p)
		}
		must(t, k.Store.Put(t.Context(), k.Do, p))
	}
	put("01:00:00", protect.Proven, nil)
	put("02:00:00", protect.Proven, func(p *protect.Point) { p.Members[0].Snapshot = "gone" })
	put("03:00:00", protect.Crash, nil)
	put("04:00:00", protect.Proven, nil)
	put("04:30:00", protect.Proven, func(p *protect.Point) { p.Server.Identity = "another" })
	put("04:40:00", protect.Proven, func(p *protect.Point) { p.Host = "db2" })
	put("04:50:00", protect.Proven, func(p *protect.Point) { p.State = protect.Destroying })
	for _, c := range []struct {
		to       string
		unproven bool
		want     string // the point's clock, or what is said
		passed   []string
	}{
		{"05:00:00", false, "040000", nil},
		{"04:00:03", false, "040000", nil},
		{"04:00:02", false, "010000", []string{"is between the beginning of point 20261124T040000Z", "030000Z-0000 is not proven: it is crash", "gone is gone or another now"}},
		{"04:00:00", false, "010000", []string{"030000Z", "020000Z"}},
		{"04:00:00", true, "030000", nil},
		{"02:59:00", false, "010000", []string{"020000Z"}},
		{"01:00:01", false, "cannot be reached from any point of mysql:3306: 2026-11-24 01:00:01 UTC is between", nil},
		{"00:30:00", false, "is before the first point of mysql:3306, 20261124T010000Z-0000", nil},
	} {
		p, passed, err := Rollback{Keeper: k}.Nearest(t.Context(), k.Do, &stack.Stack{}, db, Options{To: until(t, c.to), Unproven: c.unproven})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.to, err, c.want)
			}
			continue
		}
		if !strings.Contains(p.ID, c.want) || !slices.EqualFunc(passed, c.passed, strings.Contains) {
			t.Errorf("%s: point %s, passed over %q; want %s, %q", c.to, p.ID, passed, c.want, c.passed)
		}
	}
}

// TestTimeWhileAPointWasTaken: a replay to a time at which the snapshots were not all there yet would keep what was written after it.
func TestTimeWhileAPointWasTaken(t *testing.T) {
	p := protect.Point{ID: "p", Times: protect.Times{Began: at("04:00:00"), Snapshot: at("04:00:02"), Storage: 3 * time.Second}}
	for clock, want := range map[string]string{"03:59:59": "is before the point p", "04:00:00": "is before the point p", "04:00:01": "is between", "04:00:05": "is between", "04:00:06": ""} {
		if err := later(*until(t, clock), p); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", clock, err, want)
		}
	}
	p.Times = protect.Times{Began: at("04:00:00"), Ended: at("05:00:00")} // the run that took it was killed
	if err := later(*until(t, "04:30:00"), p); err == nil {
		t.Error("when its snapshots came about is not known, and the time is taken")
	}
}
