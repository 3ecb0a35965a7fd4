package incident

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/observe"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/internal/view/viewtest"
	"plumb/internal/watch"
	"plumb/internal/watch/capture"
	"plumb/internal/watch/record"
)

// made is a capture of moments that were made, on this very machine, of which it
// reads nothing.
func made(t *testing.T, dir string, most int) (*capturing, *bytes.Buffer) {
	t.Helper()
	cat := hosttest.Windows(t)
	var out bytes.Buffer
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	a := feed.Adapters{Dialers: func(dsn.Given) map[string]host.Dialer { return nil },
		Phases: func(*catalog.Catalog, dsn.Given) [][]observe.Probe { return nil }}
	flags := captureFlags{most: most}
	flags.Timeout = 20 * time.Second
	return &capturing{shell: &shell.Shell{Out: &out, Err: io.Discard}, adapters: a, flags: flags, cat: cat, dir: dir, ctx: ctx, end: end, room: func() error { return nil }}, &out
}

// raised is a moment with a verdict that is not idleness.
func raised(t *testing.T) watch.Moment {
	t.Helper()
	m := viewtest.Moment(40)
	if len(m.Verdicts) == 0 {
		t.Fatal("the made moment has no verdict")
	}
	return m
}

func TestCapture(t *testing.T) {
	dir := t.TempDir()
	k, out := made(t, dir, 1)
	m := raised(t)
	k.Picture(m.At.Add(-time.Minute), &stack.Stack{TakenAt: m.At})
	want := series.Batch{Source: "block", Every: time.Second, At: m.At.Add(-time.Second), Readings: []series.Reading{{Of: stack.Ref{Kind: "block", Name: "sda"}, Name: "reads", Value: 7}}}
	k.Batch(want)
	k.Moment(m)
	if k.failed != nil || k.ctx.Err() == nil {
		t.Fatalf("it failed with %v, or did not end", k.failed)
	}
	made, err := os.ReadDir(dir)
	if err != nil || len(made) != 1 || !strings.HasPrefix(made[0].Name(), "20") || !strings.Contains(out.String(), made[0].Name()) {
		t.Fatalf("%v %v, and it says %q", made, err, out)
	}
	at := filepath.Join(dir, made[0].Name())
	if st, _ := os.Stat(at); st.Mode().Perm() != 0o700 {
		t.Errorf("mode %s", st.Mode())
	}
	var batches []series.Batch
	err = record.ReadLines(unpacked(t, at, "before.jsonl.gz"), func(i record.Item) error {
		if i.Batch != nil {
			batches = append(batches, *i.Batch)
		}
		return nil
	})
	if err != nil || len(batches) != 1 || batches[0].Readings[0] != want.Readings[0] || !batches[0].At.Equal(want.At) {
		t.Errorf("before: %+v, %v", batches, err)
	}
	if _, err := tape.Read(unpacked(t, at, "host.tape.gz"), "host.tape.gz"); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(at, "moment.json"))
	if err != nil || !json.Valid(text) {
		t.Errorf("moment.json: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(at, "moment.txt")); !strings.Contains(string(text), m.Verdicts[0].ID) {
		t.Errorf("moment.txt: %s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(at, "threads.txt")); !strings.Contains(string(text), "no process of") {
		t.Errorf("threads.txt: %s", text)
	}
}

// A capture that cannot be made says why, and leaves no half of it.
func TestCaptureThatFails(t *testing.T) {
	dir := t.TempDir()
	k, _ := made(t, dir, 1)
	k.flags.DSN = "no data source name"
	k.Moment(raised(t))
	if k.failed == nil || k.ctx.Err() == nil {
		t.Error("nothing failed, or it goes on")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNoCaptureFillsADisk: what is left is for the servers. It waits for the next verdict, and makes nothing.
func TestNoCaptureFillsADisk(t *testing.T) {
	dir := t.TempDir()
	k, _ := made(t, dir, 1)
	var says bytes.Buffer
	k.shell.Err, k.room = &says, func() error { return errors.New("the filesystem is full") }
	m := raised(t)
	k.Moment(m)
	if left, _ := os.ReadDir(dir); len(left) != 0 || k.failed != nil || k.ctx.Err() != nil || says.String() != m.Verdicts[0].ID+" is not captured: the filesystem is full\n" {
		t.Fatalf("left: %v, %v, and it says %q", left, k.failed, &says)
	}
	k.room = func() error { return nil }
	m.At = m.At.Add(capture.Again)
	k.Moment(watch.Moment{At: m.At.Add(-watch.Length)}) // it ends
	k.Moment(m)
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("there is room again, and there is %v, %v", left, k.failed)
	}
}

// TestCapturesOfOneMoment: windows end at the same moment for all who capture, and nobody's capture fails, or is replaced, for that.
func TestCapturesOfOneMoment(t *testing.T) {
	dir, m := t.TempDir(), raised(t)
	for range 3 {
		k, _ := made(t, dir, 1)
		k.Moment(m)
		if k.failed != nil {
			t.Fatal(k.failed)
		}
	}
	made, err := os.ReadDir(dir)
	if err != nil || len(made) != 3 || made[1].Name() != made[0].Name()+"-2" || made[2].Name() != made[0].Name()+"-3" {
		t.Errorf("%v, %v", made, err)
	}
	for _, m := range made {
		if _, err := os.Stat(filepath.Join(dir, m.Name(), "before.jsonl.gz")); err != nil {
			t.Error(err)
		}
	}
}

// TestCapturesGoWhereNobodyPutsALink: what root writes there could go anywhere.
func TestCapturesGoWhereNobodyPutsALink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root refuses such a directory: run it as root")
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(t.TempDir(), "stranger") // to where root alone can write, but who made it says where
	if err := errors.Join(os.Symlink(t.TempDir(), stranger), os.Lchown(stranger, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, filepath.Join(open, "captures"), link, filepath.Join(link, "captures"), stranger, filepath.Join(stranger, "captures")} {
		if _, err := (captureFlags{dir: dir}).place(); !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), dir) || hint.Of(err) == "" {
			t.Errorf("%s: %v, with the hint %q", dir, err, hint.Of(err))
		}
	}
	if made, err := os.ReadDir(open); err != nil || len(made) > 0 {
		t.Errorf("it is refused, and this was made: %v, %v", made, err)
	}
	own := filepath.Join(t.TempDir(), "more", "captures")
	if got, err := (captureFlags{dir: own}).place(); err != nil || got != own {
		t.Errorf("a directory of root: %s, %v", got, err)
	}
}

