package backup

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup/store"
	"plumb/internal/backup/store/storetest"
	"plumb/internal/store/s3"
	"plumb/test/program"
	"plumb/test/sandbox"
)

var built program.Program

func TestMain(m *testing.M) {
	if told := os.Getenv(envLife); told != "" { // a process of TestRestoreToBtrfsDies
		if err := mortalLife(strings.Split(told, ",")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	program.Main(m, &built)
}

// cloud is a real server of S3, and a way to it on which things go wrong.
type cloud struct {
	sandbox.S3
	way   string
	wrong func(w http.ResponseWriter, r *http.Request) bool // answers itself, or says no
	put   atomic.Int64                                      // bytes of chunks that went through
	key   string                                            // file
	to    string                                            // recipient
	state string
	large string // a file that does not pack
	size  int64
}

func newCloud(t *testing.T) *cloud { return newCloudOf(t, 96<<20) }

// newCloudOf makes one, and a file of a size to back up.
func newCloudOf(t *testing.T, size int64) *cloud {
	t.Helper()
	sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
	box := sandbox.ForTest(t, "")
	c := &cloud{S3: box.S3(t), state: t.TempDir(), size: size}
	behind, err := url.Parse(c.Endpoint)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { // the signature is of the host's name
		r.Out.URL.Scheme, r.Out.URL.Host = behind.Scheme, behind.Host
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.wrong != nil && c.wrong(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".age") {
			c.put.Add(r.ContentLength)
		}
	}))
	t.Cleanup(way.Close)
	c.way = way.URL
	k, err := age.GenerateX25519Identity()
	must(t, err)
	c.key, c.to = filepath.Join(t.TempDir(), "key.txt"), k.Recipient().String()
	must(t, os.WriteFile(c.key, []byte(k.String()+"\n"), 0o600))
	c.large = filepath.Join(t.TempDir(), "large")
	f, err := os.Create(c.large)
	must(t, err)
	_, err = io.CopyN(f, rand.Reader, c.size)
	must(t, errors.Join(err, f.Close()))
	return c
}

func (c *cloud) command(args ...string) *exec.Cmd {
	cmd := exec.Command(built.Path, append(args, "--state", c.state, "--endpoint", c.way, "--region", "us-east-1")...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+c.Key, "AWS_SECRET_ACCESS_KEY="+c.Secret)
	return cmd
}

func (c *cloud) backup(more ...string) *exec.Cmd {
	return c.command(append([]string{"backup", "--command", "cat " + c.large, "--to", "s3://backups/db1", "--recipient", c.to, "--low"}, more...)...)
}

// whole restores the newest backup and compares.
func (c *cloud) whole(t *testing.T) {
	t.Helper()
	cmd := c.command("restore", "--from", "s3://backups/db1", "--identity", c.key, "--command", "cmp - "+c.large)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("restore: %v\n%s", err, out)
	}
}

func TestConformance(t *testing.T) {
	c := newCloud(t)
	b, err := s3.Open(s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: c.Bucket, Prefix: "conformance", Key: c.Key, Secret: c.Secret})
	must(t, err)
	storetest.Run(t, b)
	damaged(t, b)
	wrong, err := s3.Open(s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: c.Bucket, Key: c.Key, Secret: "wrong"})
	must(t, err)
	if _, err := wrong.Put(t.Context(), "a", []byte("x"), store.Put{}); !errors.Is(err, store.ErrDenied) {
		t.Errorf("a wrong secret: %v", err)
	}
	none, err := s3.Open(s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: "not-there", Key: c.Key, Secret: c.Secret})
	must(t, err)
	if _, err := none.Put(t.Context(), "a", []byte("x"), store.Put{}); err == nil || !strings.Contains(err.Error(), "no bucket") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// damaged sends other bytes than were hashed: the server refuses them, and the same may be tried again.
func damaged(t *testing.T, b *s3.Bucket) {
	t.Helper()
	sum := sha256.Sum256([]byte("as it was"))
	_, err := b.Put(t.Context(), "damaged", []byte("as it came"), store.Put{SHA256: hex.EncodeToString(sum[:])})
	if _, again := errors.AsType[*store.Trouble](err); !again {
		t.Errorf("an object that was damaged on its way: %v", err)
	}
	if _, _, err := b.Get(t.Context(), "damaged", make([]byte, 100)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an object that was damaged on its way is there: %v", err)
	}
}

