package ledger

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/test/sandbox"
)

func TestDamagedFileIsNoticedAndMended(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		sha, err := l.Put(ctx, []byte("what the server said"))
		ok(t, err)
		if isPostgres(where) {
			admin(t, where, `UPDATE plumb_lab.file SET bytes = 'other'`)
		} else {
			ok(t, os.WriteFile(filepath.Join(where, "files", sha[:2], sha[2:4], sha), []byte("what the server s"), 0o600))
		}
		_, err = l.Get(ctx, sha)
		refused(t, err, sha, "backup")
		if !errors.Is(err, errDamaged) {
			t.Error(err)
		}
		again, err := l.Put(ctx, []byte("what the server said"))
		ok(t, err)
		got, err := l.Get(ctx, again)
		ok(t, err)
		if string(got) != "what the server said" {
			t.Errorf("%q", got)
		}
	})
}

func TestNewerLedgerIsRefused(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l := opened(t, where)
		_, err := l.db.ExecContext(t.Context(), `UPDATE ledger SET version = 7`)
		ok(t, err)
		for _, open := range []func() (*Ledger, error){
			func() (*Ledger, error) { return Open(t.Context(), where) },
			func() (*Ledger, error) { return OpenExisting(t.Context(), where) },
		} {
			_, err = open()
			refused(t, err, "it has a layout of version 7, and this plumb knows versions up to 1", "newer plumb")
		}
	})
}

func TestOlderLedgerIsMigrated(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		ok(t, l.Begin(ctx, record("t", 1)))
		steps := append(l.dialect.steps(), []string{`ALTER TABLE trial ADD COLUMN machine TEXT`, `CREATE TABLE nonsense (`})
		if err := migrate(ctx, l.db, l.dialect, steps, true); err == nil {
			t.Fatal("nonsense was taken")
		}
		if n, err := version(ctx, l.db, l.dialect); err != nil || n != 1 {
			t.Fatalf("version %d, %v", n, err)
		}
		steps[1] = steps[1][:1]
		done := make(chan error)
		for range 4 { // all at once
			go func() { done <- migrate(ctx, l.db, l.dialect, steps, true) }()
		}
		for range 4 {
			ok(t, <-done)
		}
		var machine *string
		ok(t, l.db.QueryRowContext(ctx, `SELECT machine FROM trial`).Scan(&machine))
		if n, err := version(ctx, l.db, l.dialect); err != nil || n != 2 {
			t.Errorf("version %d, %v", n, err)
		}
	})
}

func TestPlaceThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	ok(t, os.WriteFile(file, []byte("x"), 0o644))
	for _, where := range []string{file, filepath.Join(file, "below")} {
		_, err := Open(t.Context(), where)
		refused(t, err, "not a directory", "")
	}
	other := filepath.Join(dir, "other")
	ok(t, os.Mkdir(other, 0o755))
	ok(t, os.WriteFile(filepath.Join(other, "ledger.sqlite"), []byte(strings.Repeat("no database\n", 100)), 0o644))
	_, err := Open(t.Context(), other)
	refused(t, err, "not a database", "damaged or not a ledger")
	ok(t, os.Remove(filepath.Join(other, "ledger.sqlite")))
	ok(t, os.Mkdir(filepath.Join(other, "ledger.sqlite"), 0o755))
	_, err = Open(t.Context(), other)
	refused(t, err, "unable to open database file", "")
}

// asNobody runs the child as a user without rights.
func asNobody(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	// The test binary is where only root may look.
	program, err := os.Executable()
	ok(t, err)
	data, err := os.ReadFile(program)
	ok(t, err)
	dir, err := os.MkdirTemp("", "plumb-ledger-")
	ok(t, err)
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	ok(t, os.Chmod(dir, 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, "child"), data, 0o755))
	return func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = filepath.Join(dir, "child"), dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

