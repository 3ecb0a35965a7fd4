package backup

import (
	"errors"
	"fmt"
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
		base, whole, err := newest(t.Context(), "mysql:3306", []snapshot{one{}}, Full{In: []Vault{w.vault(t)}, For: c.of})
		if err != nil || (base == nil) != c.fresh || c.fresh != strings.Contains(whole, res.ID+" can be sent: not all recipients") {
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
		base, whole, err := newest(t.Context(), "mysql:3306", []snapshot{one{}}, Full{In: []Vault{w.vault(t), w.vault(t)}})
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
	if base, whole := begins(); base != nil || !strings.Contains(whole, next.ID+" can be sent: ") || !strings.Contains(whole, manifest.ChunkName(full.ID, 0, 3)) {
		t.Errorf("%+v, %q", base, whole)
	}
}

// TestChainIsSpent begins anew once a chain has as many backups as it may, or once what changed is more than the full backup: also where
// the snapshots are still here of backups before the last, on which the same chain could be built for ever.
func TestChainIsSpent(t *testing.T) {
	w := newWorld(t)
	run := func(line, guid string, on *manifest.Manifest) *manifest.Manifest {
		t.Helper()
		j := command(line)
		j.Server, j.Sources[0].Stream = "mysql:3306", manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: guid}
		if on != nil {
			j.Sources[0].Base = &manifest.Base{Backup: on.ID, GUID: on.Streams[0].GUID}
		}
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return &res.Manifest
	}
	begins := func(after int, on *manifest.Manifest, why string) {
		t.Helper()
		base, whole, err := newest(t.Context(), "mysql:3306", []snapshot{one{}}, Full{In: []Vault{w.vault(t)}, After: after})
		if err != nil || (base == nil) != (on == nil) || on != nil && base.ID != on.ID || why == "" && whole != "" || !strings.Contains(whole, why) {
			t.Errorf("of at most %d it begins at %+v, %q, %v", after, base, whole, err)
		}
	}
	full := run("seq 60000", "10", nil)
	begins(1, nil, "the chain that begins with backup "+full.ID+" has 1 backups,")
	begins(2, full, "")
	last := full
	for i := range 2 { // each is two fifths of the full one
		last = run("seq 25000", fmt.Sprint(20+i), last)
		begins(0, last, "")
	}
	begins(3, nil, "the chain that begins with backup "+full.ID+" has 3 backups,")
	begins(4, last, "")
	run("seq 25000", "30", last)
	begins(0, nil, "since the full backup "+full.ID+" are larger than the full backup")
	again := run("seq 60000", "40", nil)
	begins(0, again, "")
}
