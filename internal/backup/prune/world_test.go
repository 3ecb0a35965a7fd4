package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect/keep"
	"plumb/internal/store/dir"
)

// world is a host that backs up to a directory, and prunes it. Its backups have streams that begin at
// others as those of a dataset do, although a command gives them.
type world struct {
	Pruner
	b   backup.Backup
	cal *calendar
	at  string        // of the store
	off time.Duration // of the clock of the host, from that of the store
	n   int
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{at: t.TempDir()}
	d, err := dir.Open(w.at)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	key, err := age.GenerateX25519Identity()
	must(t, err)
	do := hosttest.LiveDoer(t)
	state := t.TempDir()
	sign, public, err := backup.HostKey(t.Context(), do, state, "db1")
	must(t, err)
	own, err := note.NewVerifier(public)
	must(t, err)
	w.cal = &calendar{Store: d, at: map[string]time.Time{}}
	now := func() time.Time { return w.cal.now().Add(w.off) }
	w.b = backup.Backup{Do: do, Store: w.cal, Dir: state, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Words: []string{"key"},
		Chunk: 16 << 10, Workers: 2, Now: now}
	w.Pruner = Pruner{Vault: backup.Vault{Store: w.cal, Trust: []note.Verifier{own}}, Own: []note.Verifier{own}, Sign: sign, Host: "db1", Grace: 72 * time.Hour, Now: now}
	return w
}

// job is the n-th backup of a server.
func (w *world) job(base string) backup.Job {
	w.n++
	s := backup.Source{Stream: manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: fmt.Sprint(w.n)}, Argv: []string{"sh", "-c", fmt.Sprintf("seq %d %d", w.n, 8000+w.n)}}
	if base != "" {
		s.Base = &manifest.Base{Backup: base, GUID: fmt.Sprint(w.n - 1)}
	}
	return backup.Job{Name: fmt.Sprintf("point %d", w.n), Server: "mariadb:3306", Sources: []backup.Source{s}}
}

func (w *world) backup(t *testing.T, base string) string {
	t.Helper()
	res, err := w.b.Run(t.Context(), w.job(base))
	must(t, err)
	w.pass(time.Second) // names are in the order of time
	return res.ID
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.cal.mu.Lock()
	defer w.cal.mu.Unlock()
	w.cal.shift += d
}

// calendar is a store whose clock can be put forward and back.
type calendar struct {
	store.Store
	mu    sync.Mutex
	shift time.Duration
	at    map[string]time.Time
}

func (c *calendar) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	tag, err := c.Store.Put(ctx, name, data, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.at[name] = time.Now().Add(c.shift)
	}
	return tag, err
}

func (c *calendar) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.shift)
}

// touch makes objects as new as if they had been written again.
func (c *calendar) touch(ending string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.at {
		if strings.HasSuffix(name, ending) {
			c.at[name] = time.Now().Add(c.shift)
		}
	}
}

func (c *calendar) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	return c.Store.List(ctx, prefix, func(i store.Info) error {
		c.mu.Lock()
		i.Modified = c.at[i.Name]
		c.mu.Unlock()
		return each(i)
	})
}

func (w *world) prune(t *testing.T, rules string, allRight int) Done {
	t.Helper()
	done, err := w.try(t, rules, allRight)
	must(t, err)
	return done
}

func (w *world) try(t *testing.T, rules string, allRight int) (Done, error) {
	t.Helper()
	r, err := keep.Parse(rules)
	must(t, err)
	o := Options{Rules: r, AllRight: allRight}
	plan, err := w.Plan(t.Context(), o)
	if err != nil {
		return Done{}, err
	}
	return w.Carry(t.Context(), plan, o)
}

// there gives the backups that are believed, and checks that each comes back whole with what it needs.
func (w *world) there(t *testing.T) (ids []string) {
	t.Helper()
	all, err := w.List(t.Context())
	must(t, err)
	for _, f := range all {
		must(t, f.Err)
		chain, err := w.Chain(t.Context(), f.Manifest)
		must(t, err)
		for _, m := range chain {
			_, err := backup.Verify{Vault: w.Vault, Percent: 100}.Run(t.Context(), m)
			must(t, err)
		}
		ids = append(ids, f.ID)
	}
	return ids
}

// objects counts what the store has of a backup.
func (w *world) objects(t *testing.T, id string) (n int) {
	t.Helper()
	must(t, w.Store.List(t.Context(), manifest.Folder(id), func(store.Info) error { n++; return nil }))
	return n
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, and it should be %q", what, got, want)
	}
}

func (w *world) plan(t *testing.T) Plan {
	t.Helper()
	p, err := w.Plan(t.Context(), Options{Rules: keep.Rules{Last: 100}})
	must(t, err)
	return p
}

// dying is a store that fails for good after some objects.
type dying struct {
	store.Store
	left atomic.Int64 // objects that it still takes
}

func dyingAfter(s store.Store, n int64) *dying {
	d := &dying{Store: s}
	d.left.Store(n)
	return d
}

var errDied = errors.New("died")

func (d *dying) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if strings.HasPrefix(name, manifest.Prefix) {
		if d.left.Add(-1) < 0 {
			return "", errDied
		}
	}
	return d.Store.Put(ctx, name, data, o)
}

// dead is a store to which nothing comes through any more when a manifest was written.
type dead struct {
	store.Store
	is atomic.Bool
}

func (d *dead) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if d.is.Load() {
		return "", errDied
	}
	if strings.HasSuffix(name, "/manifest") {
		d.is.Store(true)
	}
	return d.Store.Put(ctx, name, data, o)
}

func (d *dead) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	if d.is.Load() {
		return nil, "", errDied
	}
	return d.Store.Get(ctx, name, into)
}

func (d *dead) Delete(context.Context, string) error { return errDied }

// hooked calls something just before an object is written.
type hooked struct {
	store.Store
	before func(name string)
	mu     sync.Mutex // one at a time calls it
}

func (h *hooked) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	h.mu.Lock()
	h.before(name)
	h.mu.Unlock()
	return h.Store.Put(ctx, name, data, o)
}

// ignoring takes no notice of conditions.
type ignoring struct {
	store.Store
	forget func(*store.Put)
}

func (i ignoring) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	i.forget(&o)
	return i.Store.Put(ctx, name, data, o)
}
