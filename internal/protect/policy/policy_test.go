package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

const example = `points:
  - server: mysql:3306
    every: 1h
    mode: auto
    keep: last=3,24h,7d,verified=2
    replicate:
      - to: tank2/copies
      - {to: ssh://backup@vault/tank/db, every: 1d, ssh: [-i, /root/.ssh/backup], decrypted: true, verify: true}
    drill: {every: 1d, checks: full, ready: true, max_time: 2h, memory: 512M}
    limits: {wait: 5s, hold: 10s}
  - server: all
    every: 1d
    keep: 7d
`

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("/etc/plumb/protect.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	r := parse(t, example).Rules[0]
	if r.Every != time.Hour || r.Mode != "" || r.Keep.Hours != 24 || r.Keep.Verified != 2 || len(r.Replicate) != 2 || r.Replicate[1].Every != 24*time.Hour ||
		!slices.Equal(r.Replicate[1].SSH, []string{"-i", "/root/.ssh/backup"}) || !r.Replicate[1].Decrypted || !r.Replicate[1].Verify || r.Replicate[0].Verify ||
		!r.Drill.Full || !r.Drill.Ready || r.Drill.Limit != 2*time.Hour || r.Drill.Memory != 512<<20 || r.Limits.Hold != 10*time.Second || r.Line != 2 {
		t.Errorf("%+v %+v", r, r.Drill)
	}
	for text, want := range map[string]string{
		"":                                    ":1:1: empty file",
		"points: []":                          "names no server",
		"point: []":                           `no key "point"; did you mean`,
		"points: [{server: all}]":             `:1:10: a rule needs the key "every"`,
		"points: [{server: all, every: 5}]":   `:1:31: every is a length of time`,
		"points: [{server: all, every: -5h}]": "between 1m and five years",
		"points: [{server: all, every: 10s}]": "between 1m and five years",
		"points: [{server: all, every: 99999999w}]":                                      "every is a length of time",
		"points:\n  - server: mysqll:3306\n    every: 1h":                                `:2:13: "mysqll" is not a kind of server; did you mean`,
		"points: [{server: mysql, every: 1h}]":                                           "server is all, or",
		"points: [{server: all, every: 1h, keep: 7x}]":                                   `the term "7x"`,
		"points: [{server: all, every: 1h, mode: lock}]":                                 "did you mean",
		"points: [{server: all, every: 1h}, {server: all, every: 2h}]":                   "all already has a rule, in line 1",
		"points: [{server: all, every: 1d, drill: {every: 1h}}]":                         "proves nothing new",
		"points: [{server: all, every: 1d, drill: {every: 1d, memory: lots}}]":           "memory is a size",
		"points: [{server: all, every: 1d, drill: {}}]":                                  `needs the key "every"`,
		"points: [{server: all, every: 1d, replicate: [{to: -oProxyCommand=x}]}]":        "names no dataset below a pool",
		"points: [{server: all, every: 1d, replicate: [{to: 'backup@vault:tank/db'}]}]":  "use pool/dataset or ssh://",
		"points: [{server: all, every: 1d, replicate: [{to: a/b}, {to: a/b}]}]":          "listed twice",
		"points: [{server: all, every: 1d, replicate: [{to: a/b, ssh: [-i, /k]}]}]":      "a/b is on this host: ssh has no effect",
		"points: [{server: all, every: 1d, replicate: [{to: a/b, verify: soon}]}]":       "verify",
		"points: [{server: all, every: 1d, limits: {wait: forever}}]":                    "wait is a length of time",
		"points:\n  - server: all\n    every: x\n  - server: mysql:3306\n    evry: 1h\n": ":5:5: a rule has no key \"evry\"; did you mean",
	} {
		p, err := Parse("p.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "p.yaml:") || p != nil {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("p.yaml", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if p == nil {
			return
		}
		for _, r := range p.Rules {
			if r.Every < time.Minute || r.Server == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

var (
	now = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)
	db  = stack.Ref{Kind: "mysql", Name: "3306"}
)

func point(at time.Time) protect.Point {
	return protect.Point{ID: at.Format("20060102T150405Z") + "-0000", State: protect.Taken, Label: protect.Crash, Server: protect.Server{Ref: db}, Times: protect.Times{Snapshot: at}}
}

func proven(p protect.Point, at time.Time) protect.Point {
	p.Label, p.Drill = protect.Proven, &protect.Drill{At: at, OK: true}
	return p
}

// kinds writes acts down as one text.
func kinds(acts []Act) (text string) {
	for _, a := range acts {
		text += " " + string(a.Kind)
		if a.Target != "" {
			text += ">" + a.Target
		}
	}
	return strings.TrimSpace(text)
}

func TestDue(t *testing.T) {
	p := parse(t, example)
	p.Rules = p.Rules[:1]
	sent := func(ids ...string) (m Memory) {
		for i, to := range []string{"tank2/copies", "ssh://backup@vault/tank/db"} {
			m.note(Act{Kind: Replicate, Server: db, Target: to, Point: ids[i]}, now.Add(-2*time.Hour), nil)
		}
		return m
	}
	fresh := proven(point(now.Add(-10*time.Minute)), now.Add(-9*time.Minute))
	hourOld := proven(point(now.Add(-56*time.Minute)), now.Add(-50*time.Minute))
	failed := point(now.Add(-10 * time.Minute))
	failed.Drill = &protect.Drill{At: now.Add(-9 * time.Minute)}
	future := proven(point(now.AddDate(1, 0, 0)), now.AddDate(1, 0, 0))
	taking := point(now)
	taking.State = protect.Taking
	both := "replicate>tank2/copies replicate>ssh://backup@vault/tank/db"
	for name, test := range map[string]struct {
		points []protect.Point
		memory Memory
		want   string
	}{
		"nothing yet":         {nil, Memory{}, "snapshot"},
		"only one being made": {[]protect.Point{taking}, Memory{}, "snapshot"},
		"all done":            {[]protect.Point{fresh}, sent(fresh.ID, fresh.ID), ""},
		"sent to none":        {[]protect.Point{fresh}, Memory{}, both},
		"a newer one to send, to one not yet": {[]protect.Point{point(now.Add(-2 * time.Hour)), fresh},
			sent(point(now.Add(-2*time.Hour)).ID, point(now.Add(-2*time.Hour)).ID), "replicate>tank2/copies"},
		"an hour less a little":             {[]protect.Point{hourOld}, sent(hourOld.ID, hourOld.ID), "snapshot"},
		"never proven":                      {[]protect.Point{point(now.Add(-time.Minute))}, sent(point(now.Add(-time.Minute)).ID, point(now.Add(-time.Minute)).ID), "drill"},
		"failed just now":                   {[]protect.Point{failed}, sent(failed.ID, failed.ID), ""},
		"a year ahead":                      {[]protect.Point{future}, sent(future.ID, future.ID), "snapshot"},
		"a year ahead, and one that is not": {[]protect.Point{future, fresh}, sent(fresh.ID, fresh.ID), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kinds(Due(Seen{Now: now, Policy: p, Points: test.points, Memory: test.memory}, Kinds())); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	other := stack.Ref{Kind: "postgres", Name: "5432"}
	acts := Due(Seen{Now: now, Policy: parse(t, example), Servers: []stack.Ref{other, db}, Points: []protect.Point{fresh}, Memory: sent(fresh.ID, fresh.ID)}, Kinds())
	if kinds(acts) != "snapshot" || acts[0].Server != other || acts[0].Rule.Every != 24*time.Hour {
		t.Errorf("all: %+v", acts)
	}
}

// TestAWeek runs a policy by a timer that is never quite on time, on a clock that goes back a
// year for a day: points come every hour all the same.
func TestAWeek(t *testing.T) {
	p := parse(t, "points: [{server: 'mysql:3306', every: 1h, drill: {every: 1d}}]")
	var points []protect.Point
	taken, drilled := map[string]int{}, 0
	for tick := range 7 * 96 {
		at := now.Add(time.Duration(tick)*15*time.Minute + time.Duration(tick*7919%40)*time.Second)
		if day := tick / 96; day == 3 {
			at = at.AddDate(-1, 0, 0)
		}
		for _, kind := range Kinds() {
			for _, a := range Due(Seen{Now: at, Policy: p, Points: points}, Kinds()) {
				switch {
				case a.Kind != kind:
				case kind == Take:
					points = append(points, point(at))
					taken[at.Format("2006-01-02 15")]++
				case kind == Prove:
					i := slices.IndexFunc(points, func(p protect.Point) bool { return p.ID == a.Point })
					points[i] = proven(points[i], at)
					drilled++
				}
			}
		}
	}
	if len(points) < 7*24 || len(points) > 7*24+4 || drilled < 7 || drilled > 10 {
		t.Errorf("%d points and %d drills in a week", len(points), drilled)
	}
	for hour, n := range taken {
		if n != 1 {
			t.Errorf("%d points in %s", n, hour)
		}
	}
}

// TestAQuarterIsNoBother: pruned as points come, no sensible rules ever meet a brake.
func TestAQuarterIsNoBother(t *testing.T) {
	for _, rules := range []string{"last=3,24h,7d,4w,12m,verified=2", "last=1,verified=1", "last=2,verified=2", "7d,verified=1", "last=2,3h,2d,1w,verified=1"} {
		p := parse(t, "points: [{server: 'mysql:3306', every: 1h, drill: {every: 1d}, keep: '"+rules+"'}]")
		var points []protect.Point
		for tick := range 100 * 24 {
			at := now.Add(time.Duration(tick) * time.Hour)
			for _, a := range Due(Seen{Now: at, Policy: p, Points: points}, Kinds()) {
				if a.Kind == Take {
					points = append(points, point(at))
				}
			}
			for _, a := range Due(Seen{Now: at, Policy: p, Points: points}, Kinds()) {
				if a.Kind == Prove {
					i := slices.IndexFunc(points, func(p protect.Point) bool { return p.ID == a.Point })
					points[i] = proven(points[i], at)
				}
			}
			plan := keep.Judge(at, points, nil, p.Rules[0].Keep, keep.Options{})[0]
			if len(plan.Brakes) > 0 {
				t.Fatalf("%s: after %d hours: %+v", rules, tick, plan.Brakes)
			}
			for _, f := range plan.Going() {
				points = slices.DeleteFunc(points, func(p protect.Point) bool { return p.ID == f.Point.ID })
			}
		}
		r := p.Rules[0].Keep
		if most := 1 + r.Last + r.Hours + r.Days + r.Weeks + r.Months + r.Verified; len(points) > most {
			t.Errorf("%s: %d points are left", rules, len(points))
		}
	}
}

// acts is what a run calls on, in memory.
type acts struct {
	points []protect.Point
	fails  map[string]error // by kind and server
	did    []Act
	during func()
	unread error // why not all points could be read
}

func (a *acts) Servers(context.Context) ([]stack.Ref, error) { return []stack.Ref{db, other}, nil }

func (a *acts) Points(context.Context) ([]protect.Point, map[string]keep.Facts, error) {
	return a.points, nil, a.unread
}

var other = stack.Ref{Kind: "postgres", Name: "5432"}

func (a *acts) Do(_ context.Context, act Act) error {
	a.did = append(a.did, act)
	if a.during != nil {
		a.during()
	}
	if act.Kind == Replicate && act.Target == "tank2/panic" {
		panic("our mistake")
	}
	if err := a.fails[string(act.Kind)+" "+act.Server.String()]; err != nil {
		return err
	}
	if act.Kind == Take {
		p := point(now)
		p.ID, p.Server.Ref = p.ID+act.Server.Kind, act.Server
		a.points = append(a.points, p)
	}
	for i, p := range a.points {
		if act.Kind == Prove && p.ID == act.Point {
			a.points[i] = proven(p, now)
		}
	}
	return nil
}

// TestRunBesideDamage: a file of a point that cannot be read keeps nothing from being protected, and is told.
func TestRunBesideDamage(t *testing.T) {
	ctx, damaged := context.Background(), errors.New("read x.json: damaged")
	a := &acts{unread: damaged}
	r := Runner{Do: hosttest.LiveDoer(t), Acts: a, File: filepath.Join(t.TempDir(), "protect", "status.json"), Now: func() time.Time { return now }}
	report, err := r.Run(ctx, parse(t, "points: [{server: all, every: 1h, drill: {every: 1d}}]"))
	if !errors.Is(err, damaged) || report.Failed() > 0 || kinds(a.did) != "snapshot snapshot drill drill" {
		t.Errorf("%s: %+v, %v", kinds(a.did), report, err)
	}
	if m, err := Remember(ctx, r.Do, r.File); err != nil || m.Ended.IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
}

// What a killed run has left running is no other run: it is told, as it may never end.
func TestRunBesideWhatWasLeft(t *testing.T) {
	left := host.LeftRunning{Who: "process 7 (dump)"}
	d := &host.Hooked{Behind: hosttest.LiveDoer(t), Around: func(_ context.Context, c host.Call, do func() error) error {
		if c.Op == "lock" {
			return fmt.Errorf("lock it: %w", left)
		}
		return do()
	}}
	r := Runner{Do: d, Acts: &acts{}, File: filepath.Join(t.TempDir(), "protect", "status.json"), Now: func() time.Time { return now }}
	report, err := r.Run(t.Context(), parse(t, "points: [{server: all, every: 1h}]"))
	if report.Busy || !errors.Is(err, left) || hint.Of(err) == "" {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestRun(t *testing.T) {
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "protect", "status.json")
	p := parse(t, "points: [{server: all, every: 1h, drill: {every: 1d}, replicate: [{to: tank2/db}, {to: tank2/panic}]}]")
	a := &acts{fails: map[string]error{"snapshot mysql:3306": hint.With(errors.New("the pool is full"), "make room")}}
	clock := now
	r := Runner{Do: hosttest.LiveDoer(t), Acts: a, File: file, Now: func() time.Time { return clock }}
	a.during = func() {
		if second, err := r.Run(ctx, p); err != nil || !second.Busy || len(second.Done) > 0 {
			t.Errorf("a second run at once: %+v, %v", second, err)
		}
	}
	report, err := r.Run(ctx, p)
	if err != nil || report.Busy || report.Failed() != 2 || kinds(a.did) != "snapshot snapshot drill replicate>tank2/db replicate>tank2/panic" {
		t.Fatalf("%s: %+v, %v", kinds(a.did), report, err)
	}
	a.during = nil
	m, err := Remember(ctx, r.Do, file)
	last, _ := m.Last(Take, db, "")
	if err != nil || !last.Fails() || last.Why != "the pool is full" || last.Hint != "make room" || m.Ended.IsZero() || m.Policy != p.File {
		t.Fatalf("%+v, %v", m, err)
	}
	// It fails again, and then no more.
	clock, a.did = clock.Add(15*time.Minute), nil
	if _, err := r.Run(ctx, p); err != nil || kinds(a.did) != "snapshot replicate>tank2/panic" {
		t.Fatalf("%s, %v", kinds(a.did), err)
	}
	m, _ = Remember(ctx, r.Do, file)
	if last, _ = m.Last(Take, db, ""); last.Times != 2 || !last.Since.Equal(now) {
		t.Errorf("%+v", last)
	}
	clock, a.fails = clock.Add(15*time.Minute), nil
	if _, err := r.Run(ctx, p); err != nil {
		t.Fatal(err)
	}
	m, _ = Remember(ctx, r.Do, file)
	if last, _ = m.Last(Take, db, ""); last.Fails() || last.Why != "" || !last.OK.Equal(clock) {
		t.Errorf("%+v", last)
	}
	p.File = filepath.Join(t.TempDir(), "[p]*.yaml")
	if err := os.WriteFile(p.File, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, p); err != nil {
		t.Errorf("a policy of our own: %v", err)
	}
	if err := os.Chmod(p.File, 0o666); err != nil {
		t.Fatal(err)
	}
	if report, err := r.Run(ctx, p); err == nil || len(report.Done) > 0 || hint.Of(err) == "" {
		t.Errorf("a policy that anybody can write: %+v, %v", report, err)
	}
	p.File = "/etc/plumb/protect.yaml"
	if err := os.WriteFile(file, []byte(`{"form": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, p); err == nil || hint.Of(err) == "" {
		t.Errorf("a file of a newer one: %v", err)
	}
}

func TestAssess(t *testing.T) {
	p := parse(t, "points: [{server: 'mysql:3306', every: 1h, keep: last=2, drill: {every: 1d}, replicate: [{to: tank2/db}]}]")
	good := Seen{Now: now, Policy: p, Servers: []stack.Ref{db}, Points: []protect.Point{proven(point(now.Add(-time.Hour)), now)}, Memory: Memory{Policy: p.File, Began: now}}
	good.Memory.note(Act{Kind: Replicate, Server: db, Target: "tank2/db", Point: good.Points[0].ID}, now, nil)
	good.Facts = map[string]keep.Facts{good.Points[0].ID: {Space: 4096}}
	s := Assess(good)
	if !s.Met() || len(s.Servers) != 1 || s.Servers[0].Newest.Age != time.Hour || s.Servers[0].Proven == nil || s.Servers[0].Space != 4096 || len(s.Servers[0].Prune) != 1 {
		t.Fatalf("%+v", s)
	}
	for name, test := range map[string]struct {
		change func(*Seen)
		want   string
	}{
		"no point":   {func(in *Seen) { in.Points = nil }, "there is no point"},
		"old":        {func(in *Seen) { in.Now = now.Add(time.Hour) }, "newest point is 2 h old"},
		"not proven": {func(in *Seen) { in.Points = []protect.Point{point(now)} }, "no point of it is proven"},
		"proof too old": {func(in *Seen) {
			in.Points = []protect.Point{proven(point(now.Add(-48*time.Hour)), now.Add(-48*time.Hour)), point(now)}
		}, "newest proven point is 2 days"},
		"future":            {func(in *Seen) { in.Points = append(slices.Clone(in.Points), point(now.AddDate(1, 0, 0))) }, "dated in the future"},
		"never run":         {func(in *Seen) { in.Memory = Memory{} }, "never run"},
		"not run":           {func(in *Seen) { in.Memory.Began = now.AddDate(0, 0, -3) }, "last run 3 days ago"},
		"run for another":   {func(in *Seen) { in.Memory.Policy = "/tmp/x" }, "another policy"},
		"does not run":      {func(in *Seen) { in.Servers = nil }, "is not running"},
		"servers not known": {func(in *Seen) { in.Servers, in.Unseen = nil, "permission denied" }, "not known: permission denied"},
		"files not read":    {func(in *Seen) { in.Unread = "permission denied" }, "not all points could be read"},
		"not sent":          {func(in *Seen) { in.Memory.Lasts = nil }, "nothing was sent to tank2/db"},
		"sent long ago":     {func(in *Seen) { in.Memory.Lasts[0].OK = now.AddDate(0, 0, -2) }, "last sent a point 2 days ago"},
		"failing":           {func(in *Seen) { in.Memory.note(Act{Kind: Prune, Server: db}, now, errors.New("the pool is suspended")) }, "prune failed at 2027-03-14 12:00:00 UTC: the pool is suspended"},
		"braked": {func(in *Seen) {
			for i := range 8 {
				in.Points = append(slices.Clone(in.Points), point(now.Add(time.Duration(-i)*time.Minute)))
			}
		}, "nothing is pruned"},
	} {
		t.Run(name, func(t *testing.T) {
			in := good
			in.Memory.Lasts = slices.Clone(good.Memory.Lasts)
			test.change(&in)
			s := Assess(in)
			var why []string
			for _, u := range append(s.Unmet, s.Servers[0].Unmet...) {
				why = append(why, u.Why)
			}
			if s.Met() || !strings.Contains(strings.Join(why, "\n"), test.want) {
				t.Errorf("%q, want %q", why, test.want)
			}
		})
	}
	in := good
	in.Facts = nil
	if s := Assess(in); s.Servers[0].Space != -1 {
		t.Errorf("space that nobody knows is %d", s.Servers[0].Space)
	}
	in.Policy = nil
	if s := Assess(in); !s.Met() || s.Servers[0].Newest == nil {
		t.Errorf("without a policy: %+v", s)
	}
}

func TestEmit(t *testing.T) {
	p := parse(t, example+"    backup: [{to: ['s3://b/p'], recipients: /etc/r}]\n")
	p.File = `/etc/plumb/my "best" 100% $HOME\policy.yaml`
	files, err := Emit(Systemd, "/bin/true", p)
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	cron, err := Emit(Cron, "/usr/bin/plumb", p)
	want := `*/15 * * * * root /usr/bin/plumb protect run '/etc/plumb/my "best" 100'\%' $HOME\policy.yaml'` + "\n"
	if err != nil || !strings.Contains(cron[0].Text, want) {
		t.Errorf("%s, %v", cron[0].Text, err)
	}
	for _, bad := range []string{"plumb", "/opt/my plumb", "/opt/plumb\n", "/opt/%h/plumb"} {
		if files, err := Emit(Systemd, bad, p); err == nil {
			t.Errorf("%q: %v", bad, files)
		}
	}
	p.File = "/etc/a\nb"
	if files, err := Emit(Cron, "/usr/bin/plumb", p); err == nil {
		t.Errorf("a line end: %v", files)
	}
	if _, err := Emit("launchd", "/usr/bin/plumb", parse(t, example)); err == nil {
		t.Error("launchd")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for _, f := range files {
		name := filepath.Join(dir, filepath.Base(f.Path))
		if err := os.WriteFile(name, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	out, err := exec.Command(analyze, args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "plumb-protect") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command(analyze, "calendar", "*:0/15", "*:*").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestForeign(t *testing.T) {
	for name, want := range map[string]string{
		"autosnap_2026-11-23_21:00:00_hourly": "sanoid", "syncoid_db1_2026-11-23:21:00:00-GMT00:00": "syncoid", "zrepl_20261123_210000_000": "zrepl",
		"offsite1-20261123210500": "zfs-autobackup", "__replicate_100-0_1700000000__": "Proxmox", "vzdump": "Proxmox", "zfs-auto-snap_hourly-2026-11-23-2100": "zfs-auto-snapshot",
		"plumb-20261123T210500Z-4f3a": "", "before-upgrade": "", "x-123": "", "-20261123210500": "", "": "",
	} {
		if got := By(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var all []protect.Foreign
	for i, name := range []string{"tank/db@autosnap_1", "tank/db@autosnap_2", "tank/db@mine"} {
		all = append(all, protect.Foreign{Member: protect.Member{Volume: protect.Volume{Name: "tank/db"}, Snapshot: name}, At: time.Unix(int64(i), 0)})
	}
	got := Count(all)
	if len(got) != 2 || got[0] != (Foreign{"tank/db", "sanoid", 2, "tank/db@autosnap_2", time.Unix(1, 0)}) || got[1] != (Foreign{"tank/db", "", 1, "tank/db@mine", time.Unix(2, 0)}) {
		t.Errorf("%+v", got)
	}
}
