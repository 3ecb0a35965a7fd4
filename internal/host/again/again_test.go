package again

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAgainChild is what the tests below run again: this test's binary, told by
// the environment what to do.
func TestAgainChild(t *testing.T) {
	switch os.Getenv("PLUMB_TEST_AGAIN") {
	case "answers":
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Printf("it was told %s, and its directory is %s\n", strings.TrimSpace(line), os.Getenv("PWD"))
	case "dies":
		fmt.Fprintln(os.Stderr, "it has no memory")
		os.Exit(3)
	case "is cut off":
		fmt.Print("half a li")
	case "says too much":
		for {
			fmt.Print(strings.Repeat("x", 1000))
		}
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "waits":
		ctx, cancel := WhileWanted(context.Background(), os.Stdin)
		defer cancel()
		fmt.Fprintln(os.Stderr, "it waits")
		<-ctx.Done()
	case "starts one and is killed":
		os.Setenv("PLUMB_TEST_AGAIN", "tells and waits")
		_, _ = new(Program).Run(context.Background(), again())
	case "tells and waits":
		ctx, cancel := WhileWanted(context.Background(), os.Stdin)
		defer cancel()
		if err := os.WriteFile(os.Getenv("PLUMB_TEST_TOLD"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			os.Exit(1)
		}
		<-ctx.Done()
	default:
		t.Skip("it is run by the other tests")
	}
	os.Exit(0)
}

func again() Call {
	return Call{Args: []string{"-test.run=^TestAgainChild$"}, First: []byte("a word\n"), Limit: 20 * time.Second, Most: 1 << 20}
}

func TestAgain(t *testing.T) {
	for does, want := range map[string]string{"dies": "it has no memory", "is cut off": errCutOff.Error(), "says too much": errTooLarge.Error(), "hangs": context.DeadlineExceeded.Error()} {
		t.Run(does, func(t *testing.T) {
			t.Setenv("PLUMB_TEST_AGAIN", does)
			a := again()
			if does == "hangs" {
				a.Limit = time.Second
			}
			answer, err := new(Program).Run(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), want) || answer != nil {
				t.Errorf("it gave %q, %v, and %q was to be said", answer, err, want)
			}
		})
	}
}

func TestAgainAnswers(t *testing.T) {
	t.Setenv("PLUMB_TEST_AGAIN", "answers")
	began := time.Now()
	answer, err := new(Program).Run(t.Context(), again())
	if err != nil || !bytes.HasPrefix(answer, []byte("it was told a word, and")) {
		t.Fatalf("it gave %q, %v", answer, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s, as if its input had not ended", took)
	}
}

// One that is no longer wanted ends.
func TestAgainIsEndedWithItsContext(t *testing.T) {
	t.Setenv("PLUMB_TEST_AGAIN", "waits")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := new(Program).Run(ctx, again()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it gave %v", err)
	}
}

// When we are killed the other ends too: nobody reads a host for nobody.
func TestAgainDiesWithItsParent(t *testing.T) {
	told := t.TempDir() + "/told"
	c := exec.Command(ownFile, "-test.run=^TestAgainChild$")
	c.Env = append(os.Environ(), "PLUMB_TEST_AGAIN=starts one and is killed", "PLUMB_TEST_TOLD="+told)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	pid := 0
	for end := time.Now().Add(30 * time.Second); pid == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(told)
		pid, _ = strconv.Atoi(string(text))
	}
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		t.Fatalf("process %d does not run", pid)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

// One that stays in the kernel is not followed by another every ten minutes.
func TestAgainWaitsForTheOneBefore(t *testing.T) {
	p := new(Program)
	r := newRun(again(), func() {}) // never started, so it never ends: a test has no process that stays in the kernel
	if err := p.end(r); !errors.Is(err, errStays) {
		t.Fatalf("it ended with %v", err)
	}
	if _, err := p.Run(t.Context(), again()); !errors.Is(err, errStays) {
		t.Errorf("it gave %v", err)
	}
	t.Setenv("PLUMB_TEST_AGAIN", "answers")
	r.ended <- nil
	for end := time.Now().Add(30 * time.Second); p.stays.Load() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if _, err := p.Run(t.Context(), again()); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