// TestKilledAtHalf kills a backup when half of it was sent: the second run sends the rest, and not much more.
func TestKilledAtHalf(t *testing.T) {
	c := newCloudOf(t, 512<<20) // what is on its way when it is killed, three objects of 4 MiB, is sent again
	cmd := c.backup()
	must(t, cmd.Start())
	for end := time.Now().Add(3 * time.Minute); c.put.Load() < c.size/2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to the half")
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if out, err := c.command("backup", "list", "--from", "s3://backups/db1").CombinedOutput(); err != nil || !strings.Contains(string(out), "no backups") {
		t.Errorf("%s, %v", out, err)
	}
	before := c.put.Load()
	out, err := c.backup().CombinedOutput()
	second := float64(c.put.Load()-before) / float64(c.size)
	t.Logf("killed when %.0f %% were sent; the second run sent %.1f %%\n%s", 100*float64(before)/float64(c.size), 100*second, out)
	if err != nil || second > 0.55 || !strings.Contains(string(out), "continued an") {
		t.Errorf("%v", err)
	}
	c.whole(t)
}

// TestKilledAgainAndAgain kills it at random until it is through. Nothing that a killed run left is taken for a backup.
func TestKilledAgainAndAgain(t *testing.T) {
	c := newCloud(t)
	kills := 0
	for ; kills < 30; kills++ {
		cmd := c.backup("--limit-rate", "60M")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", kills, err, &out)
			}
			c.whole(t)
			t.Logf("through after %d kills", kills)
			return
		case <-time.After(300*time.Millisecond + mrand.N(time.Duration(kills+1)*200*time.Millisecond)):
			must(t, cmd.Process.Kill())
			<-ended
		}
	}
	t.Errorf("not through after %d kills", kills)
}

// TestBadLine cuts one connection in twenty, has a storm of 503 for some seconds, an outage, and answers that say nothing.
func TestBadLine(t *testing.T) {
	c := newCloud(t)
	began := time.Now()
	var resets, storms, outages atomic.Int64
	c.wrong = func(w http.ResponseWriter, r *http.Request) bool {
		at := time.Since(began)
		switch {
		case at > 2*time.Second && at < 5*time.Second:
			storms.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
			return true
		case at > 6*time.Second && at < 14*time.Second:
			outages.Add(1)
			hangUp(w)
			return true
		case mrand.IntN(20) == 0:
			resets.Add(1)
			_, _ = io.CopyN(io.Discard, r.Body, 100_000)
			hangUp(w)
			return true
		}
		return false
	}
	out, err := c.backup("--limit-rate", "10M").CombinedOutput()
	t.Logf("%d resets, %d answers of 503, %d calls in an outage\n%s", resets.Load(), storms.Load(), outages.Load(), out)
	if err != nil || resets.Load() == 0 || storms.Load() == 0 || outages.Load() == 0 {
		t.Errorf("%v", err)
	}
	c.wrong = func(w http.ResponseWriter, r *http.Request) bool { // restores go over the same line
		if mrand.IntN(20) > 0 {
			return false
		}
		hangUp(w)
		return true
	}
	c.whole(t)
}

// TestStalls has requests stand still for longer than anything may: they are given up and made again.
func TestStalls(t *testing.T) {
	c := newCloudOf(t, 48<<20)
	var stalls atomic.Int64
	c.wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || stalls.Add(1)%5 != 3 || stalls.Load() > 10 {
			return false
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil { // nobody reads it, and nobody ends it
			t.Cleanup(func() { _ = conn.Close() })
		}
		return true
	}
	began := time.Now()
	out, err := c.backup().CombinedOutput()
	t.Logf("%s with two requests that stood still\n%s", time.Since(began).Round(time.Second), out)
	if err != nil || stalls.Load() < 9 {
		t.Errorf("%v after %d requests", err, stalls.Load())
	}
	c.whole(t)
}

