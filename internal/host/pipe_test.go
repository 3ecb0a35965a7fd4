package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pipe runs a script, or the test fails: none takes this long, and those that hang take longer.
func pipe(t *testing.T, script string, p Pipe) (Flow, error) {
	t.Helper()
	p.Argv = []string{"sh", "-c", script}
	began := time.Now()
	f, err := doer(t).Pipe(t.Context(), p)
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("%q took %v", script, took)
	}
	return f, err
}

// endless gives as much as anybody takes.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// failing reads or writes so many bytes, waits if it is told to, and then fails.
type failing struct {
	left  int
	err   error
	after <-chan struct{}
}

func (f *failing) move(p []byte) (int, error) {
	n := min(len(p), f.left)
	if f.left -= n; n == 0 {
		if f.after != nil {
			<-f.after
		}
		return 0, f.err
	}
	return n, nil
}

func (f *failing) Read(p []byte) (int, error) { return f.move(p) }

func (f *failing) Write(p []byte) (int, error) {
	n, err := f.move(p)
	if n < len(p) {
		err = f.err
	}
	return n, err
}

// breaks gives a script a stream that breaks once the script has said something: then it has begun.
func breaks(left int, err error) Pipe {
	said := make(chan struct{})
	return Pipe{In: &failing{left, err, said}, Out: calling(sync.OnceFunc(func() { close(said) }))}
}

// slow takes its time for each piece.
type slow struct {
	bytes.Buffer
	each time.Duration
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(s.each)
	return s.Buffer.Write(p)
}

func TestPipeGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	data := make([]byte, 5<<20+7)
	rand.Read(data)
	var out bytes.Buffer
	f, err := pipe(t, "cat", Pipe{In: bytes.NewReader(data), Out: &out})
	if err != nil || f != (Flow{In: 5<<20 + 7, Out: 5<<20 + 7}) || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = pipe(t, "cat; echo $PWD", Pipe{Out: &out}); err != nil || f.Out != 2 {
		t.Errorf("without input: %+v, %v", f, err)
	}
	// What stands in the pipe when the command has ended is waited for, however slow its taker.
	s := &slow{each: restTime * 2 / 3}
	if f, err = pipe(t, "head -c 200000 /dev/zero", Pipe{Out: s}); err != nil || f.Out != 200000 || s.Len() != 200000 {
		t.Errorf("a slow taker: %+v, %d, %v", f, s.Len(), err)
	}
}

// However the streams end, it is told how the command ended.
func TestPipeNeverLosesHowItEnded(t *testing.T) {
	t.Parallel()
	broken := errors.New("the stream broke")
	for name, c := range map[string]struct {
		script string
		p      Pipe
		code   int
		out    int64
		err    string
		unread bool
	}{
		"after the last byte":   {script: "cat; exit 3", p: Pipe{In: strings.NewReader("x")}, code: 3, out: 1, err: "exit status 3"},
		"long after":            {script: "exec >&-; sleep 1; exit 3", code: 3, err: "exit status 3"},
		"in the middle":         {script: "head -c 300000 /dev/zero; kill -9 $$", code: -1, out: 300000, err: "signal: killed"},
		"takes a part":          {script: "head -c 10", p: Pipe{In: endless{}}, out: 10, unread: true},
		"takes a part and ends": {script: "head -c 10; exit 4", p: Pipe{In: endless{}}, code: 4, out: 10, unread: true, err: "exit status 4"},
		"fails to take":         {script: "exec cat", p: Pipe{In: &failing{100_000, broken, nil}}, code: -1, out: -1, unread: true, err: "read what it is given: the stream broke; signal: terminated"},
		"fails to give":         {script: "exec cat /dev/zero", p: Pipe{Out: &failing{0, broken, nil}}, code: -1, out: pipeChunk, err: "write what it gives: the stream broke; signal: terminated"},
		"ends all the same":     {script: "trap 'exit 5' TERM; echo; while :; do sleep 0.01; done", p: breaks(0, broken), code: 5, out: 1, unread: true, err: "the stream broke; exit status 5"},
		"ends well at that":     {script: "trap 'exit 0' TERM; echo; while :; do sleep 0.01; done", p: breaks(0, broken), out: 1, unread: true, err: "the stream broke"},
	} {
		f, err := pipe(t, c.script, c.p)
		if f.Code != c.code || c.out >= 0 && f.Out != c.out || f.Unread != c.unread || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if strings.Contains(c.err, "stream") && !errors.Is(err, broken) {
			t.Errorf("%s: the error is another: %v", name, err)
		}
	}
}

// A command whose input failed must not take what it has for all there is.
func TestPipeShowsNoEndThatIsNone(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole")
	p := breaks(10, errors.New("broke"))
	p.Grace = 300 * time.Millisecond
	f, err := pipe(t, "trap '' TERM; echo; cat >/dev/null; touch "+whole, p)
	if err == nil || f.Code != -1 || f.In != 10 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := os.Stat(whole); err == nil {
		t.Error("the command saw the end of its input")
	}
}

