package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
)

// verifier reads a public key.
func verifier(t *testing.T, public string) note.Verifier {
	t.Helper()
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// believed tells which backups one believes who has only some keys, and reads the store.
func (w *world) believed(t *testing.T, public ...string) (ids []string) {
	t.Helper()
	v := Vault{Store: w.Store}
	for _, p := range public {
		v.Trust = append(v.Trust, verifier(t, p))
	}
	v, err := v.Through(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Err == nil {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func (w *world) rotate(t *testing.T) (public string) {
	t.Helper()
	public, err := Rotate(t.Context(), w.Do, w.Dir, "db1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if w.Sign, w.Public, err = HostKey(t.Context(), w.Do, w.Dir, "db1"); err != nil || w.Public != public {
		t.Fatalf("%s, %v", w.Public, err)
	}
	return public
}

// Who has the first key, or the last, believes what any key of the host signed in its time, and nothing else.
func TestRotate(t *testing.T) {
	w := newWorld(t)
	first, thief := w.Public, w.Sign
	run := func() string {
		res, err := w.Run(t.Context(), command("seq 10"))
		if err != nil {
			t.Fatal(err)
		}
		return res.ID
	}
	ids := []string{run()}
	second := w.rotate(t)
	ids = append(ids, run()) // on a prefix that the first key claimed
	third := w.rotate(t)
	ids = append(ids, run())
	for _, public := range []string{first, second, third} {
		if got := w.believed(t, public); len(got) != len(ids) {
			t.Errorf("with %s: %v of %v", public, got, ids)
		}
	}
	kept, err := os.ReadFile(keyFile(w.Dir))
	if err != nil || strings.Contains(string(kept), "PRIVATE") && strings.Count(string(kept), "PRIVATE") != 1 {
		t.Errorf("an old private key is kept: %v", err)
	}

	// The thief of the first key signs a backup afterwards, and names a key of his own as the next.
	m := manifest.Manifest{ID: manifest.NewID(time.Now(), "abcdef01"), Host: "db1", Ended: time.Now().Add(time.Minute), Streams: []manifest.Stream{{Name: "x", Kind: manifest.Command, Chunk: 1}}}
	forge := func(sign note.Signer, word string) {
		m.ID = manifest.NewID(time.Now(), word)
		text, err := manifest.Sign(m, sign)
		if err != nil {
			t.Fatal(err)
		}
		w.lay(t, manifest.Name(m.ID), text)
	}
	forge(thief, "abcdef01")
	evil, err := newKey("db1")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: strings.Join([]string{successionHead, first, evil.public, "2020-01-01T00:00:00Z"}, "\n") + "\n"}, thief, evil.sign)
	if err != nil {
		t.Fatal(err)
	}
	w.lay(t, successions+"evil", signed)
	w.lay(t, successions+"noise", []byte("noise"))
	forge(evil.sign, "abcdef02")
	for _, public := range []string{second, third} {
		if got := w.believed(t, public); len(got) != len(ids) {
			t.Errorf("with %s the thief is believed, or others are not: %v of %v", public, got, ids)
		}
	}
	w.twoNamed(t, first, evil.public, second, third)
	// This host itself knows when it gave the key up, whatever the store says.
	v, err := Vault{Store: w.Store}.Own(t.Context(), w.Do, w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.List(t.Context())
	if err != nil || len(all) != 5 {
		t.Fatalf("%d backups, %v", len(all), err)
	}
	for _, f := range all {
		if ours := slices.Contains(ids, f.ID); ours != (f.Err == nil) {
			t.Errorf("%s: ours: %t, %v", f.ID, ours, f.Err)
		}
	}
}

// twoNamed sees that a key which names two others makes none believed but those that a person names, and those that follow on them.
func (w *world) twoNamed(t *testing.T, first, evil, second, third string) {
	t.Helper()
	for what, keys := range map[string][]string{"the first alone": {first}, "the first, and the second": {first, second}, "the first, and the last": {first, third}} {
		v := Vault{Store: w.Store}
		for _, k := range keys {
			v.Trust = append(v.Trust, verifier(t, k))
		}
		v, err := v.Through(t.Context())
		switch {
		case len(keys) == 1 && (err == nil || !strings.Contains(err.Error(), second) || !strings.Contains(err.Error(), evil) || !strings.Contains(hint.Of(err), "--trust")):
			t.Errorf("%s: %v, hint: %s", what, err, hint.Of(err))
		case len(keys) > 1 && (err != nil || has(v.Trust, verifier(t, evil)) || !has(v.Trust, verifier(t, third))):
			t.Errorf("%s: %v, %v", what, v.Trust, err)
		}
	}
}

// lay puts an object into the store's directory, as who may write there can.
func (w *world) lay(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join(w.at, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A key is given up while a backup runs: the backup is signed with the new one, and believed.
func TestRotateWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.Doing = func(Progress) {
		w.Doing = nil
		if _, err := Rotate(t.Context(), w.Do, w.Dir, "db1", time.Now); err != nil {
			t.Error(err)
		}
	}
	w.Workers = 1
	old := w.Public
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil || w.Public == old {
		t.Fatalf("%v", err)
	}
	if got := w.believed(t, w.Public); len(got) != 1 || got[0] != res.ID {
		t.Errorf("%v", got)
	}
}

func FuzzSuccession(f *testing.F) {
	old, err := newKey("a")
	if err != nil {
		f.Fatal(err)
	}
	next, err := newKey("b")
	if err != nil {
		f.Fatal(err)
	}
	text, err := note.Sign(&note.Note{Text: strings.Join([]string{successionHead, old.public, next.public, "2026-11-26T12:00:00Z"}, "\n") + "\n"}, old.sign, next.sign)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	half, err := note.Sign(&note.Note{Text: strings.Join([]string{successionHead, old.public, next.public, "2026-11-26T12:00:00Z"}, "\n") + "\n"}, old.sign)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(half)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := openSuccession(bytes.Clone(text))
		if err != nil {
			return
		}
		if s.old.Name() != "plumb-a" || s.new.Name() != "plumb-b" {
			t.Fatalf("%q is believed", text)
		}
		if again, err := parseSuccession([]byte(s.line())); err != nil || !again.at.Equal(s.at) {
			t.Fatal(err)
		}
	})
}

// A key is given up when it is replaced, and not when that was asked for: another may have the lock, and sign until then.
func TestGivenUpOnceItIsItsTurn(t *testing.T) {
	w := newWorld(t)
	unlock, err := lockKey(t.Context(), w.Do, w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var free atomic.Bool
	time.AfterFunc(50*time.Millisecond, func() { free.Store(true); unlock() })
	_, err = Rotate(t.Context(), w.Do, w.Dir, "db1", func() time.Time {
		if !free.Load() {
			t.Error("the time is taken before it can be replaced")
		}
		return time.Now()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The thief of a key that was given up writes into what he signs that it was before that. By the name of what it is about it was not: his
// backup is not the newest, and his proof is none.
func TestThiefWritesAnEarlierTime(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	given := now.Add(-7 * 24 * time.Hour)
	w.Now = func() time.Time { return given.Add(-time.Hour) }
	first, err := w.Run(t.Context(), command("seq 10"))
	if err != nil {
		t.Fatal(err)
	}
	thief := w.Sign
	if _, err := Rotate(t.Context(), w.Do, w.Dir, "db1", func() time.Time { return given }); err != nil {
		t.Fatal(err)
	}
	w.Now = func() time.Time { return now.Add(-time.Minute) }
	second, err := w.Run(t.Context(), command("seq 10"))
	if err != nil {
		t.Fatal(err)
	}
	early := given.Add(-time.Minute)
	m := manifest.Manifest{ID: manifest.NewID(now, "abcdef01"), Host: "db1", Began: early, Ended: early, Streams: []manifest.Stream{{Name: "x", Kind: manifest.Command, Chunk: 1}}}
	text, err := manifest.Sign(m, thief)
	if err != nil {
		t.Fatal(err)
	}
	w.lay(t, manifest.Name(m.ID), text)
	if got := w.believed(t, w.Public); !slices.Equal(got, []string{first.ID, second.ID}) {
		t.Errorf("%v are believed, and %s and %s are ours", got, first.ID, second.ID)
	}
	v, err := Vault{Store: w.Store}.Own(t.Context(), w.Do, w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(t.Context(), m.ID); err == nil || !strings.Contains(err.Error(), "was retired at") || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
	for _, of := range []manifest.Manifest{first.Manifest, second.Manifest} {
		if err := v.Mark(t.Context(), manifest.Proof{ID: of.ID, At: early, OK: true}, thief); err != nil {
			t.Fatal(err)
		}
		if _, _, err := v.Proof(t.Context(), of.ID); (err == nil) != (of.ID == first.ID) {
			t.Errorf("a proof of the old key for %s: %v", of.ID, err)
		}
	}
}
