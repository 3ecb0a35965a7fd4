package archive

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
)

// What a host archived before it was given another key is read on, and so is where its log begins. What its old key signs
// afterwards is of a thief.
func TestFormerKey(t *testing.T) {
	w, ctx, do, state := newWorld(t), t.Context(), hosttest.LiveDoer(t), t.TempDir()
	now := time.Now()
	keep := func(server string) Piece {
		t.Helper()
		p := piece(7)
		p.Server = server
		w.Now = func() time.Time { return now }
		if _, err := w.Keep(ctx, Entry{Piece: p}, bytes.NewReader(noise(t, 7))); err != nil {
			t.Fatal(err)
		}
		text, err := SignBeginning(Beginning{Server: server, Gone: at("3"), Since: now}, w.Sign)
		if err == nil {
			_, err = w.Keeper.Store.Put(ctx, BeginningName(server), text, store.Put{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var err error
	if w.Sign, w.Public, err = backup.HostKey(ctx, do, state, "db1"); err != nil {
		t.Fatal(err)
	}
	before := keep("s-1")
	if _, err := backup.Rotate(ctx, do, state, "db1", w.Now); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	stolen := keep("s-2")
	if w.Sign, w.Public, err = backup.HostKey(ctx, do, state, "db1"); err != nil {
		t.Fatal(err)
	}
	after := keep("s-3")
	if _, err := w.Keep(ctx, Entry{Piece: before}, bytes.NewReader(noise(t, 7))); !errors.Is(err, manifest.ErrStranger) || !strings.Contains(hint.Of(err), "remove "+before.Name()) {
		t.Errorf("the same piece again, by another key: %v, hint: %s", err, hint.Of(err))
	}
	v, err := backup.Vault{Store: w.Keeper.Store}.Own(ctx, do, state)
	if err != nil {
		t.Fatal(err)
	}
	w.Trust, w.Retired = v.Trust, v.Retired
	for _, p := range []Piece{before, after} {
		if _, err := w.read(t, p); err != nil {
			t.Errorf("%s: %v", p.Server, err)
		}
		if b, err := w.Beginning(ctx, p.Server); err != nil || b.Gone.Key != "3" {
			t.Errorf("%s: %+v, %v", p.Server, b, err)
		}
	}
	if _, err := w.read(t, stolen); !errors.Is(err, manifest.ErrStranger) {
		t.Errorf("a thief's is believed: %v", err)
	}
	if _, err := w.Beginning(ctx, stolen.Server); !errors.Is(err, manifest.ErrStranger) {
		t.Errorf("a thief's is believed: %v", err)
	}
}

// A service that began before its host was given another key archives nothing with the old one: the server keeps what nobody would
// believe later.
func TestKeyIsReplacedMeanwhile(t *testing.T) {
	w, ctx, do, state := newWorld(t), t.Context(), hosttest.LiveDoer(t), t.TempDir()
	var err error
	if w.Sign, w.Public, err = backup.HostKey(ctx, do, state, "db1"); err != nil {
		t.Fatal(err)
	}
	sign := w.Sign
	w.Still = func(ctx context.Context) error { return backup.Signs(ctx, do, state, sign) }
	if _, err := w.Keep(ctx, Entry{Piece: piece(7)}, bytes.NewReader(noise(t, 7))); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Rotate(ctx, do, state, "db1", time.Now); err != nil {
		t.Fatal(err)
	}
	next := piece(9)
	next.File = "0002"
	if _, err := w.Keep(ctx, Entry{Piece: next}, bytes.NewReader(noise(t, 9))); err == nil || !strings.Contains(hint.Of(err), "restart") {
		t.Errorf("%v, hint: %s", err, hint.Of(err))
	}
	if _, err := w.Entry(ctx, next); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it was archived: %v", err)
	}
}

// What the thief of a key says of the time at which he signed is compared with what is known of it: what lies behind a base was kept later
// than that was named.
func TestThiefSaysItWasEarlier(t *testing.T) {
	w := newWorld(t)
	given := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w.Now = func() time.Time { return given.Add(-time.Hour) }
	p := piece(7)
	if _, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(noise(t, 7))); err != nil {
		t.Fatal(err)
	}
	w.Retired, w.Trust = []manifest.Retired{{Verifier: w.Trust[0], Until: given}}, nil
	for _, c := range []struct {
		name     string
		base     string
		believed bool
	}{
		{"nothing is known", "", true},
		{"behind a base of before", "20261119T000000Z-abcdef02", true},
		{"behind a base of a day later", "20261121T000000Z-abcdef02", true},
		{"behind a base of three days later", "20261123T130000Z-abcdef02", false},
	} {
		if _, err := w.After(c.base).Entry(t.Context(), p); (err == nil) != c.believed || err != nil && !errors.Is(err, ErrUnbelieved) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
