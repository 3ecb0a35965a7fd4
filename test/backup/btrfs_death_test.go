package backup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/store/dir"
	"plumb/test/mortal"
	"plumb/test/sandbox"
)

const envLife = "PLUMB_LIFE" // of a process that restores: store, key, who signs, books, target

// mortalLife restores the newest backup, on a machine that may die at any operation.
func mortalLife(told []string) error {
	m, err := mortal.Born()
	if err != nil {
		return err
	}
	ctx := context.Background()
	place, err := dir.Open(told[0])
	if err != nil {
		return err
	}
	key, err := age.ParseX25519Identity(told[1])
	if err != nil {
		return err
	}
	own, err := note.NewVerifier(told[2])
	if err != nil {
		return err
	}
	r := backup.Restore{Vault: backup.Vault{Store: place, Trust: []note.Verifier{own}}, Do: m, Keys: []age.Identity{key}, Books: told[3]}
	newest, err := r.Find(ctx, "", "")
	if err != nil {
		return err
	}
	if filepath.IsAbs(told[4]) {
		_, err = r.Subvolumes(ctx, newest, told[4])
	} else {
		err = mountedLife(ctx, r, m, newest, told[4])
	}
	if err == nil {
		m.Tell()
	}
	return err
}

// TestRestoreToBtrfsDies has the machine die before, amid and after operations of a restore: some of them, and all when all tests are asked for. What has the name of the target then is
// whole, and the next restore takes away all else.
func TestRestoreToBtrfsDies(t *testing.T) {
	f := newField(t, 512)
	f.up(t, f.point(t), false)
	p := f.point(t)
	f.up(t, p, false)
	target := filepath.Join(f.to, "restored")
	life := func(at int, how string) int {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), envLife+"="+strings.Join([]string{f.at, f.key.String(), f.b.Public, f.books, target}, ","))
		return mortal.Live(t, c, at, how)
	}
	gone := func() {
		t.Helper()
		f.same(t, p, target)
		sh(t, "btrfs", "subvolume", "delete", target+"/data", target+"/log")
		must(t, os.Remove(target))
	}
	n := life(0, "never")
	f.clean(t, "restored")
	gone()
	every := 17 // which are enough to see that the way is there
	switch {
	case sandbox.Full():
		every = 1
	case os.Getenv("PLUMB_REAL") != "":
		every = 5
	}
	t.Logf("%d operations", n)
	mortal.Ways(t, n, every, func(at int, how string) {
		life(at, how)
		if _, err := os.Stat(target); err == nil {
			gone()
		}
		life(0, "never")
		f.clean(t, "restored")
		gone()
		if t.Failed() {
			t.Logf("it died %s operation %d", how, at)
		}
	})
}
