package ledger

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
)

// child is a lab that tests kill. It prints what the ledger has acknowledged,
// a line each.
func child(work string) int {
	ctx := context.Background()
	l, err := Open(ctx, os.Getenv("PLUMB_LEDGER_WHERE"))
	if err == nil {
		fmt.Println("open")
		err = children[work](ctx, l)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// children is what a child can do.
var children = map[string]func(ctx context.Context, l *Ledger) error{
	"open": func(context.Context, *Ledger) error { return nil },
	"lock": func(ctx context.Context, l *Ledger) error {
		_, err := l.Lock(ctx, sample().Hash)
		fmt.Println("locked")
		time.Sleep(time.Minute)
		return err
	},
	"begin": func(ctx context.Context, l *Ledger) error {
		err := l.Begin(ctx, record("t", 1))
		fmt.Println("begun")
		time.Sleep(time.Minute)
		return err
	},
	"put": func(ctx context.Context, l *Ledger) error {
		for {
			data := make([]byte, 1<<20)
			for i := range data {
				data[i] = byte(rand.Uint32())
			}
			sha, err := l.Put(ctx, data)
			if err != nil {
				return err
			}
			fmt.Println(sha)
		}
	},
	"trials": func(ctx context.Context, l *Ledger) error {
		if err := l.Define(ctx, sample(), "v0.5"); err != nil {
			return err
		}
		for i := range 60 {
			r := record(fmt.Sprintf("%s-%d", os.Getenv("PLUMB_LEDGER_NAME"), i), i)
			if err := l.Begin(ctx, r); err != nil {
				return err
			}
			if err := l.Finish(ctx, r); err != nil {
				return err
			}
			fmt.Println(r.ID)
		}
		return nil
	},
}

// lab is a running child.
type lab struct {
	cmd *exec.Cmd
	out *bufio.Reader
	did []string // lines that it waited for
}

func started(t *testing.T, work, where string, change ...func(*exec.Cmd)) *lab {
	t.Helper()
	program, err := os.Executable()
	ok(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "PLUMB_LEDGER_CHILD="+work, "PLUMB_LEDGER_WHERE="+where, fmt.Sprintf("PLUMB_LEDGER_NAME=%d", rand.Uint32()))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	for _, f := range change {
		f(cmd)
	}
	ok(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return &lab{cmd: cmd, out: bufio.NewReader(out)}
}

func (c *lab) says(t *testing.T, want string) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, want) {
		t.Fatalf("the child says %q (%v), want %q", line, err, want)
	}
}

// does waits until it has done something, however busy the machine is.
func (c *lab) does(t *testing.T) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	ok(t, err)
	c.did = append(c.did, strings.TrimSuffix(line, "\n"))
}

// kill ends it at once and gives what it has done.
func (c *lab) kill(t *testing.T) []string {
	t.Helper()
	ok(t, c.cmd.Process.Signal(syscall.SIGKILL))
	rest, err := io.ReadAll(c.out)
	ok(t, err)
	_ = c.cmd.Wait()
	lines := strings.Split(string(rest), "\n")
	return slices.DeleteFunc(append(c.did, lines[:len(lines)-1]...), func(s string) bool { return s == "open" }) // the last may be half
}

