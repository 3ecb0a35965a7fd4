package real

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plumb/internal/stack"
)

// ran is what one run of the binary came to.
type ran struct {
	out, err string
	code     int
	took     time.Duration
	memory   int64 // bytes: the most it had resident
}

// plumb runs the binary as a user would and gives what came of it.
func plumb(t *testing.T, args ...string) ran {
	t.Helper()
	return plumbIn(t, nil, args...)
}

// plumbIn is plumb with a command to be changed before it starts.
func plumbIn(t *testing.T, change func(*exec.Cmd), args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shared.plumb.Path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if change != nil {
		change(cmd)
	}
	started := time.Now()
	check(t, cmd.Start())
	ended := make(chan struct{})
	most := make(chan int64)
	go func() { most <- peak(cmd.Process.Pid, ended) }()
	err := cmd.Wait()
	close(ended)
	r := ran{out: out.String(), err: errs.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(started), memory: <-most}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("plumb %s: %v", strings.Join(args, " "), err)
	}
	if strings.Contains(r.err, "panic:") || strings.Contains(r.out, "this is a bug in Plumb") || strings.Contains(r.err, "goroutine ") {
		t.Errorf("plumb %s broke:\n%s\n%s", strings.Join(args, " "), r.err, r.out)
	}
	return r
}

// seen gives the stack a run of plumb stack --json printed.
func (r ran) seen(t *testing.T) *stack.Stack {
	t.Helper()
	var doc struct{ Stack *stack.Stack }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v in %.300s; %s", err, r.out, r.err)
	}
	return doc.Stack
}

// gapsOf joins why and hint of the gaps of a thing.
func gapsOf(s *stack.Stack, ref stack.Ref) string {
	var b strings.Builder
	for _, g := range s.Gaps {
		if g.Of == ref {
			b.WriteString(g.Why + " | " + g.Hint + "\n")
		}
	}
	return b.String()
}

// contains demands that text holds all parts, wherever its lines are broken.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, p := range parts {
		if !strings.Contains(flat, strings.Join(strings.Fields(p), " ")) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// hidden demands that a secret is nowhere in what was printed.
func hidden(t *testing.T, secret string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("the password is in the output: …%s…", text[max(0, i-100):min(len(text), i+100)])
		}
	}
}

// peak watches the most memory a process had resident until it ended. (What
// wait tells of a child includes this test's own, from before exec.)
func peak(pid int, ended <-chan struct{}) int64 {
	var most int64
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		var kb int64
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok && strings.HasPrefix(string(text), "Name:\tplumb\n") {
			fmt.Sscan(rest, &kb)
		}
		most = max(most, kb<<10)
		select {
		case <-ended:
			return most
		case <-time.After(5 * time.Millisecond):
		}
	}
}
