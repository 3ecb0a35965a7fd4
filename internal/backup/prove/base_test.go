package prove

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/store/dir"
)

// tarred is a product whose base is a tar of its directory, with nothing of a log.
type tarred struct{}

func (tarred) Knows(manifest.Manifest) bool { return true }

func (tarred) Alone(manifest.Manifest) (is, known bool) { return true, true }

func (tarred) Plan(context.Context, archive.Shelf, manifest.Manifest, moment.Asked) (moment.Way, error) {
	return moment.Way{Notes: []string{"no log"}}, nil
}

func (tarred) Ready(context.Context, host.Launcher, manifest.Manifest, moment.At) error { return nil }

func (tarred) Unpack(dir string) []string { return []string{"tar", "-x", "-C", dir} }

func (tarred) Finish(context.Context, host.Launcher, archive.Shelf, *moment.Way, moment.At) error {
	return nil
}

func (tarred) Copied(context.Context, host.Launcher, moment.Way, moment.At) (protect.Point, error) {
	return protect.Point{}, nil
}

// site is a store with a base, in a directory that a process of the test finds again.
type site struct {
	backup.Backup
	key *age.X25519Identity
	dir string
}

func newSite(t *testing.T, at string) site {
	t.Helper()
	s := site{dir: at}
	for _, name := range []string{"store", "state", "p"} {
		must(t, os.MkdirAll(filepath.Join(at, name), 0o755))
	}
	place, err := dir.Open(filepath.Join(at, "store"))
	must(t, err)
	t.Cleanup(func() { _ = place.Close() })
	file := filepath.Join(at, "key.txt")
	if text, err := os.ReadFile(file); err == nil {
		s.key, err = age.ParseX25519Identity(string(text))
		must(t, err)
	} else {
		s.key, err = age.GenerateX25519Identity()
		must(t, err)
		must(t, os.WriteFile(file, []byte(s.key.String()), 0o600))
	}
	s.Backup = backup.Backup{Do: hosttest.LiveDoer(t), Store: place, Dir: filepath.Join(at, "state"), Host: "db1", Plumb: "test", To: []age.Recipient{s.key.Recipient()},
		Words: []string{s.key.Recipient().String()}, Chunk: 64 << 10, Workers: 1, Now: time.Now}
	s.Sign, s.Public, err = backup.HostKey(t.Context(), s.Do, s.Dir, s.Host)
	must(t, err)
	return s
}

// prove proves the newest base.
func (s site) prove(t *testing.T, prove func(context.Context, protect.Point) (protect.Drill, error)) error {
	t.Helper()
	v, err := backup.Vault{Store: s.Store}.Own(t.Context(), s.Do, s.Dir)
	must(t, err)
	m, err := v.Find(t.Context(), "", "")
	must(t, err)
	d := hosttest.LiveDoer(t)
	r := moment.Restore{Restore: backup.Restore{Vault: v, Do: d, Keys: []age.Identity{s.key}, Workers: 1, Books: filepath.Join(s.dir, "books")}, Do: d, Engines: []moment.Engine{tarred{}}}
	lend := func(dir, mountpoint string) protect.Member {
		return protect.Member{Snapshot: dir, Volume: protect.Volume{Mountpoint: mountpoint}}
	}
	_, _, err = Base{Restore: r, Under: filepath.Join(s.dir, "p"), UID: os.Getuid(), GID: os.Getgid(), Lend: lend, Prove: prove}.Run(t.Context(), m)
	return err
}

const envSite = "PLUMB_SITE" // of the process that is killed

// What a proof of a base left that was killed, the next one takes away.
func TestBaseOfAKilledRun(t *testing.T) {
	if at := os.Getenv(envSite); at != "" {
		err := newSite(t, at).prove(t, func(context.Context, protect.Point) (protect.Drill, error) {
			must(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		})
		t.Fatalf("it was not killed: %v", err)
	}
	s := newSite(t, t.TempDir())
	data := t.TempDir()
	must(t, os.WriteFile(filepath.Join(data, "file"), []byte("of a server\n"), 0o644))
	_, err := s.Run(t.Context(), backup.Job{Name: "base", Sources: []backup.Source{{Stream: manifest.Stream{Name: "base", Kind: manifest.Command}, Argv: []string{"tar", "-c", "-C", data, "."}}}})
	must(t, err)
	c := exec.Command(os.Args[0], "-test.run=^TestBaseOfAKilledRun$")
	c.Env = append(os.Environ(), envSite+"="+s.dir)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	left := s.left(t)
	if len(left) == 0 {
		t.Error("it left nothing")
	}
	var got []byte
	err = s.prove(t, func(_ context.Context, p protect.Point) (d protect.Drill, err error) {
		got, err = os.ReadFile(filepath.Join(p.Members[0].Snapshot, "file"))
		return d, err
	})
	if err != nil || string(got) != "of a server\n" {
		t.Errorf("%q, %v", got, err)
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left is %q", left)
	}
}

// left gives what proofs left.
func (s site) left(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(s.dir, "p", "*"))
	must(t, err)
	books, err := filepath.Glob(filepath.Join(s.dir, "books", "*.book"))
	must(t, err)
	return slices.Concat(dirs, books)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
