package backup

import (
	"errors"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
)

// A key that opens only a part of a chain is found out before anything is restored.
func TestKeyOfAPart(t *testing.T) {
	w, later := newWorld(t), newWorld(t).key
	run := func(guid string, base *manifest.Base) manifest.Manifest {
		t.Helper()
		j := command("seq 60000")
		j.Sources[0].Stream = manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: guid, Base: base}
		j.Sources = append(j.Sources, Source{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: []byte("told")})
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return res.Manifest
	}
	full := run("10", nil)
	w.To = []age.Recipient{later.Recipient()}
	next := run("20", &manifest.Base{Backup: full.ID, GUID: "10"})
	r := Restore{Vault: w.vault(t), Do: w.Do, Keys: []age.Identity{w.key}}
	if err := r.opens(t.Context(), []manifest.Manifest{full, next}); !errors.Is(err, chunk.ErrKey) || !strings.Contains(err.Error(), next.ID) {
		t.Errorf("with one of two keys: %v", err)
	}
	r.Keys = append(r.Keys, later)
	if err := r.opens(t.Context(), []manifest.Manifest{full, next}); err != nil {
		t.Error(err)
	}
}

// one is a snapshot that every backup can be built on.
type one struct{ snapshot }

func (one) begins(manifest.Manifest) bool { return true }

// TestBeginsForTheSame begins at a backup only if all who are to open the new one can open that: else the key of one alone would not
// restore it.
func TestBeginsForTheSame(t *testing.T) {
	w := newWorld(t)
	j := command("seq 100")
	j.Server, j.Facts = "mysql:3306", map[string]string{recipients: strings.Join(marks([]string{"age1a", "age1b"}), " ")}
	res, err := w.Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    []string
		fresh bool
	}{{[]string{"age1b", "age1a"}, false}, {[]string{" age1a "}, false}, {nil, false}, {[]string{"age1c"}, true}, {[]string{"age1a", "age1c"}, true}} {
		base, whole, err := newest(t.Context(), w.vault(t), "mysql:3306", []snapshot{one{}}, Full{For: c.of})
		if err != nil || (base == nil) != c.fresh || c.fresh != strings.Contains(whole, res.ID+" cannot be built on: not all who are to open") {
			t.Errorf("%q: %+v, %q, %v", c.of, base, whole, err)
		}
	}
}

// TestBeginsAtWhatIsWhole begins at no backup of which an object is gone, or at one that needs such a backup: what is built on it would be
// called a backup, and not be restored.
func TestBeginsAtWhatIsWhole(t *testing.T) {
	w := newWorld(t)
	run := func(guid string, base *manifest.Base) manifest.Manifest {
		t.Helper()
		j := command("seq 60000")
		j.Server, j.Sources[0].Stream = "mysql:3306", manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: guid, Base: base}
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return res.Manifest
	}
	full := run("10", nil)
	next := run("20", &manifest.Base{Backup: full.ID, GUID: "10"})
	begins := func() (*manifest.Manifest, string) {
		t.Helper()
		base, whole, err := newest(t.Context(), w.vault(t), "mysql:3306", []snapshot{one{}}, Full{Also: []Vault{w.vault(t)}})
		if err != nil {
			t.Fatal(err)
		}
		return base, whole
	}
	if base, whole := begins(); base == nil || base.ID != next.ID {
		t.Errorf("%+v, %q", base, whole)
	}
	if err := w.Store.Delete(t.Context(), manifest.ChunkName(full.ID, 0, 3)); err != nil {
		t.Fatal(err)
	}
	if base, whole := begins(); base != nil || !strings.Contains(whole, next.ID+" cannot be built on: ") || !strings.Contains(whole, manifest.ChunkName(full.ID, 0, 3)) {
		t.Errorf("%+v, %q", base, whole)
	}
}