// TestClockIsOff has the store refuse what is signed at another hour, as VersityGW and Amazon's do: the clock of the test's machine
// stays as it is. It is said, and when the clock is right again the same command goes on.
func TestClockIsOff(t *testing.T) {
	c := newCloud(t)
	c.wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if c.put.Load() < c.size/2 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>RequestTimeTooSkewed</Code></Error>")
		return true
	}
	out, err := c.backup().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "clock of this machine") || !strings.Contains(string(out), "set the clock") {
		t.Errorf("%v\n%s", err, out)
	}
	c.wrong = nil
	before := c.put.Load()
	if out, err := c.backup().CombinedOutput(); err != nil || !strings.Contains(string(out), "continued an") || c.put.Load()-before > c.size*6/10 {
		t.Errorf("%v, sent %d of %d again\n%s", err, c.put.Load()-before, c.size, out)
	}
	c.whole(t)
}

// TestCopyKilled kills a copy from a bucket to a directory at random until it is through.
func TestCopyKilled(t *testing.T) {
	c := newCloud(t)
	if out, err := c.backup().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	to := t.TempDir()
	copied := func() *exec.Cmd {
		return c.command("backup", "copy", "--from", "s3://backups/db1", "--to", "file://"+to, "--limit-rate", "80M")
	}
	for kills := 0; ; kills++ {
		cmd := copied()
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", kills, err, &out)
			}
			t.Logf("through after %d kills\n%s", kills, &out)
			back := c.command("restore", "--from", "file://"+to, "--identity", c.key, "--command", "cmp - "+c.large)
			if out, err := back.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			return
		case <-time.After(200*time.Millisecond + mrand.N(time.Duration(kills+1)*200*time.Millisecond)):
			must(t, cmd.Process.Kill())
			<-ended
		}
		if kills > 30 {
			t.Fatal("it never comes through")
		}
	}
}

// TestTwoBuckets backs up to two servers at once, of which one goes away for good: the other has the backup, and a copy mends it.
func TestTwoBuckets(t *testing.T) {
	c := newCloud(t)
	var lost atomic.Bool
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !lost.Load() && r.Method != http.MethodPut {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusInsufficientStorage)
		lost.Store(true)
	}))
	t.Cleanup(full.Close)
	out, err := c.backup("--to", "s3://full/db1?region=us-east-1&endpoint="+url.QueryEscape(full.URL)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "does not have this backup") || !strings.Contains(string(out), "no space left") || !strings.Contains(string(out), "plumb backup copy") {
		t.Errorf("%v\n%s", err, out)
	}
	c.whole(t)
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// TestWithoutPlumb restores with age and zstd alone, as docs/restore-without-plumb.md says.
func TestWithoutPlumb(t *testing.T) {
	c := newCloud(t)
	if out, err := c.backup().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	streams, err := filepath.Glob(filepath.Join(c.Dir, c.Bucket, "db1/backups/*/0"))
	if err != nil || len(streams) != 1 {
		t.Fatalf("%q, %v", streams, err)
	}
	withoutPlumb(t, filepath.Dir(streams[0]), []string{"KEY=" + c.key}, pageBlock(t, "stream()"), "stream 0 | cmp - "+c.large)
}

// TestSecretsStayAway looks for the login and the key in all that is written and shown.
func TestSecretsStayAway(t *testing.T) {
	c := newCloud(t)
	out, err := c.backup().CombinedOutput()
	must(t, err)
	key, err := os.ReadFile(c.key)
	must(t, err)
	must(t, filepath.WalkDir(c.state, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		out = append(out, text...)
		return err
	}))
	for _, secret := range []string{c.Secret, strings.TrimSpace(string(key))} {
		if bytes.Contains(out, []byte(secret)) {
			t.Error("a secret is in what was written or shown")
		}
	}
	bad := c.command("backup", "list", "--from", fmt.Sprintf("s3://%s:%s@backups/db1", c.Key, c.Secret))
	if out, err := bad.CombinedOutput(); err == nil || bytes.Contains(out, []byte(c.Secret)) {
		t.Errorf("a login in the URL: %s", out)
	}
}
