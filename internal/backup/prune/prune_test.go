package prune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/protect/keep"
)

// A chain goes as a whole or not at all, and in two steps.
func TestChainsAndGrace(t *testing.T) {
	w := newWorld(t)
	full := w.backup(t, "")
	second := w.backup(t, full)
	third := w.backup(t, second)
	anew := w.backup(t, "")
	last := w.backup(t, anew)
	all := []string{full, second, third, anew, last}
	if done := w.prune(t, "last=3", 0); len(done.Marked) > 0 {
		t.Errorf("what the third needs goes: %q", done.Marked)
	}
	done := w.prune(t, "last=2", 0)
	if len(done.Plan.Servers[0].Brakes) == 0 || len(done.Marked) > 0 {
		t.Errorf("three of five go: %+v", done)
	}
	equal(t, "there", w.there(t), all)
	done = w.prune(t, "last=2", 3)
	equal(t, "marked", done.Marked, []string{third, second, full})
	equal(t, "there", w.there(t), []string{anew, last})
	if _, err := w.Find(t.Context(), full, ""); !errors.Is(err, signed.ErrRemoved) || !strings.Contains(hint.Of(err), "--undo "+full) {
		t.Errorf("found: %v", err)
	}
	if n := w.objects(t, full); n < 4 || done.Objects > 0 {
		t.Errorf("%d objects are left, %d went before the grace was over", n, done.Objects)
	}
	must(t, w.TakeBack(t.Context(), full))
	equal(t, "there again", w.there(t), []string{full, anew, last})
	w.pass(71 * time.Hour)
	if done := w.prune(t, "last=2", 0); len(done.Removed) > 0 {
		t.Errorf("removed an hour too early: %q", done.Removed)
	}
	w.pass(2 * time.Hour)
	done = w.prune(t, "last=2", 0)
	equal(t, "removed", done.Removed, []string{second, third})
	if done.Bytes == 0 || w.objects(t, second) != 1 {
		t.Errorf("%d bytes, %d objects left", done.Bytes, w.objects(t, second))
	}
	if err := w.TakeBack(t.Context(), second); !errors.Is(err, signed.ErrRemoved) {
		t.Errorf("taken back: %v", err)
	}
	w.pass(34 * 24 * time.Hour)
	done = w.prune(t, "last=2", 0)
	equal(t, "removed", done.Removed, []string{full})
	if n := w.objects(t, second); n != 0 {
		t.Errorf("the stone stays: %d", n)
	}
	equal(t, "in the end", w.there(t), []string{anew, last})
}

// What is not believed is no reason to remove what it may need.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for range 9 {
		ids = append(ids, w.backup(t, ""))
	}
	if done := w.prune(t, "last=8", 0); len(done.Marked) != 1 {
		t.Fatalf("%+v", done)
	}
	w.pass(100 * time.Hour)
	stranger, _, err := backup.HostKey(t.Context(), w.b.Do, t.TempDir(), "db1")
	must(t, err)
	m, err := w.Get(t.Context(), ids[8])
	must(t, err)
	forged, err := manifest.Sign(m, stranger)
	must(t, err)
	stone, err := manifest.SignStone(manifest.Stone{ID: ids[8]}, stranger)
	must(t, err)
	file := filepath.Join(w.at, manifest.Name(ids[8]))
	good, err := os.ReadFile(file)
	must(t, err)
	for what, text := range map[string][]byte{"torn": good[:100], "empty": nil, "somebody else's": forged, "a stone of somebody else's": stone, "another's": nil} {
		if what == "another's" {
			text, err = os.ReadFile(filepath.Join(w.at, manifest.Name(ids[7])))
			must(t, err)
		}
		must(t, os.WriteFile(file, text, 0o600))
		done, err := w.try(t, "last=7", 0)
		if err != nil || len(done.Plan.Brakes) == 0 || len(done.Marked)+len(done.Removed) > 0 || done.Objects > 0 {
			t.Errorf("%s: %+v, %v", what, done, err)
		}
	}
	must(t, os.WriteFile(file, good, 0o600))
	if done := w.prune(t, "last=7", 0); len(done.Marked) != 1 || len(done.Removed) != 1 {
		t.Errorf("%+v", done)
	}
}

