package prune

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/prune"
	"plumb/internal/backup/store"
	"plumb/internal/protect/keep"
	"plumb/internal/store/s3"
	"plumb/test/sandbox"
)

// TestLocks tries a real bucket that locks objects and keeps versions.
func TestLocks(t *testing.T) {
	sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
	box := sandbox.ForTest(t, "")
	c := box.S3(t)
	client, err := minio.New(strings.TrimPrefix(c.Endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(c.Key, c.Secret, ""), Region: "us-east-1"})
	must(t, err)
	must(t, client.MakeBucket(t.Context(), "locked", minio.MakeBucketOptions{ObjectLocking: true}))
	k := task{S3: &s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: "locked", Prefix: "db1", Key: c.Key, Secret: c.Secret}, State: t.TempDir()}
	key, err := age.GenerateX25519Identity()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(k.State, "recipient"), []byte(key.Recipient().String()), 0o600))
	d, v, sign, public, err := k.host(t.Context())
	must(t, err)
	b := backup.Backup{Do: d, Store: v.Store, Dir: k.State, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Words: []string{"key"}, Chunk: 16 << 10}
	behind := 20 * time.Second // so that those of one second have an order
	make := func(line string, lock time.Duration) string {
		t.Helper()
		behind -= time.Second
		b.Lock, b.Now = lock, func() time.Time { return time.Now().Add(-behind) }
		res, err := b.Run(t.Context(), backup.Job{Name: line, Server: "mariadb:3306", Sources: []backup.Source{{Stream: manifest.Stream{Name: "out", Kind: manifest.Command}, Argv: []string{"sh", "-c", line}}}})
		must(t, err)
		return res.ID
	}
	free := make("seq 9001", 0)
	kept := make("seq 9002", 48*time.Hour)
	free2 := make("seq 9003", 0)
	make("seq 9004", 48*time.Hour)
	p := prune.Pruner{Vault: v, Own: v.Trust, Sign: sign, Host: "db1", Grace: grace, Lease: lease, Stay: stay, Now: time.Now}
	try := func(o prune.Options) prune.Done {
		t.Helper()
		plan, err := p.Plan(t.Context(), o)
		must(t, err)
		done, err := p.Carry(t.Context(), plan, o)
		must(t, err)
		return done
	}
	last := prune.Options{Rules: keep.Rules{Last: 1}}
	done := try(last)
	slices.Sort(done.Marked)
	want := []string{free, free2}
	slices.Sort(want)
	if !slices.Equal(done.Marked, want) || !strings.Contains(why(done.Plan, kept), "locked until") {
		t.Fatalf("marked %q; %s: %s", done.Marked, kept, why(done.Plan, kept))
	}
	versions := func(id string) (n int) {
		for o := range client.ListObjects(t.Context(), "locked", minio.ListObjectsOptions{Prefix: "db1/" + manifest.Folder(id), WithVersions: true, Recursive: true}) {
			must(t, o.Err)
			n++
		}
		return n
	}
	if n := versions(free); n < 6 {
		t.Errorf("the bucket keeps no versions: %d", n)
	}
	for end := time.Now().Add(time.Minute); versions(free)+versions(free2) > 0; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("there are %d versions still", versions(free)+versions(free2))
		}
		try(last)
	}
	byItself(t, client, p, kept)
	// A backup, and a prune, with objects that the bucket locks whoever writes them.
	make("seq 9005", 0)
	if done := try(last); len(done.Marked) > 0 {
		t.Errorf("%+v", done)
	}
	chained(t, b, kept)
}

// chained backs up what builds on a backup that is locked for less time, which is then locked as long.
func chained(t *testing.T, b backup.Backup, on string) {
	t.Helper()
	b.Lock, b.Now = 60*24*time.Hour, time.Now
	_, err := b.Run(t.Context(), backup.Job{Name: "next", Server: "mariadb:3306", Sources: []backup.Source{{Stream: manifest.Stream{Name: "out", Kind: manifest.Command, Base: &manifest.Base{Backup: on, GUID: "1"}}, Argv: []string{"seq", "9006"}}}})
	must(t, err)
	l, _ := store.AsLocker(b.Store)
	for _, name := range []string{manifest.Name(on), manifest.PartName(on, 0, 0), manifest.ChunkName(on, 0, 0)} {
		if until, err := l.Until(t.Context(), name); err != nil || time.Until(until) < b.Lock-time.Hour {
			t.Errorf("%s is locked until %s, %v", name, until, err)
		}
	}
}

