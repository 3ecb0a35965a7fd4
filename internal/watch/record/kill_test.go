package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// A child process records what a maker makes until it is killed, and says after
// each second how far it is.
const (
	childDir   = "PLUMB_TEST_RECORD_DIR"
	childPause = "PLUMB_TEST_RECORD_PAUSE"
	childStart = "PLUMB_TEST_RECORD_START"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := recordUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func recordUntilKilled(dir string) error {
	pause, err := time.ParseDuration(os.Getenv(childPause))
	if err != nil {
		return err
	}
	start, err := strconv.ParseInt(os.Getenv(childStart), 10, 64)
	if err != nil {
		return err
	}
	m := newMaker(9, 20)
	m.at = time.Unix(start, 0).UTC()
	w, err := Open(context.Background(), Options{Dir: dir, Now: func() time.Time { return m.at }})
	if err != nil {
		return err
	}
	for next := time.Now(); ; next = next.Add(pause) {
		time.Sleep(time.Until(next))
		for _, b := range m.second() {
			w.Batch(b)
		}
		for pause < time.Second && len(w.jobs)+w.queue.waiting() > 1 { // faster than time, it must not lose what waits
			time.Sleep(time.Millisecond)
		}
		fmt.Println(m.at.Unix())
	}
}

// killed runs a child, kills it some time after it said so many seconds, and
// gives the second that it had last handed to its writer.
func killed(t *testing.T, dir string, start time.Time, pause time.Duration, said int, after time.Duration) (handed time.Time) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childDir+"="+dir, childPause+"="+pause.String(), childStart+"="+strconv.FormatInt(start.Unix(), 10))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		if last = lines.Text(); n == said {
			defer time.AfterFunc(after, func() { _ = c.Process.Kill() }).Stop()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = c.Wait() // it was killed
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		t.Fatalf("the child said %q", last)
	}
	return time.Unix(n, 0).UTC()
}

// sound checks that what is read is exactly the beginning of what was handed
// over, and gives until when it goes.
func sound(t *testing.T, dir string, start time.Time) (until time.Time) {
	t.Helper()
	m := newMaker(9, 20)
	m.at = start.UTC()
	items := read(t, dir, ever, later)
	for len(items) > 0 {
		for _, b := range m.second() {
			if len(items) == 0 {
				t.Fatal("a second was torn apart")
			}
			if d := differs(&b, items[0].Batch); d != "" {
				t.Fatalf("%.1000s", d)
			}
			items, until = items[1:], m.at
		}
	}
	return until
}

func TestKilledWriterLeavesASoundRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	start := sunday
	// A second every millisecond: it is often writing when it is killed.
	for i := range 3 {
		at := filepath.Join(dir, strconv.Itoa(i))
		killed(t, at, start, time.Millisecond, 240+rand.IntN(120), time.Duration(rand.IntN(50))*time.Millisecond)
		if until := sound(t, at, start); until.IsZero() {
			t.Error("nothing was recorded in four minutes")
		}
		w := opened(t, Options{Dir: at, Now: func() time.Time { return start.Add(time.Hour) }}) // and it goes on
		closed(t, w)
	}
}

func TestTwentyKillsLoseAtMostAMinute(t *testing.T) {
	sandbox.NeedTime(t, "it kills twenty recorders in real time, which takes two minutes and which make test-real does")
	dir := filepath.Join(t.TempDir(), "watch")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			at, start := filepath.Join(dir, strconv.Itoa(i)), time.Now().Truncate(time.Second)
			handed := killed(t, at, start, time.Second, 1, time.Duration(rand.Int64N(int64(2*time.Minute)))+5*time.Second)
			lost := handed.Sub(start)
			if until := sound(t, at, start); !until.IsZero() {
				lost = handed.Sub(until)
			}
			t.Logf("kill %d after %s: %s lost", i, handed.Sub(start), lost)
			if lost > time.Minute {
				t.Errorf("kill %d lost %s", i, lost)
			}
		})
	}
	all.Wait()
}
