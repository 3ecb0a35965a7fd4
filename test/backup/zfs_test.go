// Package backup takes real streams to real stores, and brings them back.
package backup

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/storage/point"
	"plumb/internal/store/dir"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

// keep is a store in a directory, and a host that backs up to it.
type keep struct {
	b     backup.Backup
	vault backup.Vault
	key   *age.X25519Identity
	at    string // of the store
	books string // of the inventory
}

func newKeep(t *testing.T) keep {
	t.Helper()
	k := keep{at: t.TempDir(), books: filepath.Join(t.TempDir(), "books")}
	var err error
	k.key, err = age.GenerateX25519Identity()
	must(t, err)
	place, err := dir.Open(k.at)
	must(t, err)
	t.Cleanup(func() { _ = place.Close() })
	d := hosttest.LiveDoer(t)
	state := t.TempDir()
	sign, public, err := backup.HostKey(t.Context(), d, state, "db1")
	must(t, err)
	own, err := note.NewVerifier(public)
	must(t, err)
	k.b = backup.Backup{Do: d, Store: place, Dir: state, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: []age.Recipient{k.key.Recipient()}, Words: []string{k.key.Recipient().String()},
		Chunk: 256 << 10, Workers: 2, Now: time.Now}
	k.vault = backup.Vault{Store: place, Trust: []note.Verifier{own}}
	return k
}

func (k keep) job(ctx context.Context, p protect.Point, full bool) (backup.Job, error) {
	return backup.Point(ctx, k.b.Do, point.Btrfs{}, p, []byte("told"), backup.Full{Asked: full, In: []backup.Vault{k.vault}})
}

func (k keep) up(t *testing.T, p protect.Point, full bool) backup.Result {
	t.Helper()
	job, err := k.job(t.Context(), p, full)
	must(t, err)
	res, err := k.b.Run(t.Context(), job)
	must(t, err)
	return res
}

func (k keep) restore() backup.Restore {
	return backup.Restore{Vault: k.vault, Do: k.b.Do, Keys: []age.Identity{k.key}, Books: k.books}
}

// ground is a pool with the datasets of a server, and a store.
type ground struct {
	keep
	pool *sandbox.Pool
	make func(megabytes int, vdevs ...string) (*sandbox.Pool, error) // others beside it
	fuse bool                                                        // it is one of zfs-fuse
}

func newGround(t *testing.T) *ground {
	t.Helper()
	box := sandbox.ForTest(t, "")
	make, fuse := box.AnyZFS()
	pool, err := make(256)
	sandbox.Need(t, err)
	for _, name := range []string{"db", "db/data", "db/log"} {
		_, err := pool.Dataset(name)
		must(t, err)
	}
	return &ground{newKeep(t), pool, make, fuse}
}

// write puts files into the datasets.
func (g *ground) write(t *testing.T, round int) {
	t.Helper()
	for _, name := range []string{"data", "log"} {
		text := strings.Repeat(fmt.Sprintf("%s of round %d, ", name, round), 60_000)
		must(t, os.WriteFile(filepath.Join(g.pool.Dir, "db", name, fmt.Sprintf("file%d", round)), []byte(text), 0o600))
	}
}

// point takes a point of the two, as plumb snapshot does: it is tried with real servers in test/points.
func (g *ground) point(t *testing.T, id string) protect.Point {
	t.Helper()
	p := protect.Point{Form: protect.Form, ID: id, State: protect.Taken, Label: protect.Crash, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}, Product: "MariaDB 10.11.19"}}
	sh(t, "zfs", "snapshot", "-r", g.pool.Name+"/db@plumb-"+id)
	for _, name := range []string{"data", "log"} {
		of := g.pool.Name + "/db/" + name
		guid := strings.TrimSpace(sh(t, zfs.Value("guid", of+"@plumb-"+id)...))
		p.Members = append(p.Members, protect.Member{Volume: protect.Volume{Name: of, Pool: g.pool.Name, Storage: "zfs"}, Snapshot: of + "@plumb-" + id, GUID: guid})
	}
	return p
}