// byItself has the store lock whatever is written, and tries to remove what is locked.
func byItself(t *testing.T, client *minio.Client, p prune.Pruner, kept string) {
	t.Helper()
	v := p.Vault
	if err := v.Store.Delete(t.Context(), manifest.Name(kept)); err == nil {
		t.Error("what is locked can be removed")
	}
	if _, err := v.Get(t.Context(), kept); err != nil {
		t.Error(err)
	}
	over(t, client, v.Store, manifest.Name(kept))
	l, is := store.AsLocker(v.Store)
	if !is {
		t.Fatal("it tells nothing of locks")
	}
	longer := time.Now().Add(50 * 24 * time.Hour)
	must(t, l.Lock(t.Context(), manifest.Name(kept), longer))
	if until, err := l.Until(t.Context(), manifest.Name(kept)); err != nil || until.Before(longer.Add(-time.Minute)) {
		t.Errorf("it is locked until %s, and was to be until %s; %v", until, longer, err)
	}
	mode, days, unit := minio.Compliance, uint(7), minio.Days
	must(t, client.SetObjectLockConfig(t.Context(), "locked", &mode, &days, &unit))
	if got, err := l.Locks(t.Context()); err != nil || !got.Can || !got.Versions || got.Always != 7*24*time.Hour {
		t.Errorf("%+v, %v", got, err)
	}
	// What is asked for counts, also where it is less than what the bucket does by itself: so it is refused.
	_, err := v.Store.Put(t.Context(), "backups/short", []byte("x"), store.Put{Until: time.Now().Add(48 * time.Hour)})
	must(t, err)
	if until, err := l.Until(t.Context(), "backups/short"); err != nil || time.Until(until) > 49*time.Hour {
		t.Errorf("asked for two days: it is locked until %s, %v", until, err)
	}
	if err := store.MayLock(t.Context(), v.Store, 48*time.Hour); err == nil || !strings.Contains(err.Error(), "for 7 days by itself") {
		t.Errorf("a lock shorter than the bucket's own: %v", err)
	}
	for rules, stopped := range map[keep.Rules]bool{{Days: 8}: true, {Days: 7}: false, {Last: 1}: false} {
		if plan, err := p.Plan(t.Context(), prune.Options{Rules: rules}); err != nil || plan.Stopped() != stopped {
			t.Errorf("%s: %+v, %v", rules, plan.Brakes, err)
		}
	}
	if plan, err := p.Plan(t.Context(), prune.Options{Rules: keep.Rules{Days: 8}, ShortLock: true}); err != nil || plan.Stopped() {
		t.Errorf("it is meant so: %+v, %v", plan.Brakes, err)
	}
}

// over puts another version over one that is locked. To remove the object is refused, and what took its place is still in it.
func over(t *testing.T, client *minio.Client, s store.Store, name string) {
	t.Helper()
	_, err := s.Put(t.Context(), name, []byte("over it"), store.Put{})
	must(t, err)
	if err := s.Delete(t.Context(), name); err == nil {
		t.Error("what is locked can be removed")
	}
	if got, _, err := s.Get(t.Context(), name, make([]byte, manifest.MaxSize)); err != nil || string(got) != "over it" {
		t.Errorf("there is %.40q, %v", got, err)
	}
	for o := range client.ListObjects(t.Context(), "locked", minio.ListObjectsOptions{Prefix: "db1/" + name, WithVersions: true, Recursive: true}) {
		must(t, o.Err)
		if o.IsLatest {
			must(t, client.RemoveObject(t.Context(), "locked", o.Key, minio.RemoveObjectOptions{VersionID: o.VersionID}))
		}
	}
}

func why(p prune.Plan, id string) string {
	for _, s := range p.Servers {
		for _, f := range s.Fates {
			if f.Point.ID == id {
				return strings.Join(f.Why, "; ")
			}
		}
	}
	return ""
}
