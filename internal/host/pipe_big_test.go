package host_test

import (
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/test/sandbox"
)

// peak is the most memory this process had resident, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	sandbox.Need(t, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	sandbox.Need(t, err)
	return kib << 10
}

// Twenty gigabytes go from one command through us into another and need no
// more memory than a few bytes do.
func TestPipeOfTwentyGigabytes(t *testing.T) {
	sandbox.NeedTime(t, "moves 20 GB: PLUMB_REAL=1 go test ./internal/host -run TwentyGigabytes")
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak is that of the whole process: %v", err)
	}
	const bytes = 20 << 30
	doer := hosttest.LiveDoer(t)
	began, from := time.Now(), peak(t)
	r, w := io.Pipe()
	type ended struct {
		flow host.Flow
		err  error
	}
	first := make(chan ended, 1)
	go func() {
		flow, err := doer.Pipe(t.Context(), host.Pipe{Argv: []string{"head", "-c", "20G", "/dev/zero"}, Out: w})
		w.CloseWithError(err)
		first <- ended{flow, err}
	}()
	var count strings.Builder
	flow, err := doer.Pipe(t.Context(), host.Pipe{Argv: []string{"wc", "-c"}, In: r, Out: &count})
	gave := <-first
	if err != nil || gave.err != nil || gave.flow.Out != bytes || flow.In != bytes || strings.TrimSpace(count.String()) != strconv.Itoa(bytes) {
		t.Fatalf("%+v, %v; %+v, %v; it counted %q", gave.flow, gave.err, flow, err, count.String())
	}
	most := peak(t)
	t.Logf("20 GB in %v; peak %d MB resident, %d MB before", time.Since(began).Round(time.Second), most>>20, from>>20)
	if most > 64<<20 {
		t.Errorf("a peak of %d MB, want under 64", most>>20)
	}
}
