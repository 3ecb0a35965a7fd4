package moves

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// TestMovesFiveGigabytes moves 5 GB while they are written to: no acknowledged commit is lost, and the server stands
// still for no longer than three times what it takes to write the files that changed, and 10 s. PLUMB_MOVE_MB makes
// it another size.
func TestMovesFiveGigabytes(t *testing.T) {
	sandbox.NeedTime(t, "fills 5 GB and moves them: PLUMB_REAL=1 go test ./test/moves -run FiveGigabytes")
	megabytes := 5 << 10
	if text := os.Getenv("PLUMB_MOVE_MB"); text != "" {
		var err error
		megabytes, err = strconv.Atoi(text)
		must(t, err)
	}
	b := newBench(t, mariaDB, "innodb_doublewrite=0\ninnodb_flush_log_at_trx_commit=1")
	b.to("ext4", megabytes*3/2+2048)
	b.fill(megabytes)
	built := program.ForTest(t)
	plumb := func(args ...string) string {
		out, err := exec.Command(built.Path, append([]string{"load"}, args...)...).CombinedOutput()
		if err != nil {
			t.Logf("plumb load %v: %v", args, err)
		}
		return string(out)
	}
	at := []string{"--dsn", "root@unix(" + b.server.Socket + ")/sbtest"}
	tables := append([]string{"--tables=4", "--table-size=20000"}, at...)
	t.Log(plumb(append([]string{"oltp", "write_only", "prepare"}, tables...)...))
	book := filepath.Join(t.TempDir(), "run.ledger")
	load := exec.Command(built.Path, append([]string{"load", "oltp", "write_only", "run", "--time=900", "--threads=2", "--ledger", book}, tables...)...)
	var said bytes.Buffer
	load.Stdout, load.Stderr = &said, &said
	must(t, load.Start())
	w := b.write(1)
	rate := b.diskRate()
	began := time.Now()
	down, again := b.timed()
	took := time.Since(began)
	_ = load.Process.Signal(os.Interrupt)
	_ = load.Wait()
	w.stop()
	limit := time.Duration(3*float64(again)/rate*float64(time.Second)) + 10*time.Second
	size := sh(t, `du -sb "$1" | cut -f 1`, b.server.Dir)
	t.Logf("moved %s bytes in %v; down %v, limit %v: %d bytes were copied again, and the disk writes %.0f MB/s; longest time without a commit %v",
		size, took.Round(time.Millisecond), down.Round(time.Millisecond), limit.Round(time.Millisecond), again, rate/1e6, w.down.Round(time.Millisecond))
	if down > limit {
		t.Errorf("it was down for %v, and may be for %v", down, limit)
	}
	w.mustKeep(t, "moved")
	out := plumb(append([]string{"verify", "--ledger", book}, at...)...)
	t.Logf("%s\n%s", tail(said.String()), out)
	if !strings.Contains(out, "No acknowledged commit is lost") {
		t.Error("the load's ledger does not hold")
	}
	must(t, b.run().Executor.Undo(t.Context(), []int{b.last().Number}, change.UndoOptions{}))
	w.mustKeep(t, "back")
}

func tail(text string) string { return text[max(0, len(text)-600):] }

// fill makes tables that nobody writes to while they are moved.
func (b *bench) fill(megabytes int) {
	b.t.Helper()
	must(b.t, b.server.Exec("CREATE DATABASE sbtest", "SET GLOBAL innodb_flush_log_at_trx_commit=0"))
	const each = 256
	for i := range (megabytes + each - 1) / each {
		must(b.t, b.server.Exec(fmt.Sprintf("CREATE TABLE sbtest.fill%d (id INT PRIMARY KEY, pad LONGBLOB)", i),
			fmt.Sprintf("INSERT INTO sbtest.fill%d SELECT seq, REPEAT(RANDOM_BYTES(1000), 1000) FROM sbtest.seq_1_to_%d", i, each)))
	}
	must(b.t, b.server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit=1"))
}

// diskRate is how many bytes a second are written to the disk of both places.
func (b *bench) diskRate() float64 {
	b.t.Helper()
	slowest := 0.0
	for _, dir := range []string{b.box.Dir, b.volumes[0].Aside} {
		file := filepath.Join(filepath.Dir(dir), "rate")
		if dir == b.volumes[0].Aside {
			file = filepath.Join(dir, "rate")
		}
		began := time.Now()
		sh(b.t, `dd if=/dev/zero of="$1" bs=1M count=512 oflag=direct conv=fsync status=none; rm "$1"`, file)
		if rate := float64(512<<20) / time.Since(began).Seconds(); slowest == 0 || rate < slowest {
			slowest = rate
		}
	}
	return slowest
}

// timed moves it, and gives how long the server was down and how much was copied meanwhile.
func (b *bench) timed() (down time.Duration, again int64) {
	b.t.Helper()
	m, err := b.plan()
	must(b.t, err)
	r := b.run()
	var began time.Time
	r.Doing = func(_ string, a change.Act, done bool) {
		b.t.Logf("%s %s, done %v", time.Now().Format("04:05.000"), a.Place(), done)
		if a.Switch == nil {
			return
		}
		if began.IsZero() {
			began = time.Now()
		}
		down = time.Since(began)
	}
	_, err = r.Stage(b.t.Context(), provision.Stage{Name: "move", Proof: m.Proof, Steps: []change.Prepared{provision.Step(stack.Ref{Kind: b.engine.Kind(), Name: "test"}, "move", m.Acts)}})
	must(b.t, err)
	for _, p := range b.last().Acts {
		if p.Act.Move != nil && p.Act.Move.Phase == change.MoveAside {
			again, err = strconv.ParseInt(p.Kept, 10, 64)
			must(b.t, err)
		}
	}
	return down, again
}
