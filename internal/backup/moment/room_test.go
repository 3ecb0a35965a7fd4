package moment

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/store/dir"
)

// logged is a product whose base is a tar, and whose log takes some room.
type logged int64

func (logged) Knows(manifest.Manifest) bool { return true }

func (logged) Alone(manifest.Manifest) (is, known bool) { return true, true }

func (l logged) Plan(context.Context, archive.Shelf, manifest.Manifest, Asked) (Way, error) {
	return Way{Room: int64(l)}, nil
}

func (logged) Ready(context.Context, host.Launcher, manifest.Manifest, At) error { return nil }

func (logged) Unpack(dir string) []string { return []string{"tar", "-x", "-C", dir} }

func (logged) Finish(context.Context, host.Launcher, archive.Shelf, *Way, At) error { return nil }

func (logged) Copied(context.Context, host.Launcher, Way, At) (protect.Point, error) {
	return protect.Point{}, nil
}

// tight is a machine of which each filesystem is of one type, and has a thousand bytes left.
type tight struct {
	*host.LiveDoer
	mounts string
}

func (t tight) Statfs(context.Context, string) (host.Statfs, error) {
	return host.Statfs{TotalBytes: 1 << 20, AvailBytes: 1000}, nil
}

func (t tight) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if name == "/proc/self/mountinfo" {
		return []byte(t.mounts), nil
	}
	return t.LiveDoer.ReadFile(ctx, name)
}

// A base that does not fit, alone or with the log that is replayed onto it, is refused before anything is made or fetched; where the
// filesystem compresses nobody knows. What a killed restore left goes first.
func TestNoRoom(t *testing.T) {
	s, err := dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	const plain, compressed = "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "25 1 0:30 / / rw - btrfs /dev/sda1 rw,compress=zstd:3\n"
	for _, c := range []struct {
		base, log int64
		mounts    string
		want      string
	}{
		{900, 11, plain, "1000 bytes are free in "},
		{910, 0, plain, "the restored data can take 1001 bytes"},
		{900, 10, plain, "manifest"}, // goes on, and finds that the store has nothing
		{5000, 5000, compressed, "manifest"},
	} {
		under := t.TempDir()
		d := tight{hosttest.LiveDoer(t), c.mounts}
		m := manifest.Manifest{ID: "20261126T160449Z-0b72c225", Streams: []manifest.Stream{{Name: "base", Kind: manifest.Command, Bytes: c.base}}}
		r := Restore{Restore: backup.Restore{Vault: backup.Vault{Store: s}, Do: d, Books: filepath.Join(t.TempDir(), "books")}, Do: d, Engines: []Engine{logged(c.log)}}
		left := filepath.Join(under, "old.plumb-restore")
		killed(t, d, r.Books, left)
		_, err := r.Run(t.Context(), m, Place{filepath.Join(under, "new"), os.Getuid(), os.Getgid()}, Asked{})
		if refused := c.want != "manifest"; err == nil || refused && !strings.Contains(err.Error(), c.want) || !refused && strings.Contains(err.Error(), "are free") {
			t.Errorf("%+v: %v", c, err)
		}
		if all, err := os.ReadDir(under); err != nil || len(all) > 0 {
			t.Errorf("%+v: there is %v, %v", c, all, err)
		}
	}
}

// killed leaves what a restore leaves that was killed: its tree, and its book.
func killed(t *testing.T, d host.Doer, books, tree string) {
	t.Helper()
	book, err := kinds.Books(d, books).Open(t.Context(), "restore-killed")
	must(t, err)
	must(t, book.Tree(t.Context(), inventory.Thing{Name: tree}, 0o711))
	file := filepath.Join(books, "restore-killed.book")
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.Rename(tree, tree+".aside"))
	must(t, book.Close(t.Context()))
	must(t, os.Rename(tree+".aside", tree))
	must(t, os.WriteFile(file, text, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
