package moment

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

// filling is a store beside which somebody fills the disk that is restored to, once some objects were fetched.
type filling struct {
	store.Store
	left atomic.Int64
	fill func()
}

func (f *filling) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	if f.left.Add(-1) == 0 {
		f.fill()
	}
	return f.Store.Get(ctx, name, into)
}

// aHost backs bases up to a store.
type aHost struct {
	backup.Backup
	do  *host.LiveDoer
	key *age.X25519Identity
}

func newHost(t *testing.T) (h aHost) {
	t.Helper()
	var err error
	h.key, err = age.GenerateX25519Identity()
	must(t, err)
	s, err := dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	h.do = hosttest.LiveDoer(t)
	h.Backup = backup.Backup{Do: h.do, Store: s, Dir: t.TempDir(), Host: "db1", Plumb: "test", To: []age.Recipient{h.key.Recipient()}, Words: []string{h.key.Recipient().String()}, Chunk: 64 << 10, Workers: 1, Now: time.Now}
	h.Sign, h.Public, err = backup.HostKey(t.Context(), h.do, h.Dir, h.Host)
	must(t, err)
	return h
}

// base backs up what is in a directory.
func (h aHost) base(t *testing.T, data string) manifest.Manifest {
	t.Helper()
	res, err := h.Run(t.Context(), backup.Job{Name: "base", Sources: []backup.Source{{Stream: manifest.Stream{Name: "base", Kind: manifest.Command}, Argv: []string{"tar", "-c", "-C", data, "."}}}})
	must(t, err)
	return res.Manifest
}

// restore brings what is in a store forward, as that of a product.
func (h aHost) restore(t *testing.T, from store.Store, of Engine) Restore {
	t.Helper()
	v, err := backup.Vault{Store: from}.Own(t.Context(), h.do, h.Dir)
	must(t, err)
	return Restore{Restore: backup.Restore{Vault: v, Do: h.do, Keys: []age.Identity{h.key}, Workers: 1, Books: filepath.Join(t.TempDir(), "books")}, Do: h.do, Engines: []Engine{of}}
}

// A disk that gets full amid a restore, on which there was room when it began, is named. Nothing is left of what was unpacked, and with room
// the same restore goes well.
func TestDiskFillsUp(t *testing.T) {
	under := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "none", under).CombinedOutput(); err != nil {
		t.Skipf("needs a filesystem of its own, which root can mount: %s", out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", under).Run()) })
	h := newHost(t)
	data, text := t.TempDir(), make([]byte, 4<<20)
	_, _ = rand.Read(text)
	must(t, os.WriteFile(filepath.Join(data, "file"), text, 0o644))
	m := h.base(t, data)
	other := filepath.Join(under, "other")
	full := &filling{Store: h.Store, fill: func() { // among those who fetch, who may not end the test
		f, err := os.Create(other)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if _, err := io.Copy(f, zero{}); err == nil {
			t.Error("the disk has no end")
		}
	}}
	full.left.Store(20)
	r := h.restore(t, full, logged(0))
	to := Place{filepath.Join(under, "new"), os.Getuid(), os.Getgid()}
	if _, err := r.Run(t.Context(), m, to, Asked{}); err == nil || !strings.HasSuffix(err.Error(), "; no space is left in "+under) || !strings.HasPrefix(hint.Of(err), "make room there") {
		t.Errorf("%v, with the hint %q", err, hint.Of(err))
	}
	if all, err := filepath.Glob(filepath.Join(under, "*")); err != nil || len(all) != 1 || all[0] != other {
		t.Errorf("there is %q, %v", all, err)
	}
	must(t, os.Remove(other))
	_, err := r.Run(t.Context(), m, to, Asked{})
	must(t, err)
	if got, err := os.ReadFile(filepath.Join(to.Dir, "file")); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// zero has no end.
type zero struct{}

func (zero) Read(p []byte) (int, error) { return len(p), nil }