// sums gives what is in a directory.
func sums(t *testing.T, root string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n", strings.TrimPrefix(name, root), len(text))
		_, _ = h.Write(text)
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// content is what a dataset that was restored holds.
func (g *ground) content(t *testing.T, dataset string) string {
	t.Helper()
	at := strings.TrimSpace(sh(t, zfs.Value("mountpoint", dataset)...))
	if at == "none" || !filepath.IsAbs(at) {
		t.Fatalf("%s is mounted at %q", dataset, at)
	}
	if out, err := exec.Command("zfs", "mount", dataset).CombinedOutput(); err != nil && !strings.Contains(string(out), "already mounted") {
		t.Fatalf("%s", out)
	}
	return sums(t, at)
}

func TestChainOfAPoint(t *testing.T) {
	g := newGround(t)
	sh(t, "zfs", "set", "recordsize=16384", g.pool.Name+"/db/data")
	g.write(t, 1)
	first := g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	g.write(t, 2)
	second := g.point(t, "20261125T130000Z-0002")
	next := g.up(t, second, false)
	if next.Streams[0].Base == nil || next.Streams[0].Base.Backup != first.ID || next.Sent >= first.Sent+first.Sent/2 {
		t.Fatalf("it does not begin at the one before: %+v", next)
	}
	want := []string{sums(t, g.pool.Dir+"/db/data"), sums(t, g.pool.Dir+"/db/log")}
	m, err := g.vault.Find(t.Context(), "latest", "mysql:3306")
	must(t, err)
	if set := m.Facts[backup.Unsent+g.pool.Name+"/db/data"]; !strings.Contains(set, "recordsize=16384") {
		t.Errorf("what no stream has: %q", set)
	}
	target := g.pool.Name + "/restored"
	all, err := g.restore().Datasets(t.Context(), m, target)
	if err != nil || len(all) != 2 || all[0].Dataset != target+"/data" || all[0].GUID != second.Members[0].GUID {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, r := range all {
		if g.content(t, r.Dataset) != want[i] {
			t.Errorf("%s holds something else", r.Dataset)
		}
	}
	again, err := g.restore().Datasets(t.Context(), m, target)
	if err != nil || again[0].Bytes != 0 {
		t.Errorf("what is there is restored again: %+v, %v", again, err)
	}
	if full := g.up(t, g.point(t, "20261125T140000Z-0003"), true); full.Streams[0].Base != nil {
		t.Error("a full one was asked for")
	}
	sh(t, "zfs", "destroy", second.Members[0].Snapshot) // now only the other dataset could go on from there
	if res := g.up(t, g.point(t, "20261125T150000Z-0004"), false); res.Streams[0].Base != nil && res.Streams[0].Base.Backup == next.ID {
		t.Error("it begins at a snapshot that is gone")
	}
}

// Nothing that somebody put into the store reaches zfs receive: no dataset is made of it.
func TestForgedStream(t *testing.T) {
	g := newGround(t)
	g.write(t, 1)
	res := g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	m, err := g.vault.Get(t.Context(), res.ID)
	must(t, err)
	target := g.pool.Name + "/restored"
	for _, forge := range []func(file string){
		func(file string) { // encrypted for the same key, by another
			w, err := os.Create(file)
			must(t, err)
			e, err := age.Encrypt(w, g.key.Recipient())
			must(t, err)
			_, err = io.WriteString(e, "anything")
			must(t, err)
			must(t, e.Close())
			must(t, w.Close())
		},
		func(file string) { must(t, os.Remove(file)) },
		func(file string) { must(t, os.Truncate(file, 100)) },
	} {
		file := filepath.Join(g.at, manifest.ChunkName(res.ID, 0, 0))
		good, err := os.ReadFile(file)
		must(t, err)
		forge(file)
		if _, err := g.restore().Datasets(t.Context(), m, target); err == nil {
			t.Error("it is restored")
		}
		if out, err := exec.Command("zfs", "list", "-H", "-o", "name", target+"/data").Output(); err == nil {
			t.Errorf("there is %s", out)
		}
		must(t, os.WriteFile(file, good, 0o600))
	}
	g.vault.Trust = nil
	if _, err := g.vault.Find(t.Context(), "", ""); err == nil {
		t.Error("a backup of somebody whom nobody trusts is taken")
	}
}