func TestWithoutRights(t *testing.T) {
	nobody := asNobody(t)
	dir, err := os.MkdirTemp("", "plumb-ledger-")
	ok(t, err)
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	ok(t, os.Chmod(dir, 0o755))
	c := started(t, "open", filepath.Join(dir, "ledger"), nobody)
	c.says(t, "error open the ledger "+dir+"/ledger: mkdir "+dir+"/ledger: permission denied")

	opened(t, filepath.Join(dir, "ledger"))
	c = started(t, "open", filepath.Join(dir, "ledger"), nobody)
	c.says(t, "error open the ledger "+dir+"/ledger: stat "+dir+"/ledger/ledger.sqlite: permission denied")

	ok(t, os.Chmod(filepath.Join(dir, "ledger"), 0o755)) // it may be seen, but not be written
	ok(t, os.Chmod(filepath.Join(dir, "ledger/ledger.sqlite"), 0o644))
	c = started(t, "open", filepath.Join(dir, "ledger"), nobody)
	line, _ := c.out.ReadString('\n')
	t.Log(line)
	if !strings.HasPrefix(line, "error") {
		t.Error("a ledger that may only be read was opened")
	}
}

func TestFullDisk(t *testing.T) {
	b, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() { ok(t, b.Close()) })
	disk, err := b.Filesystem("small", "ext4", 16, nil, "")
	sandbox.Need(t, err)
	where := filepath.Join(disk, "ledger")
	l, err := Open(t.Context(), where)
	ok(t, err)
	defer func() { ok(t, l.Close()) }()
	ctx := t.Context()
	ok(t, l.Define(ctx, sample(), "v0.5"))
	spare := filepath.Join(disk, "spare")
	ok(t, os.WriteFile(spare, make([]byte, 2<<20), 0o600))

	var kept []string
	for i := 0; err == nil && i < 100; i++ {
		var sha string
		data := make([]byte, 512<<10)
		copy(data, fmt.Sprint(i))
		if sha, err = l.Put(ctx, data); err == nil {
			kept = append(kept, sha)
		}
	}
	refused(t, err, "no space left on device", "make room")
	t.Logf("%d files, then %v", len(kept), err)
	written := fill(t, l, "a")
	if err := os.Remove(spare); err != nil { // somebody makes room
		t.Fatal(err)
	}
	r := record("after", 1)
	ok(t, l.Begin(ctx, r))
	ok(t, l.Finish(ctx, r))
	for _, sha := range kept {
		_, err := l.Get(ctx, sha)
		ok(t, err)
	}
	finished := 0
	for _, r := range recordsOf(t, l) {
		if !r.Has(experiment.MarkCut) {
			finished++
		}
	}
	if finished < written+1 { // the one that failed may or may not be there
		t.Errorf("%d finished trials, %d were acknowledged", finished, written+1)
	}
	sound(t, l, where)
	refusedToOpenOnFull(t, disk)
}

// fill writes trials until the disk is full, and gives how many were acknowledged.
func fill(t *testing.T, l *Ledger, name string) (n int) {
	t.Helper()
	for ; n < 5000; n++ {
		r := record(fmt.Sprintf("%s%d", name, n), n)
		r.Effective["padding"] = strings.Repeat("x", 20000)
		err := l.Begin(t.Context(), r)
		if err == nil {
			err = l.Finish(t.Context(), r)
		}
		if err != nil {
			refused(t, err, "disk is full", "make room")
			t.Logf("%d trials, then %v", n, err)
			return n
		}
	}
	t.Fatal("the disk does not get full")
	return n
}

// refusedToOpenOnFull wants that no half ledger is left where there is no room for one.
func refusedToOpenOnFull(t *testing.T, disk string) {
	t.Helper()
	where := filepath.Join(disk, "second")
	ok(t, os.Mkdir(where, 0o700))
	f, err := os.Create(filepath.Join(disk, "filler"))
	ok(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	_, err = Open(t.Context(), where)
	refused(t, err, "open the ledger "+where, "make room")
	t.Log(err)
	ok(t, os.Remove(filepath.Join(disk, "filler")))
	l, err := Open(t.Context(), where)
	ok(t, err)
	ok(t, l.Define(t.Context(), sample(), "v0.5"))
	ok(t, l.Close())
}