// What killed runs left goes when nothing was heard of them for long, and what is no object of Plumb stays.
func TestOrphans(t *testing.T) {
	w := newWorld(t)
	w.b.Workers = 1
	w.backup(t, "")
	good := w.Store
	w.b.Store = dyingAfter(good, 3)
	killed := w.job("")
	if _, err := w.b.Run(t.Context(), killed); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.b.Store = good
	var id string
	for _, l := range w.plan(t).Lost {
		id = l.ID
	}
	if id == "" || w.objects(t, id) != 3 {
		t.Fatalf("%q has %d objects", id, w.objects(t, id))
	}
	w.pass(70 * time.Hour)
	if done := w.prune(t, "last=1", 0); len(done.GivenUp) > 0 {
		t.Errorf("given up too early: %+v", done)
	}
	res, err := w.b.Run(t.Context(), killed) // a day later
	if err != nil || !res.GoesOn || res.ID != id || res.Skipped == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	w.b.Store = dyingAfter(good, 2)
	killed = w.job("")
	_, err = w.b.Run(t.Context(), killed)
	if w.b.Store = good; !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	for _, name := range []string{"backups/" + id + "/notes.txt", "backups/mine", "archive/1", "backups/" + id + "/0/999999999.zst.age", "probe/1"} {
		_, err := good.Put(t.Context(), name, []byte("x"), store.Put{})
		must(t, err)
	}
	w.pass(80 * time.Hour)
	done := w.prune(t, "last=5", 0)
	if len(done.GivenUp) != 1 || done.Objects != 2+2 { // a chunk and a claim, a chunk too many and a probe
		t.Errorf("%+v", done)
	}
	for _, name := range []string{"backups/" + id + "/notes.txt", "backups/mine", "archive/1"} {
		if _, _, err := good.Get(t.Context(), name, make([]byte, 10)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	res, err = w.b.Run(t.Context(), killed) // too late: it begins anew
	if err != nil || res.GoesOn || res.Skipped > 0 || res.ID == done.GivenUp[0] {
		t.Errorf("%+v, %v", res, err)
	}
	if n := len(w.there(t)); n != 3 {
		t.Errorf("%d backups", n)
	}
}

func TestClocks(t *testing.T) {
	w := newWorld(t)
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		w.off = off
		w.backup(t, "")
	}
	for range 7 {
		w.backup(t, "")
	}
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		w.off = off
		if done := w.prune(t, "last=8", 0); len(done.Plan.Brakes) > 0 || len(done.Plan.Servers[0].Brakes) > 0 {
			t.Errorf("off by %s: %+v", off, done.Plan)
		}
	}
	w.off = 365 * 24 * time.Hour
	if done, err := w.try(t, "last=7", 0); err != nil || len(done.Plan.Brakes) == 0 || len(done.Marked) > 0 {
		t.Errorf("a clock a year ahead: %+v, %v", done.Plan, err)
	}
	w.off = 0
	w.pass(-80 * time.Hour) // the store's clock went back
	if done, err := w.try(t, "last=7", 0); err != nil || len(done.Plan.Brakes) == 0 || len(done.Marked) > 0 {
		t.Errorf("the clock of the store jumped: %+v, %v", done.Plan, err)
	}
}

// The last backup that is proven stays, and a proof that nobody signed whom we trust proves nothing.
func TestProven(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for range 9 {
		ids = append(ids, w.backup(t, ""))
	}
	must(t, w.Mark(t.Context(), manifest.Proof{ID: ids[0], OK: true, At: time.Now()}, w.Sign))
	stranger, _, err := backup.HostKey(t.Context(), w.b.Do, t.TempDir(), "other")
	must(t, err)
	must(t, w.Mark(t.Context(), manifest.Proof{ID: ids[5], OK: true, At: time.Now()}, stranger))
	if done := w.prune(t, "last=8", 0); len(done.Marked) > 0 || len(done.Plan.Servers[0].Brakes) == 0 {
		t.Errorf("%+v", done)
	}
	if done := w.prune(t, "last=7,verified=1", 0); len(done.Marked) != 1 || done.Marked[0] != ids[1] {
		t.Errorf("%+v", done)
	}
	must(t, w.Mark(t.Context(), manifest.Proof{ID: ids[6], OK: true, At: time.Now()}, w.Sign))
	if done := w.prune(t, "last=7", 0); len(done.Marked) != 1 || done.Marked[0] != ids[0] {
		t.Errorf("%+v", done)
	}
}

