package fetch_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/host/hosttest"
)

// repository serves one jar with its checksum, and counts how often.
type repository struct {
	jar    []byte
	sum    string
	served atomic.Int32
}

func (r *repository) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasSuffix(req.URL.Path, ".jar.sha1"):
		_, _ = w.Write([]byte(r.sum + "  server.jar\n"))
	case strings.HasSuffix(req.URL.Path, ".jar"):
		r.served.Add(1)
		_, _ = w.Write(r.jar)
	default:
		http.NotFound(w, req)
	}
}

// jarOf makes a jar of files by name.
func jarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func serving(t *testing.T, files map[string]string) (*repository, fetch.Store, fetch.Release) {
	t.Helper()
	r := &repository{jar: jarOf(t, files)}
	sum := sha1.Sum(r.jar)
	r.sum = hex.EncodeToString(sum[:])
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, fetch.Store{Dir: filepath.Join(t.TempDir(), "a/cache"), From: s.URL + "/"},
		fetch.Release{Name: "thing-1", Path: "x/thing-1.jar", Program: "bin/thing", Wanted: func(member string) bool { return member != "no" }}
}

func TestTreeIsFetchedOnceByMany(t *testing.T) {
	r, s, release := serving(t, map[string]string{"bin/thing": "#!", "share/x": "1", "no": "2"})
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := s.Tree(context.Background(), host.NewLiveDoer(host.NewLive(host.LiveOptions{})), release); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := r.served.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	dir := filepath.Join(s.Dir, "thing-1")
	if info, err := os.Stat(dir + "/bin/thing"); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	if _, err := os.Stat(dir + "/no"); err == nil {
		t.Error("a file that is not wanted was unpacked")
	}
	onlyThere(t, s.Dir, "thing-1", "thing-1.lock")
}

func onlyThere(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(names, " ") {
		t.Errorf("in the cache are %v", have)
	}
}

func TestAnArchiveInTheJarIsUnpacked(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("no xz")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/bin/thing", []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-cJf", dir+"/a.txz", "bin/thing").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	text, err := os.ReadFile(dir + "/a.txz")
	if err != nil {
		t.Fatal(err)
	}
	_, s, release := serving(t, map[string]string{"a.txz": string(text)})
	defer syscall.Umask(syscall.Umask(0o077))
	dir, err = s.Tree(t.Context(), hosttest.LiveDoer(t), release)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "bin", "bin/thing"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestWhatIsNotWholeIsNotKept(t *testing.T) {
	for name, change := range map[string]func(*repository, *fetch.Release){
		"its checksum is":                 func(r *repository, _ *fetch.Release) { r.sum = strings.Repeat("0", 40) },
		"it holds no checksum":            func(r *repository, _ *fetch.Release) { r.sum = "<html>" },
		"no bin/other in":                 func(_ *repository, release *fetch.Release) { release.Program = "bin/other" },
		"the repository has no checksum":  func(_ *repository, release *fetch.Release) { release.Path = "x/y.tar" },
		"would lie outside its directory": func(r *repository, _ *fetch.Release) { replaceJar(t, r, map[string]string{"../x": "1"}) },
		"not a valid zip file":            func(r *repository, _ *fetch.Release) { r.setJar([]byte("PK no")) },
	} {
		r, s, release := serving(t, map[string]string{"bin/thing": "#!"})
		change(r, &release)
		_, err := s.Tree(t.Context(), hosttest.LiveDoer(t), release)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		onlyThere(t, s.Dir, "thing-1.lock")
	}
}

// A file that was changed in the repository together with the sum beside it is
// not what was chosen.
func TestAChangedRepositoryIsRefused(t *testing.T) {
	r, s, release := serving(t, map[string]string{"bin/thing": "#!"})
	known := sha256.Sum256(r.jar)
	release.Sum = hex.EncodeToString(known[:])
	replaceJar(t, r, map[string]string{"bin/thing": "#!evil"})
	if _, err := s.Tree(t.Context(), hosttest.LiveDoer(t), release); err == nil || !strings.Contains(err.Error(), "this Plumb knows it as "+release.Sum) {
		t.Errorf("%v", err)
	}
	onlyThere(t, s.Dir, "thing-1.lock")
	replaceJar(t, r, map[string]string{"bin/thing": "#!"})
	release.Sum = hex.EncodeToString(func() []byte { sum := sha256.Sum256(r.jar); return sum[:] }())
	if _, err := s.Tree(t.Context(), hosttest.LiveDoer(t), release); err != nil {
		t.Error(err)
	}
}

func replaceJar(t *testing.T, r *repository, files map[string]string) { r.setJar(jarOf(t, files)) }

func (r *repository) setJar(jar []byte) {
	r.jar = jar
	sum := sha1.Sum(jar)
	r.sum = hex.EncodeToString(sum[:])
}

func TestARepositoryOutOfReachHasAHint(t *testing.T) {
	s := fetch.Store{Dir: t.TempDir(), From: "http://127.0.0.1:1/"}
	_, err := s.Tree(t.Context(), hosttest.LiveDoer(t), fetch.Release{Name: "x", Path: "x.jar", Program: "x"})
	if err == nil {
		t.Fatal("no error")
	}
	for e := err; e != nil; {
		if h, ok := e.(interface{ Hint() string }); ok {
			if !strings.Contains(h.Hint(), "basedir") {
				t.Error(h.Hint())
			}
			return
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	t.Error("no hint:", err)
}

func TestReleases(t *testing.T) {
	if r, ok := fetch.PostgreSQL("17"); ok && r.Name != "postgres-17.11.0" {
		t.Error(r)
	}
	for _, version := range []string{"11.4", "10.11"} {
		if r, ok := fetch.MariaDB(version); ok && r.Sum == "" {
			t.Errorf("no checksum of %s is known", r.Name)
		}
	}
	for _, version := range []string{"10", "11", "12", "13", "14", "15", "16", "17", "18"} {
		if r, ok := fetch.PostgreSQL(version); ok && r.Sum == "" && runtime.GOARCH == "amd64" {
			t.Errorf("no checksum of %s is known", r.Name)
		}
	}
	for _, version := range []string{"", "1", "17.1", "../x"} {
		if r, ok := fetch.PostgreSQL(version); ok {
			t.Errorf("%q is %s", version, r.Name)
		}
		if r, ok := fetch.MariaDB(version); ok {
			t.Errorf("%q is %s", version, r.Name)
		}
	}
}
