package moves

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/test/sandbox"
)

// doing tells a process of this test's own what it does until it is killed.
const doing = "PLUMB_MOVES"

// orders are what it is told.
type orders struct {
	Product     string
	Server      *sandbox.Server
	Volumes     []provision.Volume
	Stop, Start []string
	PidFile     string
	Undo        int // the change to undo; 0: move
	Resume      int
}

// TestOrders is the process that is killed.
func TestOrders(t *testing.T) {
	text := os.Getenv(doing)
	if text == "" {
		t.Skip("it is what another test starts and kills")
	}
	var o orders
	must(t, json.Unmarshal([]byte(text), &o))
	b := &bench{t: t, server: o.Server, volumes: o.Volumes, stop: o.Stop, start: o.Start, pidFile: o.PidFile}
	b.open(o.Product)
	must(t, alone(func() error {
		switch {
		case o.Undo > 0:
			return b.run().Executor.Undo(t.Context(), []int{o.Undo}, change.UndoOptions{})
		case o.Resume > 0:
			return b.run().Executor.Resume(t.Context(), o.Resume)
		}
		_, err := b.moved()
		return err
	}))
}

// alone does something once no command runs any more that a killed process has left: until then it is refused.
func alone(do func() error) (err error) {
	for left := true; left; {
		err = do()
		_, left = errors.AsType[host.LeftRunning](err)
	}
	return err
}

// child does something in a process of its own, and kills it after a time; 0: never.
func (b *bench) child(product string, undo, resume int, after time.Duration) (took time.Duration, killed bool) {
	b.t.Helper()
	text, err := json.Marshal(orders{product, b.server, b.volumes, b.stop, b.start, b.pidFile, undo, resume})
	must(b.t, err)
	c := exec.Command(os.Args[0], "-test.run=^TestOrders$", "-test.v")
	c.Env = append(os.Environ(), doing+"="+string(text))
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	must(b.t, c.Start())
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = c.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	err = c.Wait()
	ended, _ := errors.AsType[*exec.ExitError](err)
	killed = ended != nil && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		b.t.Fatalf("undo %d, resume %d: %v: %s", undo, resume, err, out.String())
	}
	return time.Since(began), killed
}

// TestKilledAtRandom kills a move, and the undo of one, at random moments, while rows are committed. Whatever is
// then done (nothing but a start, going on, or an undo), one server runs, with every row that was acknowledged.
func TestKilledAtRandom(t *testing.T) {
	sandbox.NeedTime(t, "kills moves and undos of real servers a hundred times: PLUMB_REAL=1 go test ./test/moves -run Killed")
	rounds := 10
	if sandbox.Full() {
		rounds = 50
	}
	for _, product := range []string{mariaDB, pg} {
		t.Run(product, func(t *testing.T) {
			b := newBench(t, product, "")
			b.to("ext4", 700)
			w := b.write(2)
			took, _ := b.child(product, 0, 0, 0)
			back, _ := b.child(product, b.last().Number, 0, 0)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d; undisturbed: %v, and %v back", seed, took, back)
			random := rand.New(rand.NewPCG(seed, 0))
			for i := range rounds {
				b.round(product, i, random, took, back)
				w.mustKeep(t, fmt.Sprintf("round %d", i))
			}
		})
	}
}

// last gives the newest change.
func (b *bench) last() *change.Change {
	b.t.Helper()
	all, err := b.run().Executor.Changes(b.t.Context())
	must(b.t, err)
	if len(all) == 0 {
		return &change.Change{}
	}
	return all[len(all)-1]
}

func (b *bench) round(product string, i int, random *rand.Rand, took, back time.Duration) {
	t := b.t
	t.Helper()
	kill := func(of time.Duration) time.Duration { return time.Duration(float64(of) * (0.1 + 0.9*random.Float64())) }
	before := b.last().Number
	after := kill(took)
	_, killed := b.child(product, 0, 0, after)
	c := b.last()
	what := fmt.Sprintf("round %d: killed %v after %v", i, killed, after.Round(time.Millisecond))
	started := b.startedByHand()
	switch {
	case c.Number == before:
		what += ", before anything was begun"
	case c.Open() && random.IntN(2) == 0 && (started || b.runs() == 0):
		what += ", gone on"
		if b.runs() > 0 {
			must(t, exec.Command(b.stop[0], b.stop[1:]...).Run())
		}
		b.child(product, 0, c.Number, 0)
	}
	if c = b.last(); c.Number != before && c.Open() {
		after = kill(back)
		_, killed = b.child(product, c.Number, 0, after)
		what += fmt.Sprintf("; undo killed %v after %v", killed, after.Round(time.Millisecond))
		if b.startedByHand() && b.last().Open() && moving(b.last()) {
			must(t, exec.Command(b.stop[0], b.stop[1:]...).Run())
		}
		b.child(product, c.Number, 0, 0)
	}
	if n := b.runs(); n != 1 {
		b.startedByHand()
		if n = b.runs(); n != 1 {
			t.Fatalf("%s: %d servers run", what, n)
		}
	}
	if left := strings.Fields(sh(t, `ls -d "$1".before-* 2>/dev/null || :`, b.server.Dir)); len(left) > 0 {
		t.Fatalf("%s: undone, %v is left", what, left)
	}
	t.Log(what)
}

// moving tells whether a change that is being undone has still to swap.
func moving(c *change.Change) bool {
	return slices.ContainsFunc(c.Acts, func(p change.Recorded) bool {
		return p.Act.Move != nil && p.Act.Move.Phase == change.MoveAside && p.State != change.Undone
	})
}

// startedByHand starts the server as its commands do, where none runs, and tells whether one runs then: it may not
// where its directory is between two places.
func (b *bench) startedByHand() bool {
	b.t.Helper()
	if b.runs() > 0 {
		return true
	}
	must(b.t, exec.Command(b.start[0], b.start[1:]...).Run())
	seen := time.Now() // it takes a moment until the process is the server's
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		db, err := b.server.Open()
		must(b.t, err)
		err = db.Ping()
		db.Close()
		if err == nil {
			return true
		}
		if b.runs() > 0 {
			seen = time.Now()
		} else if time.Since(seen) > 3*time.Second {
			return false
		}
	}
	return b.runs() > 0
}

// runs counts the servers of the bench.
func (b *bench) runs() (n int) {
	b.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(b.t, err)
	for _, file := range all {
		text, err := os.ReadFile(file)
		words := strings.Split(string(text), "\x00")
		if err != nil || len(words) < 2 || !strings.Contains(string(text), filepath.Dir(b.server.Dir)) {
			continue
		}
		base := filepath.Base(words[0])
		if base == "mariadbd" || base == "mysqld" || base == "postgres" && words[1] == "-D" {
			if st, err := os.ReadFile(filepath.Dir(file) + "/status"); err == nil && !strings.Contains(string(st), "State:\tZ") {
				n++
			}
		}
	}
	return n
}