// What somebody holds stays, with what it needs, also when the hold comes while a prune marks it.
func TestHolds(t *testing.T) {
	w := newWorld(t)
	full := w.backup(t, "")
	child := w.backup(t, full)
	w.backup(t, "")
	must(t, w.Hold(t.Context(), child, "auditor"))
	if done := w.prune(t, "last=1", 0); len(done.Marked) > 0 {
		t.Errorf("%q is held and goes", done.Marked)
	}
	if err := w.Release(t.Context(), child, "somebody"); err == nil {
		t.Error("released by another")
	}
	must(t, w.Release(t.Context(), child, "auditor"))
	plain := w.Store
	w.Store = &hooked{Store: plain, before: func(name string) {
		if name == manifest.Name(full) { // the child has its stone
			must(t, backup.Vault{Store: plain, Trust: w.Trust}.Hold(t.Context(), child, "late"))
		}
	}}
	done := w.prune(t, "last=1", 0)
	w.Store = plain
	if len(done.Marked) != 2 || len(done.Back) != 1 || len(w.there(t)) != 3 {
		t.Errorf("%+v", done)
	}
	must(t, w.Release(t.Context(), child, "late"))
	w.prune(t, "last=1", 0)
	must(t, w.Hold(t.Context(), child, "late")) // taken back with what it needs
	w.prune(t, "last=1", 0)
	if n := len(w.there(t)); n != 3 {
		t.Errorf("%d backups", n)
	}
	for _, owner := range []string{"", "a/b", "../x", "a b", "\x1b"} {
		if err := w.Hold(t.Context(), child, owner); err == nil {
			t.Errorf("%q holds it", owner)
		}
	}
	if err := w.Hold(t.Context(), "20261125T122347Z-083cbfe6", "me"); err == nil {
		t.Error("what is not there is held")
	}
}

func TestNamed(t *testing.T) {
	w := newWorld(t)
	full := w.backup(t, "")
	child := w.backup(t, full)
	try := func(names ...string) ([]string, error) {
		o := Options{Names: names}
		plan, err := w.Plan(t.Context(), o)
		if err != nil {
			return nil, err
		}
		done, err := w.Carry(t.Context(), plan, o)
		return done.Marked, err
	}
	for _, names := range [][]string{{full}, {full, child}, {"2"}, {"nothing"}} {
		if marked, err := try(names...); err == nil {
			t.Errorf("%q: %q", names, marked)
		}
	}
	if marked, err := try(child); err != nil || len(marked) != 1 {
		t.Errorf("%q, %v", marked, err)
	}
}

func TestOnlyOne(t *testing.T) {
	w := newWorld(t)
	w.backup(t, "")
	l, err := w.take(t.Context(), time.Now(), Options{})
	must(t, err)
	if _, err := w.try(t, "last=1", 0); err == nil || !strings.Contains(err.Error(), "is pruning this store") {
		t.Errorf("%v", err)
	}
	w.pass(16 * time.Minute)
	w.prune(t, "last=1", 0) // it was killed, or suspended
	if err := l.renew(t.Context()); err == nil {
		t.Error("the lease is another's, and is renewed")
	}
	must(t, l.end(t.Context()))
}

func TestWithoutConditions(t *testing.T) {
	w := newWorld(t)
	w.backup(t, "")
	plain := w.Store
	for _, forget := range []func(*store.Put){func(o *store.Put) { o.New = false }, func(o *store.Put) { o.Was = "" }} {
		w.Store = ignoring{plain, forget}
		if _, err := w.try(t, "last=1", 0); err == nil || !strings.Contains(err.Error(), "asked not to") {
			t.Error(err)
		}
	}
}

// A plan writes nothing.
func TestPlanReads(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.backup(t, "")
	}
	w.Store = &hooked{Store: w.Store, before: func(name string) { t.Errorf("%s is written", name) }}
	w.Own, w.Sign = nil, nil
	if p, err := w.Plan(t.Context(), Options{Rules: keep.Rules{Last: 1}}); err != nil || len(p.Going()) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

// keeping is a store that keeps several objects locked.
type keeping struct {
	locking
	all map[string]time.Time
}

func (k keeping) Until(_ context.Context, name string) (time.Time, error) { return k.all[name], nil }

