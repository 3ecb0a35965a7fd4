// Package archive archives the logs of real servers, removes the servers, and restores them to moments.
package archive

import (
	"bytes"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/test/program"
	"plumb/test/sandbox"
)

var built program.Program

func TestMain(m *testing.M) { program.Main(m, &built) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func says(t *testing.T, got string, want ...string) {
	t.Helper()
	// Lines are wrapped to the screen.
	flat := strings.Join(strings.Fields(got), " ")
	for _, w := range want {
		if !strings.Contains(flat, strings.Join(strings.Fields(w), " ")) {
			t.Errorf("%q is not in\n%s", w, got)
		}
	}
}

// site is a place with a store, a service and room for servers.
type site struct {
	t                              *testing.T
	box                            *sandbox.Box
	dir, store, url, state, socket string
	user                           string // as whom servers run
	recipient, key                 string // key is a file
	service                        *exec.Cmd
	mu                             sync.Mutex
	told                           bytes.Buffer // by the service
	more                           []string     // flags of the store
}

func newSite(t *testing.T) *site {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the service tells the user of a server from others: it needs root")
	}
	dir := sandbox.Directory(t, "archive")
	box := sandbox.ForTest(t, dir)
	uid, _ := box.User()
	u, err := user.LookupId(strconv.Itoa(uid))
	must(t, err)
	s := &site{t: t, box: box, dir: dir, store: filepath.Join(dir, "store"), state: filepath.Join(dir, "state"), socket: filepath.Join(dir, "socket/s"), user: u.Username, key: filepath.Join(dir, "key.txt")}
	s.url = "file://" + s.store
	must(t, os.Mkdir(s.store, 0o700))
	key, err := age.GenerateX25519Identity()
	must(t, err)
	must(t, os.WriteFile(s.key, []byte(key.String()+"\n"), 0o600))
	s.recipient = key.Recipient().String()
	return s
}

// toS3 has a real server of S3 as the store, which keeps objects as files.
func (s *site) toS3() {
	s.t.Helper()
	sandbox.NeedTime(s.t, "a server of S3 is built in two minutes: make test-real does")
	cloud := s.box.S3(s.t)
	s.t.Setenv("AWS_ACCESS_KEY_ID", cloud.Key)
	s.t.Setenv("AWS_SECRET_ACCESS_KEY", cloud.Secret)
	s.url, s.store, s.more = "s3://"+cloud.Bucket+"/db1", filepath.Join(cloud.Dir, cloud.Bucket, "db1"), []string{"--endpoint", cloud.Endpoint}
}

// plumb runs it, and gives what it said.
func (s *site) plumb(code int, args ...string) string {
	s.t.Helper()
	out, errs := built.Run(s.t, code, args...)
	return out + errs
}

func (s *site) restore(code int, dir string, more ...string) string {
	s.t.Helper()
	return s.plumb(code, append([]string{"restore", "--from", s.url, "--identity", s.key, "--state", s.state, "--user", s.user, "--dir", dir}, append(s.more[:len(s.more):len(s.more)], more...)...)...)
}

// serve starts the service.
func (s *site) serve(more ...string) {
	s.t.Helper()
	args := append([]string{"archive", "run", "--to", s.url, "--recipient", s.recipient, "--state", s.state, "--socket", s.socket, "--timeout", "20s"}, append(s.more[:len(s.more):len(s.more)], more...)...)
	s.service = exec.Command(built.Path, args...)
	s.service.Stderr = s
	must(s.t, s.service.Start())
	s.t.Cleanup(s.end)
	s.eventually("the service runs", func() bool { return strings.Contains(s.said(), "archiving to") })
}

// end ends it.
func (s *site) end() {
	if s.service == nil {
		return
	}
	_ = s.service.Process.Signal(syscall.SIGTERM)
	_ = s.service.Wait()
	s.service = nil
}

// kill kills it.
func (s *site) kill() {
	_ = s.service.Process.Kill()
	_ = s.service.Wait()
	s.service = nil
}

// Write implements io.Writer.
func (s *site) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.Write(p)
}

func (s *site) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.String()
}

// pretend makes a data directory that a stranger can read.
func (s *site) pretend() string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "pretend")
	must(s.t, os.MkdirAll(dir+"/global", 0o755))
	must(s.t, os.WriteFile(dir+"/global/pg_control", make([]byte, 64), 0o644))
	return dir
}

// eventually waits for something to be so.
func (s *site) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s; the service said:\n%s", what, s.said())
		}
	}
}

// momentsWanted is how many random moments are tried of each product: PLUMB_MOMENTS says it. make test-real tries fifty of both.
func momentsWanted() int {
	if n, err := strconv.Atoi(os.Getenv("PLUMB_MOMENTS")); err == nil && n > 0 {
		return n
	}
	if os.Getenv("PLUMB_REAL") != "" {
		return 25
	}
	return 3
}
