package point

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mongo/mongotest"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/heir"
)

// lockable is a fake that counts locks as mongod's documentation says that it does: a lock is nobody's,
// and stays when its connection ends. It shows what is sent in which order, and no more.
type lockable struct {
	mu    sync.Mutex
	locks int
	slow  time.Duration // until a lock is granted
	said  []string
}

func (l *lockable) answer(command bson.D) bson.D {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, command[0].Key)
	switch command[0].Key {
	case "currentOp":
		if l.locks > 0 {
			return mongotest.OK(bson.D{{Key: "fsyncLock", Value: true}})
		}
		return mongotest.OK(nil)
	case "fsync":
		l.mu.Unlock()
		time.Sleep(l.slow)
		l.mu.Lock()
		l.locks++
		return mongotest.OK(bson.D{{Key: "lockCount", Value: int64(l.locks)}})
	case "fsyncUnlock":
		if l.locks == 0 {
			return mongotest.Fail(20, "fsyncUnlock called when not locked")
		}
		l.locks--
		return mongotest.OK(bson.D{{Key: "lockCount", Value: int64(l.locks)}})
	}
	return mongotest.Fail(59, "no such command: '"+command[0].Key+"'")
}

func (l *lockable) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locks
}

func doer() *host.LiveDoer {
	return host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mongo": mongo.NewDialer("")}}))
}

func at(address string) host.Target {
	return host.Target{Engine: "mongo", Name: "mongo:" + address, Network: "tcp", Address: address}
}

// This program is also the heir, and the plumb that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "heir" && os.Args[1] != "locker" {
		os.Exit(m.Run())
	}
	d := doer()
	if os.Args[1] == "heir" {
		acted, err := heir.Serve(context.Background(), d, os.Stdin, os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		if acted {
			os.Exit(heir.Acted)
		}
		return
	}
	if _, _, err := lock(context.Background(), d, at(os.Args[2])); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	fmt.Println("locked")
	time.Sleep(time.Minute)
}

// lock does what protect does: somebody is ready first.
func lock(ctx context.Context, d *host.LiveDoer, t host.Target) (protect.Armed, protect.Quiet, error) {
	modes, err := New("").Modes(ctx, d, t, nil, protect.Server{}, protect.Set{})
	if err != nil {
		return nil, nil, err
	}
	armed, err := heir.Heir{Argv: []string{os.Args[0], "heir"}}.Arm(ctx, d, t, modes[1].Will, 20*time.Second)
	if err != nil {
		return nil, nil, err
	}
	h, err := d.Hold(ctx, t)
	if err != nil {
		return armed, nil, err
	}
	q, err := New("").Quiesce(ctx, h, modes[1], 10*time.Second)
	return armed, q, err
}

// TestLockIsGivenBack: in order, and by another when this process is killed.
func TestLockIsGivenBack(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &lockable{}
	target := at(mongotest.Serve(t, l.answer))
	d := doer()
	defer d.Close()
	modes, _ := New("").Modes(t.Context(), d, target, nil, protect.Server{}, protect.Set{})
	armed, err := heir.Heir{Argv: []string{self, "heir"}}.Arm(t.Context(), d, target, modes[1].Will, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.Hold(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	q, err := New("").Quiesce(t.Context(), h, modes[1], 10*time.Second)
	if err != nil || l.held() != 1 {
		t.Fatal(err, l.held())
	}
	if _, err := New("").Quiesce(t.Context(), h, modes[1], 10*time.Second); !errors.Is(err, protect.ErrUntouched) || l.held() != 1 {
		t.Errorf("a second lock: %v, %d", err, l.held())
	}
	if _, err := q.Position(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Whole(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := q.Release(t.Context()); err != nil || l.held() != 0 {
		t.Errorf("release: %v, %d", err, l.held())
	}
	if err := armed.End(t.Context(), true); err != nil {
		t.Error(err)
	}
	if n := strings.Count(strings.Join(l.said, " "), "fsyncUnlock"); n != 1 {
		t.Errorf("it was unlocked %d times: %q", n, l.said)
	}
}

// TestKilledLocker kills the process that holds the lock, and one that still waits for it.
func TestKilledLocker(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		l := &lockable{}
		if i%2 == 1 {
			l.slow = time.Second
		}
		address := mongotest.Serve(t, l.answer)
		c := exec.Command(self, "locker", address)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if l.slow == 0 {
			if line, _ := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
				t.Fatalf("%q", line)
			}
		} else {
			l.waitFor(t, "fsync", 30*time.Second)
		}
		if err := syscall.Kill(c.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_ = c.Wait()
		l.waitFor(t, "fsyncUnlock", 30*time.Second)
		for l.slow > 0 && time.Since(began) < l.slow+100*time.Millisecond || l.held() > 0 {
			if time.Since(began) > 30*time.Second {
				t.Fatalf("it stays locked: %d, %q", l.held(), l.said)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("free %s after the kill; a lock took %s", time.Since(began), l.slow)
	}
}

func (l *lockable) waitFor(t *testing.T, command string, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		said := strings.Join(l.said, " ")
		l.mu.Unlock()
		if strings.Contains(" "+said+" ", " "+command+" ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no %s: %s", command, said)
		}
	}
}

// TestHeirWithoutServer: nobody is there who could give back, and that is said before anything is taken.
func TestHeirWithoutServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := doer()
	defer d.Close()
	armed, err := heir.Heir{Argv: []string{self, "heir"}}.Arm(t.Context(), d, at("127.0.0.1:1"), []string{fsyncUnlock}, time.Second)
	if err == nil || armed != nil {
		t.Errorf("%v, %v", armed, err)
	}
}