// TestLocksOfEachServer: what one server locks for too short a time is not hidden by a newer backup of another, that is locked for longer.
func TestLocksOfEachServer(t *testing.T) {
	w := newWorld(t)
	until := map[string]time.Time{}
	for server, days := range map[string]int{"mariadb:3306": 7, "postgres:5432": 400, "mariadb:3307": 0} {
		job := w.job("")
		job.Server = server
		res, err := w.b.Run(t.Context(), job)
		must(t, err)
		if days > 0 {
			until[manifest.Name(res.ID)] = res.Ended.AddDate(0, 0, days)
		}
		w.pass(time.Second)
	}
	w.Store = keeping{locking{Store: w.Store}, until}
	for rules, stopped := range map[keep.Rules]bool{{Months: 12}: true, {Days: 8}: true, {Days: 7}: false, {Last: 1}: false} {
		for _, short := range []bool{false, true} {
			p, err := w.Plan(t.Context(), Options{Rules: rules, ShortLock: short})
			if err != nil || p.Stopped() != (stopped && !short) || stopped && !short && !strings.Contains(p.Brakes[0].Why, "only for 7 days") {
				t.Errorf("%s, --short-lock %v: %+v, %v", rules, short, p.Brakes, err)
			}
		}
	}
}

// TestLeaseTellsTheRules: from it a backup knows that its lock is shorter.
func TestLeaseTellsTheRules(t *testing.T) {
	w := newWorld(t)
	w.backup(t, "")
	for rules, want := range map[string]int{"7d": 7, "2w,last=1": 14, "last=1": 0} {
		for _, short := range []bool{false, true} {
			r, err := keep.Parse(rules)
			must(t, err)
			o := Options{Rules: r, ShortLock: short}
			plan, err := w.Plan(t.Context(), o)
			must(t, err)
			_, err = w.Carry(t.Context(), plan, o)
			must(t, err)
			text, _, err := w.Store.Get(t.Context(), manifest.LeaseName, make([]byte, manifest.MaxLease))
			if l := manifest.OpenLease(text); err != nil || !l.Ended || l.By != "db1" || l.Keeps != time.Duration(want)*24*time.Hour && !short || l.Keeps != 0 && short {
				t.Errorf("%s, --short-lock %v: %+v, %v", rules, short, l, err)
			}
		}
	}
}

// TestAnotherKey prunes on with another key what the first one signed: manifests, stones and proofs.
func TestAnotherKey(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for range 3 {
		ids = append(ids, w.backup(t, ""))
	}
	must(t, w.Mark(t.Context(), manifest.Proof{ID: ids[1], At: w.Now().UTC().Truncate(time.Second), OK: true}, w.Sign))
	equal(t, "marked with the first key", w.prune(t, "last=2", 1).Marked, ids[:1])

	_, err := backup.Rotate(t.Context(), w.b.Do, w.b.Dir, "db1", w.Now)
	must(t, err)
	w.pass(2 * time.Second)
	w.Sign, w.b.Public, err = backup.HostKey(t.Context(), w.b.Do, w.b.Dir, "db1")
	must(t, err)
	w.b.Sign = w.Sign
	w.Own, err = backup.OwnKeys(t.Context(), w.b.Do, w.b.Dir)
	must(t, err)
	w.Vault, err = backup.Vault{Store: w.cal}.Own(t.Context(), w.b.Do, w.b.Dir)
	must(t, err)
	if p, _, err := w.Proof(t.Context(), ids[1]); err != nil || !p.OK {
		t.Errorf("the proof of the first key: %v", err)
	}
	w.backup(t, ids[2]) // builds on one that the first key signed
	w.pass(w.Grace + time.Hour)
	equal(t, "removed with the second key", w.prune(t, "last=9", 0).Removed, ids[:1])
	if got := w.there(t); len(got) != 3 {
		t.Errorf("there are %v", got)
	}
}

// full is a store in which there is no room for anything.
type full struct{ store.Store }

func (full) Put(context.Context, string, []byte, store.Put) (string, error) {
	return "", store.ErrFull
}

// A store that is full says what a prune needs, and loses nothing.
func TestFull(t *testing.T) {
	w := newWorld(t)
	all := []string{w.backup(t, ""), w.backup(t, "")}
	good := w.Store
	w.Store = full{good}
	if _, err := w.try(t, "last=1", 1); !errors.Is(err, store.ErrFull) || !strings.Contains(hint.Of(err), "make some room first") {
		t.Errorf("%v, hint: %s", err, hint.Of(err))
	}
	w.Store = good
	equal(t, "there", w.there(t), all)
}
