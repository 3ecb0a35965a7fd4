package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// filesystem makes a small ext4 of its own.
func filesystem(t *testing.T, megabytes int) string {
	t.Helper()
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	at, err := box.Filesystem("recorded", "ext4", megabytes, []string{"-q", "-m", "0"}, "")
	sandbox.Need(t, err)
	for _, dir := range []string{filepath.Dir(at), at} { // which are the servers' user's: below those nothing is recorded
		must0(t, os.Chown(dir, os.Geteuid(), os.Getegid()))
	}
	return at
}

// A filesystem that is frozen hangs whoever writes. Sampling goes on, and what
// waited is written when it thaws.
func TestFrozenFilesystemNeverStopsSampling(t *testing.T) {
	at := filesystem(t, 64)
	w := opened(t, Options{Dir: filepath.Join(at, "watch")})
	m := newMaker(8, 10)
	want := feed(w, m, 2)
	thaw := func() { _ = exec.Command("fsfreeze", "-u", at).Run() }
	defer thaw()
	frozen := make(chan error, 1)
	go func() { frozen <- exec.Command("fsfreeze", "-f", at).Run() }()
	select {
	case err := <-frozen:
		if err != nil {
			t.Skipf("fsfreeze does not work here: %v", err)
		}
	case <-time.After(time.Minute): // seen once on a machine with a load of 40; nothing but a thaw ends it
		t.Skip("the kernel did not freeze a small filesystem within a minute: run it where disks are not that busy")
	}
	slowest := time.Duration(0)
	for range 5 * 60 {
		start := time.Now()
		for _, b := range m.second() {
			w.Batch(b)
			want = append(want, Item{})
		}
		slowest = max(slowest, time.Since(start))
		for len(w.jobs) > mostWaiting/2 { // the encoder must not be lost in the crowd
			time.Sleep(time.Millisecond)
		}
	}
	if slowest > 5*time.Second {
		t.Errorf("a second of batches took %s to hand over", slowest)
	}
	late := time.Now().Add(time.Minute) // on a busy machine the encoder has yet to hand something over
	for w.queue.waiting() == 0 && time.Now().Before(late) {
		time.Sleep(time.Millisecond)
	}
	if w.queue.waiting() == 0 {
		t.Error("nothing waits: the filesystem was not frozen for the writer")
	}
	thaw()
	closed(t, w)
	if got := read(t, filepath.Join(at, "watch"), ever, later); len(got) != len(want) {
		t.Errorf("%d of %d are there", len(got), len(want))
	}
}

// A filesystem that others fill is left alone below 5 %, and used again above.
func TestFilesystemThatOthersFillIsLeftAlone(t *testing.T) {
	at := filesystem(t, 64)
	said := make(chan string, 100)
	w := opened(t, Options{Dir: filepath.Join(at, "watch"), again: 10 * time.Millisecond, Say: func(s string) { said <- s }, Room: func() (int64, int64, error) { return room(at) }})
	m := newMaker(8, 10)
	want := feed(w, m, 1)
	stuffing := filepath.Join(at, "stuffing")
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+stuffing, "bs=1M").CombinedOutput(); err == nil {
		t.Fatalf("the filesystem does not fill: %s", out)
	}
	want = append(want, feed(w, m, 2)...)
	if got := next(t, said); !strings.Contains(got, "recording stopped") {
		t.Errorf("it says %q", got)
	}
	if err := Roomy(at); err == nil || !strings.Contains(err.Error(), "nothing is written below 5 %") {
		t.Errorf("who asks whether there is room is told %v", err)
	}
	if err := os.Remove(stuffing); err != nil {
		t.Fatal(err)
	}
	if err := Roomy(at); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if got := next(t, said); got != "recording continues" {
		t.Errorf("it says %q", got)
	}
	closed(t, w)
	if got := read(t, filepath.Join(at, "watch"), ever, later); len(got) != len(want) {
		t.Errorf("%d of %d are there", len(got), len(want))
	}
}

func next(t *testing.T, said chan string) string {
	t.Helper()
	select {
	case text := <-said:
		return text
	case <-time.After(time.Minute):
		t.Fatal("it says nothing")
		return ""
	}
}
