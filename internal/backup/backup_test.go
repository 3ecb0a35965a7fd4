package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

// world is a host that backs up to a directory, with real processes and files.
type world struct {
	Backup
	key *age.X25519Identity
	at  string // of the store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{key: key, at: t.TempDir()}
	d, err := dir.Open(w.at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	do := hosttest.LiveDoer(t)
	state := t.TempDir()
	sign, public, err := HostKey(t.Context(), do, state, "db1")
	if err != nil {
		t.Fatal(err)
	}
	w.Backup = Backup{Do: do, Store: d, Dir: state, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Words: []string{key.Recipient().String()},
		Chunk: 64 << 10, Workers: 3, Now: time.Now}
	return w
}

func (w *world) vault(t testing.TB) Vault {
	t.Helper()
	v, err := note.NewVerifier(w.Public)
	if err != nil {
		t.Fatal(err)
	}
	return Vault{Store: w.Store, Trust: []note.Verifier{v}}
}

func (w *world) restore(t *testing.T, m manifest.Manifest) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	err := Restore{Vault: w.vault(t), Do: w.Do, Keys: []age.Identity{w.key}}.Stream(t.Context(), m, 0, &out)
	return out.Bytes(), err
}

func command(line string) Job {
	return Job{Name: "command " + line, Sources: []Source{{Stream: manifest.Stream{Name: "out", Kind: manifest.Command}, Argv: []string{"sh", "-c", line}}}}
}

func TestThereAndBack(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 200000"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.vault(t).List(t.Context())
	if err != nil || len(all) != 1 || all[0].Err != nil || all[0].ID != res.ID || all[0].By != "plumb-db1" {
		t.Fatalf("%+v, %v", all, err)
	}
	got, err := w.restore(t, all[0].Manifest)
	if err != nil || !bytes.HasPrefix(got, []byte("1\n2\n")) || !bytes.HasSuffix(got, []byte("\n200000\n")) || int64(len(got)) != res.Streams[0].Bytes {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if left, _ := filepath.Glob(w.Dir + "/running/*.log"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if kept, _ := os.ReadFile(w.Dir + "/host.key"); bytes.Contains(kept, []byte(w.key.String())) || len(kept) == 0 {
		t.Error("the host has a key that opens its backups")
	}
	again, err := w.Run(t.Context(), command("seq 200000"))
	if err != nil || again.ID == res.ID || again.GoesOn || again.Skipped != 0 {
		t.Errorf("a second backup: %+v, %v", again, err)
	}
}

// What a producer that failed has given is never a backup.
func TestProducerFails(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{"seq 100000; exit 1", "seq 100000; kill -9 $$", "true"} {
		if _, err := w.Run(t.Context(), command(line)); err == nil {
			t.Errorf("%s is a backup", line)
		}
	}
	if all, err := w.vault(t).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// dying fails for good after some objects, as if the machine had died.
type dying struct {
	store.Store
	left atomic.Int64 // objects that it still takes, from several workers
}

func dyingAfter(s store.Store, n int) *dying {
	d := &dying{Store: s}
	d.left.Store(int64(n))
	return d
}

var errDied = errors.New("died")

func (d *dying) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if strings.HasPrefix(name, manifest.Prefix) && !strings.HasSuffix(name, "/claim") {
		if d.left.Add(-1) < 0 {
			return "", errDied
		}
	}
	return d.Store.Put(ctx, name, data, o)
}

// It dies before every object, the manifest among them; the next run sends only what is not there.
func TestEveryDeath(t *testing.T) {
	const line = "seq 60000" // six chunks, a list and the manifest
	for after := range 8 {
		w := newWorld(t)
		w.Workers = 1
		good := w.Store
		w.Store = dyingAfter(good, after)
		if _, err := w.Run(t.Context(), command(line)); !errors.Is(err, errDied) {
			t.Fatalf("after %d: %v", after, err)
		}
		w.Store = good
		if all, err := w.vault(t).List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("after %d there is a backup: %+v, %v", after, all, err)
		}
		res, err := w.Run(t.Context(), command(line))
		if err != nil || !res.GoesOn {
			t.Fatalf("after %d: %+v, %v", after, res, err)
		}
		if want := int64(min(after, 6)) * int64(w.Chunk); min(res.Skipped, want) != min(want, res.Streams[0].Bytes) && res.Skipped < want-int64(w.Chunk) {
			t.Errorf("after %d objects %d bytes were not sent again, and %d were there", after, res.Skipped, want)
		}
		if got, err := w.restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
			t.Errorf("after %d: %d bytes, %v", after, len(got), err)
		}
	}
}

// A store that loses an object that it said it keeps is found out before the backup exists.
type forgetting struct{ store.Store }

func (f forgetting) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if strings.HasSuffix(name, "2.zst.age") {
		return "tag", nil
	}
	return f.Store.Put(ctx, name, data, o)
}

