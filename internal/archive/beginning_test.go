package archive

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

func at(key string) Place { return Place{Key: key, Text: "place " + key} }

// A beginning is believed of whom one trusts, and only for the server that it names.
func TestBeginning(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if b, err := w.Beginning(ctx, "s-1"); err != nil || b.Gone.Key != "" {
		t.Fatalf("%+v, %v", b, err)
	}
	want := Beginning{Server: "s-1", By: "db1", Gone: at("3"), Since: time.Unix(1_800_000_000, 0).UTC(), Next: []Step{{at("5"), time.Unix(1_800_000_100, 0).UTC()}}}
	text, err := SignBeginning(want, w.Sign)
	if err != nil {
		t.Fatal(err)
	}
	put := func(server string, text []byte) {
		t.Helper()
		if _, err := w.Keeper.Store.Put(ctx, BeginningName(server), text, store.Put{}); err != nil {
			t.Fatal(err)
		}
	}
	put("s-1", text)
	got, err := w.Beginning(ctx, "s-1")
	if want.Form = Form; err != nil || got.Gone != want.Gone || !slices.Equal(got.Next, want.Next) || !got.Since.Equal(want.Since) {
		t.Errorf("%+v, %v", got, err)
	}
	if all, err := w.List(ctx, ""); err != nil || len(all) > 0 {
		t.Errorf("it is taken for a piece: %+v, %v", all, err)
	}
	put("s-2", text)
	if _, err := w.Beginning(ctx, "s-2"); err == nil || !strings.Contains(err.Error(), `it is that of "s-1"`) {
		t.Errorf("that of another server: %v", err)
	}
	if b, err := OpenBeginning(text, "s-1"); !errors.Is(err, manifest.ErrStranger) || b.By != "db1" {
		t.Errorf("nobody's: %+v, %v", b, err)
	}
	for what, text := range map[string]string{"an entry": `{"form":1}`, "newer": beginningHead + `{"form":9}`, "more": beginningHead + `{"form":1,"begins":"s-1","what":1}`,
		"disorder": beginningHead + `{"form":1,"begins":"s-1","next":[{"key":"5","text":"","at":"2026-11-26T00:00:00Z"},{"key":"4","text":"","at":"2026-11-26T00:00:00Z"}]}`} {
		signed, err := note.Sign(&note.Note{Text: text + "\n"}, w.Sign)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := OpenBeginning(signed, "s-1", w.Trust...); err == nil {
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// What was decided waits for the grace, also when it is decided on more every hour; and a clock that was ahead delays
// nothing for longer than that.
func TestSteps(t *testing.T) {
	var b Beginning
	now, grace := time.Unix(1_800_000_000, 0), 72*time.Hour
	keys := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	for i, key := range keys {
		b = b.Then(b.Ripe(now, grace), at(key), now, time.Minute)
		if n := len(b.Next); n > 4 {
			t.Fatalf("%d steps wait", n)
		}
		if want := i - 4; want >= 0 && b.Gone.Key != keys[want] || want < 0 && b.Gone.Key != "" {
			t.Errorf("after %d days %q is gone", i, b.Gone.Key)
		}
		now = now.Add(24 * time.Hour)
	}
	same := b.Then(b.Gone, at("9"), now, time.Minute)
	if len(same.Next) != len(b.Next) {
		t.Error("one that was decided is decided again")
	}
	b.Next = []Step{{at("a"), now.Add(365 * 24 * time.Hour)}}
	b = b.Then(b.Gone, at("a"), now, time.Minute)
	if b.Ripe(now.Add(grace+time.Second), grace).Key != "a" {
		t.Errorf("it waits for a year: %+v", b.Next)
	}
	for n := range 10 * mostSteps {
		b = b.Then(b.Gone, at("b"+strings.Repeat("x", n)), now, time.Minute)
	}
	if len(b.Next) > mostSteps {
		t.Errorf("%d steps", len(b.Next))
	}
}

func TestObject(t *testing.T) {
	p := Piece{Server: "s-1", Series: "wal", File: "0001", To: 7}
	hash := strings.Repeat("0123456789abcdef", 4)
	for name, want := range map[string][2]bool{p.Name(): {true, true}, p.chunk(3, hash): {false, true}, p.stem() + "/000003-xyz.zst.age": {}, p.stem() + "/000003": {}, p.stem() + "/notes.txt": {},
		BeginningName("s-1"): {}, "archive/s-1/wal/0001/0-7/entry": {}, "archive/1": {}, "backups/x/y/z/0000000000000000-0000000000000007/entry": {}} {
		got, entry, is := Object(name)
		if entry != want[0] || is != want[1] || is && got != p {
			t.Errorf("%s: %+v, %t, %t", name, got, entry, is)
		}
	}
}

func FuzzBeginning(f *testing.F) {
	f.Add(`{"form":1,"begins":"s","by":"h","gone":{"key":"1","text":"1"},"next":[{"key":"2","text":"2","at":"2026-11-26T00:00:00Z"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := parseBeginning(beginningHead+text+"\n", "s")
		if err == nil {
			now := time.Unix(1_800_000_000, 0)
			next := b.Then(b.Ripe(now, time.Hour), at("x"), now, time.Minute)
			if len(next.Next) > mostSteps || next.Gone.Key < b.Gone.Key {
				t.Errorf("%+v", next)
			}
		}
		_, _ = parseBeginning(text, "s")
		_, _ = OpenBeginning([]byte(text), "s")
		Object(text)
	})
}