// TestUnfinishedCaptures: what a killed run left goes with the next one, and not while another makes one.
func TestUnfinishedCaptures(t *testing.T) {
	dir := t.TempDir()
	k, _ := made(t, dir, 1)
	k.Moment(raised(t))
	whole, err := os.ReadDir(dir)
	if err != nil || len(whole) != 1 {
		t.Fatalf("%v, %v", whole, err)
	}
	killed, other := filepath.Join(dir, unfinished+"123"), filepath.Join(dir, unfinished+"456")
	files, err := os.ReadDir(filepath.Join(dir, whole[0].Name()))
	err = errors.Join(err, os.Mkdir(killed, 0o700), os.Mkdir(other, 0o700), os.WriteFile(filepath.Join(other, "notes"), nil, 0o600))
	for _, f := range files { // all that a capture has
		err = errors.Join(err, os.WriteFile(filepath.Join(killed, f.Name()), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	there := func(name string) bool { _, err := os.Lstat(name); return err == nil }
	busy, err := os.Open(dir)
	if err = errors.Join(err, unix.Flock(int(busy.Fd()), unix.LOCK_SH)); err != nil {
		t.Fatal(err)
	}
	for _, alone := range []bool{false, true} {
		done, err := host.Claim(dir, tidy)
		if err != nil {
			t.Fatal(err)
		}
		if there(killed) == alone || !there(other) || !there(filepath.Join(dir, whole[0].Name(), tapeFile)) {
			t.Errorf("alone %v: what was left is there: %v, a directory of somebody: %v", alone, there(killed), there(other))
		}
		if alone { // the next one sees that this one is at it
			if unix.Flock(int(busy.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				t.Error("nobody can see that it captures")
			}
		}
		done()
		if err := unix.Flock(int(busy.Fd()), unix.LOCK_UN); err != nil {
			t.Fatal(err)
		}
	}
	busy.Close()
}

func unpacked(t *testing.T, dir, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if st, _ := f.Stat(); st.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %s", name, st.Mode())
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