func TestPipeKeepsTheLastWords(t *testing.T) {
	_, err := pipe(t, "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo password=s3cret the disk is full >&2; exit 1", Pipe{})
	if err == nil || !strings.HasSuffix(err.Error(), "the disk is full") || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 1200 {
		t.Errorf("%.2000v", err)
	}
	if _, err := pipe(t, "echo Permission denied >&2; exit 1", Pipe{}); !errors.Is(err, ErrDenied) {
		t.Errorf("%v", err)
	}
}

// child is the process that a script writes down with echo $! >&3.
func childOf(t *testing.T, file string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(content(t, file)))
	must(t, err)
	return pid
}

// What stands still is ended with all it started, also when it will not hear.
func TestPipeEndsWhatStandsStill(t *testing.T) {
	for name, script := range map[string]string{
		"hangs":            "sleep 1000 & echo $! >FILE; wait",
		"hangs at the end": "echo; exec >&-; sleep 1000 & echo $! >FILE; wait",
		"does not hear":    "trap '' TERM; sleep 1000 & echo $! >FILE; while :; do sleep 0.1; done",
		"chatters":         "sleep 1000 & echo $! >FILE; while :; do echo still here >&2; sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			f, err := pipe(t, strings.ReplaceAll(script, "FILE", file), Pipe{Progress: 3 * time.Second, Grace: 300 * time.Millisecond})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nothing went in or out for 3 s; signal: ") || f.Code != -1 {
				t.Errorf("%+v, %v", f, err)
			}
			died(t, childOf(t, file))
		})
	}
}