func TestStoreForgets(t *testing.T) {
	w := newWorld(t)
	good := w.Store
	w.Store = forgetting{good}
	if _, err := w.Run(t.Context(), command("seq 60000")); err == nil || !strings.Contains(err.Error(), "reported that it kept") {
		t.Error(err)
	}
	w.Store = good
	if res, err := w.Run(t.Context(), command("seq 60000")); err != nil || res.GoesOn { // or it would end so for ever
		t.Errorf("the next run: %+v, %v", res, err)
	}
}

// ignoring takes no notice of conditions, as some servers do.
type ignoring struct{ store.Store }

func (i ignoring) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	o.New = false
	return i.Store.Put(ctx, name, data, o)
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	plain := w.Store
	w.Store = ignoring{plain}
	if _, err := w.Run(t.Context(), command("seq 10")); err == nil || !strings.Contains(err.Error(), "asked not to") {
		t.Errorf("without conditions: %v", err)
	}
	w.Store = plain
	if _, err := w.Run(t.Context(), command("seq 10")); err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	other.Store = plain
	if _, err := other.Run(t.Context(), command("seq 10")); err == nil || !strings.Contains(err.Error(), "belongs to another host") {
		t.Errorf("two hosts on one prefix: %v", err)
	}
	other.To = nil
	other.Store = newWorld(t).Store
	if _, err := other.Run(t.Context(), command("seq 10")); err == nil {
		t.Error("a backup that nobody can open")
	}
}

// one verifies one backup.
func (v Verify) one(t *testing.T, m manifest.Manifest) (got Verified, err error) {
	all, err := v.Run(t.Context(), m)
	if len(all) == 1 {
		got = all[0]
	}
	return got, err
}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 200000"))
	if err != nil {
		t.Fatal(err)
	}
	v := Verify{Vault: w.vault(t), Percent: 100}
	for _, keys := range [][]age.Identity{nil, {w.key}} {
		v.Keys = keys
		got, err := v.one(t, res.Manifest)
		if err != nil || got.Read != res.Objects || got.Objects != res.Objects || got.Bytes != res.Streams[0].Bytes || got.Opened != (keys != nil) {
			t.Errorf("%+v of %d, %v", got, res.Objects, err)
		}
	}
	v.Percent = 0
	if got, err := v.one(t, res.Manifest); err != nil || got.Read != 2 || got.Objects != res.Objects {
		t.Errorf("%+v, %v", got, err)
	}
	file := filepath.Join(w.at, manifest.ChunkName(res.ID, 0, 3))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	v.Percent = 100
	if _, err := v.Run(t.Context(), res.Manifest); err == nil || !strings.Contains(err.Error(), "chunk 3") {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	v.Percent = 0
	if _, err := v.Run(t.Context(), res.Manifest); err == nil || !strings.Contains(err.Error(), "chunk 3 is not in the store") {
		t.Error(err)
	}
}

