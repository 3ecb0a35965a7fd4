package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

const backs = `points:
  - server: mysql:3306
    every: 1h
    backup:
      - {to: ['s3://backups/db1', 'file:///mnt/nas/db1'], recipients: /etc/plumb/recipients.txt, every: 1d}
`

func TestBackupsAreRead(t *testing.T) {
	p := parse(t, backs)
	s := p.Rules[0].Backup[0]
	if !p.backs() || s.Every != 24*time.Hour || s.Recipients != "/etc/plumb/recipients.txt" || s.Target() != "s3://backups/db1 and file:///mnt/nas/db1" {
		t.Fatalf("%+v", s)
	}
	for text, want := range map[string]string{
		"/mnt/nas":        "to lists s3://bucket/prefix and file:///directory",
		"file://host/nas": "to lists s3://bucket/prefix and file:///directory",
		"s3://a b":        "to lists s3://bucket/prefix and file:///directory",
	} {
		if _, err := Parse("p", []byte(strings.Replace(backs, "s3://backups/db1", text, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Parse("p", []byte(strings.Replace(backs, "/etc/plumb/rec", "rec", 1))); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("%v", err)
	}
	more := func(fields string) []byte {
		return []byte(strings.Replace(backs, "every: 1d}", "every: 1d, "+fields+"}", 1))
	}
	if p, err := Parse("p", more("limit_rate: 50M, lock_days: 30")); err != nil || p.Rules[0].Backup[0].LimitRate != 50<<20 || p.Rules[0].Backup[0].LockDays != 30 {
		t.Errorf("%+v, %v", p, err)
	}
	for fields, want := range map[string]string{
		"limit_rate: 0":     "limit_rate is a size",
		"limit_rate: fast":  "limit_rate is a size",
		"lock_days: 0":      "lock_days is a whole number of days",
		"lock_days: 1.5":    "lock_days is a whole number of days",
		"lock_days: 100000": "lock_days is a whole number of days",
	} {
		if _, err := Parse("p", more(fields)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fields, err)
		}
	}
	if files, err := Emit(Systemd, "/bin/true", p); err != nil || len(files) != 4 || !strings.Contains(files[2].Text, "--backups") {
		t.Errorf("%v, %v", files, err)
	}
	if cron, err := Emit(Cron, "/usr/bin/plumb", p); err != nil || !strings.HasSuffix(cron[0].Text, "'/etc/plumb/protect.yaml' --backups\n") {
		t.Errorf("%v, %v", cron, err)
	}
}

func TestBackups(t *testing.T) {
	p := parse(t, backs)
	s := p.Rules[0].Backup[0]
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "protect", "status.json")
	a := &acts{}
	clock := now
	r := Runner{Do: hosttest.LiveDoer(t), Acts: a, File: BackupsOf(file), Now: func() time.Time { return clock }, Kinds: Long()}
	beside := Runner{Do: r.Do, Acts: &acts{}, File: file, Now: r.Now}
	a.points = []protect.Point{point(now)}
	a.during = func() {
		if other, err := beside.Run(ctx, p); err != nil || other.Busy {
			t.Errorf("points wait for a backup: %+v, %v", other, err)
		}
		if second, err := r.Run(ctx, p); err != nil || !second.Busy {
			t.Errorf("a second backup at once: %+v, %v", second, err)
		}
	}
	if _, err := r.Run(ctx, p); err != nil || kinds(a.did) != "backup>"+s.Target() {
		t.Fatalf("%s, %v", kinds(a.did), err)
	}
	a.during, a.did = nil, nil
	in := Seen{Now: now, Policy: p, Servers: []stack.Ref{db}, Points: a.points, Memory: Memory{Policy: p.File, Began: now}}
	if st := Assess(in); st.Met() || !strings.Contains(st.Servers[0].Unmet[0].Why, "nothing was backed up") {
		t.Errorf("%+v", st)
	}
	in.Backups, _ = Remember(ctx, r.Do, r.File)
	if st := Assess(in); !st.Met() || st.Servers[0].Backups[0].Point != a.points[0].ID {
		t.Errorf("%+v", st)
	}
	// A day later one that was taken meanwhile is due, and one that fails is told of until it goes well.
	clock = now.Add(23 * time.Hour)
	a.points = append(a.points, point(clock))
	if _, err := r.Run(ctx, p); err != nil || len(a.did) > 0 {
		t.Errorf("too early: %s, %v", kinds(a.did), err)
	}
	clock, a.fails = now.Add(24*time.Hour), map[string]error{"backup mysql:3306": errors.New("the bucket is full")}
	if report, err := r.Run(ctx, p); err != nil || report.Failed() != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	in.Now, in.Points, in.Memory.Began = clock, a.points, clock
	in.Backups, _ = Remember(ctx, r.Do, r.File)
	if st := Assess(in); st.Met() || !strings.Contains(st.Servers[0].Unmet[0].Why, "the bucket is full") {
		t.Errorf("%+v", st)
	}
	// One that some of its places lack is not made again, and told of.
	a.fails, a.did = map[string]error{"backup mysql:3306": fmt.Errorf("back up: %w", Done(errors.New("the NAS is away")))}, nil
	for range 2 {
		if _, err := r.Run(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	in.Backups, _ = Remember(ctx, r.Do, r.File)
	if st := Assess(in); len(a.did) != 1 || st.Met() || !strings.Contains(st.Servers[0].Unmet[0].Why, "the NAS is away") {
		t.Errorf("%s: %+v", kinds(a.did), st)
	}
}
