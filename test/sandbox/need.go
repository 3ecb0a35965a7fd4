package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plumb/internal/host/paths"
)

// ForTest makes a box that is closed at the end of a test. parent is as for New.
func ForTest(t testing.TB, parent string) *Box {
	t.Helper()
	b, err := New(parent)
	Need(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Need skips a test for what the machine does not offer, and fails it for any
// other error.
func Need(t testing.TB, err error) {
	t.Helper()
	if missing, ok := errors.AsType[Missing](err); ok {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// NeedLong skips what go test -short leaves out. why is the whole sentence of
// the skip.
func NeedLong(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// NeedTime skips what takes long, unless make test-real asks for it. why is
// the whole sentence of the skip.
func NeedTime(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip(why)
	}
}

// NeedFull skips what does not fit into the hour of make test-real beside the
// rest. why is the whole sentence of the skip.
func NeedFull(t testing.TB, why string) {
	t.Helper()
	if !Full() {
		t.Skip(why)
	}
}

// Full tells whether every test was asked for, however long.
func Full() bool { return os.Getenv("PLUMB_REAL") == "full" }

// NeedMount skips what has to know on which filesystem a directory lies: the
// root of a chroot need not be a mount, and then nobody can tell from inside.
func NeedMount(t testing.TB, dir string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mounts")
	Need(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	Need(t, err)
	for line := range strings.Lines(string(table)) {
		point := strings.Fields(line)[1]
		if paths.Within(dir, point) {
			return
		}
	}
	t.Skipf("no mount that can be seen from here is above %s: run it where / is one", dir)
}

// FreePort gives a TCP port nobody uses, and that is given to no other test while this process runs.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	Need(t, err)
	return port
}

// ours keeps open what says that a port is ours: an abstract socket of its name, which ends with this process.
var ours struct {
	sync.Mutex
	ports []net.Listener
}

// freePort chooses below the ports that the kernel gives to connections: a server opens it only some time after.
func freePort() (int, error) {
	const first, past = 20000, 32000
	var failed error
	for range 1000 {
		port := first + rand.IntN(past-first)
		own, err := net.Listen("unix", fmt.Sprintf("@plumb-test-port-%d", port))
		if err != nil {
			failed = err
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			failed = errors.Join(err, own.Close())
			continue
		}
		ours.Lock()
		ours.ports = append(ours.ports, own)
		ours.Unlock()
		return port, l.Close()
	}
	return 0, failed
}