func died(t *testing.T, pid int) {
	t.Helper()
	for i := 0; alive(pid); i++ {
		if i == 3000 {
			t.Fatal("the child lives on")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestPipeLetsTheSlowGoOn(t *testing.T) {
	t.Parallel()
	const little = 3 * time.Second
	if f, err := pipe(t, "for i in 1 2 3 4 5 6 7 8 9 10; do echo; sleep 0.4; done", Pipe{Progress: little}); err != nil || f.Out != 10 {
		t.Errorf("one that gives little: %+v, %v", f, err)
	}
	r, w := io.Pipe()
	go func() {
		for range 10 {
			fmt.Fprintln(w)
			time.Sleep(400 * time.Millisecond)
		}
		w.Close()
	}()
	if f, err := pipe(t, "cat >/dev/null", Pipe{In: r, Progress: little}); err != nil || f.In != 10 {
		t.Errorf("one that is given little: %+v, %v", f, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	script := "for i in 1 2 3 4 5 6 7 8 9 10; do echo x >>" + file + "; sleep 0.4; done"
	if _, err := pipe(t, script, Pipe{Progress: little, Works: true}); err != nil || len(content(t, file)) != 20 {
		t.Errorf("one that works for itself: %v", err)
	}
	if _, err := pipe(t, script, Pipe{Progress: little}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one whose work does not count: %v", err)
	}
	if _, err := pipe(t, "sleep 1000", Pipe{Progress: little, Works: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that should work and does not: %v", err)
	}
}

// A taker that hangs is no reason to wait for ever.
func TestPipeDoesNotHangWithItsStreams(t *testing.T) {
	t.Parallel()
	block, w := io.Pipe()
	defer w.Close()
	p := Pipe{Progress: 2 * time.Second, Grace: 100 * time.Millisecond}
	p.Out = w
	if f, err := pipe(t, "echo x", p); !errors.Is(err, context.DeadlineExceeded) || f.Code != 0 {
		t.Errorf("a taker that hangs: %+v, %v", f, err)
	}
	p.Out = nil
	if f, err := pipe(t, "echo x; exec >&-; sleep 30", p); !errors.Is(err, errQuiet) || f.Out != 2 {
		t.Errorf("a command that says it is done and goes on: %+v, %v", f, err)
	}
	p.In, p.Out = block, nil
	if f, err := pipe(t, "exit 0", p); err != nil || !f.Unread {
		t.Errorf("a giver that hangs: %+v, %v", f, err)
	}
	if f, err := pipe(t, "cat", p); !errors.Is(err, context.DeadlineExceeded) || f.Code != -1 {
		t.Errorf("a giver that hangs and is waited for: %+v, %v", f, err)
	}
}

// What a command leaves behind cannot hold the pipe open, nor lose how the
// command ended. What it would still have given is missed, and that is said.
func TestPipeIsNotHeldOpen(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{"in its group": "", "in a session of its own": "setsid "} {
		for what, script := range map[string]string{"quiet": "sleep 30", "without end": "cat /dev/zero"} {
			file := filepath.Join(t.TempDir(), "pid")
			f, err := pipe(t, start+script+" & echo $! >"+file+"; echo; exit 6", Pipe{})
			if err == nil || f.Code != 6 || !errors.Is(err, errHeld) || !strings.HasSuffix(err.Error(), "exit status 6") {
				t.Errorf("%s, %s: %+v, %v", name, what, f, err)
			}
			if start == "" {
				died(t, childOf(t, file))
			} else if p, err := os.FindProcess(childOf(t, file)); err == nil {
				p.Kill()
			}
		}
	}
	// One that holds only the standard error open is no harm.
	if f, err := pipe(t, "sleep 30 >/dev/null & echo", Pipe{}); err != nil || f.Out != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// calling makes a call for all that it takes.
type calling func()

func (c calling) Write(p []byte) (int, error) {
	c()
	return len(p), nil
}

func TestPipeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, err := doer(t).Pipe(ctx, Pipe{Argv: []string{"cat"}, In: endless{}, Out: calling(cancel)})
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "signal: terminated") || f.Out == 0 {
		t.Errorf("%+v, %v", f, err)
	}
	before := &failing{100, io.EOF, nil}
	if f, err := doer(t).Pipe(ctx, Pipe{Argv: []string{"cat"}, In: before}); !errors.Is(err, context.Canceled) || f.Code != -1 || before.left != 100 {
		t.Errorf("begun after its context: %+v, %v", f, err)
	}
}

// Commands are looked up as Run does, and no shell reads their arguments.
func TestPipeChecksItsCommand(t *testing.T) {
	h, in := doer(t), &failing{100, io.EOF, nil}
	others := filepath.Join(t.TempDir(), "others")
	must(t, os.WriteFile(others, []byte("#!/bin/sh\n"), 0o755))
	must(t, os.Chmod(others, 0o777))
	for name, argv := range map[string][]string{"nothing": nil, "relative": {"./sh"}, "missing": {"no-such-program"}, "of others": {others}} {
		f, err := h.Pipe(t.Context(), Pipe{Argv: argv, In: in})
		if want := map[bool]error{true: ErrNoCommand, false: ErrRefused}[name == "missing"]; !errors.Is(err, want) || f.Code != -1 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if in.left != 100 {
		t.Error("what was not begun took something")
	}
	var out bytes.Buffer
	if _, err := h.Pipe(t.Context(), Pipe{Argv: []string{"echo", "$(id); a > b"}, Out: &out}); err != nil || out.String() != "$(id); a > b\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// A copy may take longer than it may stand still.
func TestPipeOfACopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	must(t, syscall.Mkfifo(from, 0o600))
	const pieces = 12
	go func() {
		f, err := os.OpenFile(from, os.O_RDWR, 0) // it stays open: the copy sees no end
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { f.Close() })
		for range pieces {
			time.Sleep(400 * time.Millisecond)
			f.Write(make([]byte, 100<<10))
		}
	}()
	_, err := doer(t).Pipe(t.Context(), Pipe{Argv: []string{"cp", "--copy-contents", "--", from, to}, Progress: 3 * time.Second, Works: true})
	if !errors.Is(err, context.DeadlineExceeded) || len(content(t, to)) < pieces*100<<10-128<<10 {
		t.Errorf("%d bytes, %v", len(content(t, to)), err)
	}
}

// A tree goes, and what a link in it leads to stays.
func TestRemoveTree(t *testing.T) {
	beside := t.TempDir()
	write(t, beside+"/keep", "x")
	dir := t.TempDir() + "/tree"
	for i := range 300 {
		write(t, fmt.Sprintf("%s/%d/file", dir, i), "x")
	}
	must(t, os.Symlink(beside, dir+"/link"))
	must(t, RemoveTree(t.Context(), doer(t), dir))
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || content(t, beside+"/keep") != "x" {
		t.Errorf("the tree: %v", err)
	}
	must(t, RemoveTree(t.Context(), doer(t), dir))
}

// The last that a command said is why it failed, and not only the last few words of that.
func TestPipeSaysHowACommandEnds(t *testing.T) {
	d := NewLiveDoer(NewLive(LiveOptions{}))
	defer d.Close()
	const script = `i=0; while [ $i -lt 2000 ]; do echo "note $i" >&2; i=$((i + 1)); done; echo "cannot open it" >&2; seq 100 >&2; exit 3`
	_, err := d.Pipe(t.Context(), Pipe{Argv: []string{"sh", "-c", script}})
	if text := fmt.Sprint(err); !strings.Contains(text, "exit status 3: …") || !strings.Contains(text, "; cannot open it; 1; 2;") || !strings.HasSuffix(text, "; 100") || strings.Contains(text, "note 1000") {
		t.Errorf("%s", text)
	}
}