// A manifest under the name of another is not that one.
func TestReplayed(t *testing.T) {
	w := newWorld(t)
	one, err := w.Run(t.Context(), command("seq 10"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := w.Run(t.Context(), command("seq 20"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.at, manifest.Name(one.ID)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.at, manifest.Name(two.ID)), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.vault(t).Get(t.Context(), two.ID); err == nil {
		t.Error("it is taken")
	}
	if m, err := w.vault(t).Find(t.Context(), "latest", ""); err != nil || m.ID != one.ID {
		t.Errorf("%s, %v", m.ID, err)
	}
}

func TestKeys(t *testing.T) {
	w := newWorld(t)
	_, again, err := HostKey(t.Context(), w.Do, w.Dir, "renamed")
	if err != nil || again != w.Public {
		t.Errorf("the key of a host that was renamed: %v", err)
	}
	if st, err := os.Stat(w.Dir + "/host.key"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if err := os.WriteFile(w.Dir+"/host.key", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := HostKey(t.Context(), w.Do, w.Dir, "db1"); err == nil || strings.Contains(err.Error(), "half") {
		t.Errorf("a damaged key: %v", err)
	}
	if _, err := Identities([]byte("AGE-SECRET-KEY-1QQQQQ\n")); err == nil || strings.Contains(err.Error(), "QQQQQ") {
		t.Errorf("what is wrong with a key shows the key: %v", err)
	}
	if _, err := Trusted([]byte("# of db1\n" + w.Public + "\n\n")); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"nonsense", "PRIVATE+KEY+nonsense", "AGE-SECRET-KEY-1nonsense", "a+nonsense+b"} {
		if _, err := Trusted([]byte("# of db1\n" + text)); err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%q is trusted, or shown: %v", text, err)
		}
	}
}

// For more recipients than age reads nobody could open what is made.
func TestTooManyRecipients(t *testing.T) {
	one := newWorld(t).Words[0]
	for n, good := range map[int]bool{1024: true, 1025: false} {
		if _, err := Recipients(slices.Repeat([]string{one}, n)...); (err == nil) != good {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A backup is shown with what it needs, and where that is gone it is shown alone, with the error.
func TestShow(t *testing.T) {
	w := newWorld(t)
	run := func(guid string, base *manifest.Base) string {
		t.Helper()
		j := command("seq " + guid)
		j.Sources[0].Stream = manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: guid, Base: base}
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return res.ID
	}
	full := run("10", nil)
	then := run("20", &manifest.Base{Backup: full, GUID: "10"})
	all, err := w.vault(t).Show(t.Context(), then, "")
	if err != nil || len(all) != 2 || all[0].ID != full || all[1].ID != then || all[1].By == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := w.Store.Delete(t.Context(), manifest.Name(full)); err != nil {
		t.Fatal(err)
	}
	all, err = w.vault(t).Show(t.Context(), then, "")
	if err == nil || !strings.Contains(err.Error(), "backup "+then+" cannot be restored: ") || len(all) != 1 || all[0].ID != then {
		t.Errorf("%+v, %v", all, err)
	}
}

// Where a base is looked for, a newer dump beside it is none.
func TestNewestBase(t *testing.T) {
	w := newWorld(t)
	v := w.vault(t)
	v.Only = &Only{Is: func(m manifest.Manifest) bool { return m.Facts["base"] != "" }, What: "base backup"}
	run := func(facts map[string]string) string {
		t.Helper()
		j := command("seq 10")
		j.Facts = facts
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return res.ID
	}
	run(nil)
	if _, err := v.Find(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), "has no base backup") {
		t.Error(err)
	}
	base, dump := run(map[string]string{"base": "1"}), run(nil)
	if m, err := v.Find(t.Context(), "", ""); err != nil || m.ID != base {
		t.Errorf("%s, and not %s: %v", m.ID, base, err)
	}
	if m, err := v.Find(t.Context(), dump, ""); err != nil || m.ID != dump {
		t.Errorf("%s by its name: %v", m.ID, err)
	}
}

// A newer Plumb has written the newest backup, or somebody who is no host of ours: the one before it is found, and that is told.
func TestNewestIsPassedOver(t *testing.T) {
	w := newWorld(t)
	one, err := w.Run(t.Context(), command("seq 10"))
	if err != nil {
		t.Fatal(err)
	}
	id := manifest.NewID(time.Now().Add(time.Hour), "abcdef01")
	text, err := note.Sign(&note.Note{Text: fmt.Sprintf("{\"form\": %d, \"id\": %q}\n", manifest.Form+1, id)}, w.Sign)
	if err != nil {
		t.Fatal(err)
	}
	w.lay(t, manifest.Name(id), text)
	v := w.vault(t)
	var told []Found
	v.Doubt = func(f Found) { told = append(told, f) }
	if m, err := v.Find(t.Context(), "", ""); err != nil || m.ID != one.ID {
		t.Errorf("%s, %v", m.ID, err)
	}
	if len(told) != 1 || told[0].ID != id || !strings.Contains(told[0].Err.Error(), "version 2") {
		t.Errorf("%+v", told)
	}
	if _, err := v.Find(t.Context(), id, ""); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("the newer one itself: %v", err)
	}
	if _, err := w.Run(t.Context(), command("seq 20")); err != nil {
		t.Errorf("a backup beside it: %v", err)
	}
	if _, err := v.Find(t.Context(), "", "mysql:3306"); err == nil || !strings.Contains(err.Error(), "has no backup of mysql:3306") { // others are believed
		t.Errorf("of another server: %v", err)
	}
}

// Several Plumbs that begin at once, on a host that has no key yet, have one.
func TestKeyAtOnce(t *testing.T) {
	dir := t.TempDir()
	public := make([]string, 6)
	var all sync.WaitGroup
	for i := range public {
		do := hosttest.LiveDoer(t)
		all.Go(func() {
			_, key, err := HostKey(t.Context(), do, dir, "db1")
			if public[i] = key; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range public {
		if key != public[0] {
			t.Errorf("keys: %q", public)
		}
	}
}

// calls writes down what a store is asked for.
type calls struct {
	store.Store
	mu  sync.Mutex
	all []string
}

func (c *calls) say(what, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, what+" "+path.Base(name))
}

func (c *calls) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	c.say("put", name)
	return c.Store.Put(ctx, name, data, o)
}

func (c *calls) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	c.say("get", name)
	return c.Store.Get(ctx, name, into)
}

func (c *calls) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	c.say("list", "")
	return c.Store.List(ctx, prefix, each)
}

func (c *calls) Delete(ctx context.Context, name string) error {
	c.say("delete", name)
	return c.Store.Delete(ctx, name)
}

// On a long line each call costs a round trip: a small backup has few of them.
func TestFewRoundTrips(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Run(t.Context(), command("seq 10")); err != nil {
		t.Fatal(err)
	}
	c := &calls{Store: w.Store}
	w.Store = c
	if _, err := w.Run(t.Context(), command("seq 10")); err != nil {
		t.Fatal(err)
	}
	want := []string{"get owner", "list .", "put claim", "put 000000000.zst.age", "put list-000000", "get list-000000", "list .", "put manifest", "get manifest", "delete claim"}
	if i := slices.Index(c.all, "get list-000000"); i == 6 {
		c.all[5], c.all[6] = c.all[6], c.all[5] // both are asked for at once
	}
	if !slices.Equal(c.all, want) {
		t.Errorf("%q", c.all)
	}
}