func TestKilledLabLeavesItsTrialAndItsLock(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		c := started(t, "begin", where)
		c.says(t, "open")
		c.says(t, "begun")
		c.kill(t)
		records, err := l.Records(ctx, sample().Hash)
		ok(t, err)
		if len(records) != 1 || !records[0].Has(experiment.MarkCut) {
			t.Errorf("%+v", records)
		}

		c = started(t, "lock", where)
		c.says(t, "open")
		c.says(t, "locked")
		_, err = l.Lock(ctx, sample().Hash)
		refused(t, err, "another lab is running it", "")
		c.kill(t)
		deadline := time.Now().Add(time.Minute) // PostgreSQL finds out a moment later
		for {
			unlock, err := l.Lock(ctx, sample().Hash)
			if err == nil {
				ok(t, unlock())
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

func TestKilledWhileItPutsFiles(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, kept := opened(t, where), 0
		for i := range 8 {
			c := started(t, "put", where)
			c.says(t, "open")
			if i == 0 {
				c.does(t)
			}
			time.Sleep(time.Duration(20+rand.IntN(150)) * time.Millisecond)
			for _, sha := range c.kill(t) {
				_, err := l.Get(t.Context(), sha)
				ok(t, err)
				kept++
			}
		}
		if kept == 0 {
			t.Error("no file was ever kept")
		}
		if isPostgres(where) {
			return
		}
		ok(t, filepath.WalkDir(filepath.Join(where, "files"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Base(filepath.Dir(path)) == "new" {
				return err
			}
			_, err = l.Get(t.Context(), e.Name())
			return err
		}))
		age(t, filepath.Join(where, "files/new"))
		opened(t, where)
		left, err := os.ReadDir(filepath.Join(where, "files/new"))
		ok(t, err)
		if len(left) != 0 {
			t.Errorf("%v was left", left)
		}
	})
}

// age makes files look two days old.
func age(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	old := time.Now().Add(-48 * time.Hour)
	for _, e := range entries {
		ok(t, os.Chtimes(filepath.Join(dir, e.Name()), old, old))
	}
}

func TestKilledWhileItWritesTrials(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, acknowledged := opened(t, where), map[string]bool{}
		for i := range 6 {
			a, b := started(t, "trials", where), started(t, "trials", where)
			a.says(t, "open")
			b.says(t, "open")
			if i%2 == 0 {
				a.does(t)
				b.does(t)
			}
			time.Sleep(time.Duration(10+rand.IntN(150)) * time.Millisecond)
			for _, id := range append(a.kill(t), b.kill(t)...) {
				acknowledged[id] = true
			}
		}
		records := recordsOf(t, l)
		for _, r := range records {
			if !r.Has(experiment.MarkCut) {
				delete(acknowledged, r.ID)
			}
		}
		if len(acknowledged) > 0 || len(records) < 6 {
			t.Errorf("of %d records these are lost: %v", len(records), acknowledged)
		}
		sound(t, l, where)
	})
}

func TestTwoLabsWriteAtOnce(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		labs := []*lab{started(t, "trials", where), started(t, "trials", where), started(t, "trials", where)} // the ledger is new to all of them
		for _, c := range labs {
			out, err := io.ReadAll(c.out)
			ok(t, err)
			if n := bytes.Count(out, []byte("\n")); n != 61 || bytes.Contains(out, []byte("error")) {
				t.Errorf("a lab wrote %d trials: %s", n-1, out)
			}
			ok(t, c.cmd.Wait())
		}
		l := opened(t, where)
		if records := recordsOf(t, l); len(records) != 180 {
			t.Errorf("%d records", len(records))
		}
		sound(t, l, where)
	})
}

func TestTwoLabsMakeOneLedger(t *testing.T) {
	for range 150 {
		where, done := t.TempDir(), make(chan error)
		ok(t, os.WriteFile(filepath.Join(where, "ledger.sqlite"), nil, 0o600)) // as far as a killed lab came
		for range 2 {
			go func() {
				l, err := Open(t.Context(), where)
				if err == nil {
					err = l.Close()
				}
				done <- err
			}()
		}
		for range 2 {
			ok(t, <-done)
		}
	}
}

func recordsOf(t *testing.T, l *Ledger) []experiment.Record {
	t.Helper()
	records, err := l.Records(t.Context(), sample().Hash)
	ok(t, err)
	return records
}

// sound lets SQLite look for damage.
func sound(t *testing.T, l *Ledger, where string) {
	t.Helper()
	if isPostgres(where) {
		return
	}
	var says string
	ok(t, l.db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&says))
	if says != "ok" {
		t.Error(says)
	}
}

func TestManyWriteInOneProcess(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		done := make(chan error)
		for n := range 12 { // more than there are sessions
			go func() { done <- many(ctx, l, n) }()
		}
		for range 12 {
			ok(t, <-done)
		}
		if records := recordsOf(t, l); len(records) != 12*10 {
			t.Errorf("%d records", len(records))
		}
		sound(t, l, where)
	})
}

// many writes trials and files, some of which others write at the same moment,
// and is told to stop in the midst of some writes.
func many(ctx context.Context, l *Ledger, n int) error {
	for i := range 10 {
		r := record(fmt.Sprintf("%d-%d", n, i), i)
		if err := l.Begin(ctx, r); err != nil {
			return err
		}
		brief, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(3000))*time.Microsecond)
		_, _ = l.Put(brief, fmt.Append(nil, "cut off", n, i)) // whether it was in time does not matter
		_ = l.Finish(brief, r)
		cancel()
		sha, err := l.Put(ctx, fmt.Append(nil, "all write file ", i))
		if err != nil {
			return err
		}
		if _, err := l.Get(ctx, sha); err != nil {
			return err
		}
		if err := l.Finish(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
