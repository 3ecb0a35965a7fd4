package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// took is what a pipeline took.
type took struct {
	wall     time.Duration
	cpu      time.Duration // of all its programs
	resident int64         // bytes that the last program had at most; 0: not seen
	busy     float64       // share of this machine's processors that were busy, whoever used them
}

// pipeline runs programs of which each reads what the one before writes. in is read by the first, and out is
// written by the last; nil for nothing.
func pipeline(in, out *os.File, env []string, stages ...[]string) (t took, err error) {
	var all []*exec.Cmd
	var errs bytes.Buffer
	next := in
	for i, argv := range stages {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), env...)
		if next != nil { // a nil *os.File is no nil io.Reader
			cmd.Stdin = next
		}
		if i == len(stages)-1 {
			cmd.Stderr = &errs
			if out != nil {
				cmd.Stdout = out
			}
		} else {
			r, w, err := os.Pipe()
			if err != nil {
				return t, err
			}
			defer r.Close()
			defer w.Close()
			cmd.Stdout, next = w, r
		}
		all = append(all, cmd)
	}
	busy := processors()
	began := time.Now()
	for _, cmd := range all {
		if err := cmd.Start(); err != nil {
			return t, err
		}
		for _, end := range []any{cmd.Stdin, cmd.Stdout} { // ours: else nobody ever sees the end of a pipe
			if f, is := end.(*os.File); is && f != in && f != out {
				_ = f.Close()
			}
		}
	}
	resident := watch(all[len(all)-1].Process.Pid)
	for _, cmd := range all {
		if bad := cmd.Wait(); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), bad, &errs))
		}
		t.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	t.wall, t.busy, t.resident = time.Since(began), processors().since(busy), resident()
	return t, err
}

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// watch looks at the peak of a process's memory until it is asked. What wait4 says includes that of whoever
// started the process.
func watch(pid int) (most func() int64) {
	var peak atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if m := highWater.FindSubmatch(text); m != nil {
				n, _ := strconv.ParseInt(string(m[1]), 10, 64)
				peak.Store(n << 10)
			}
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(end)
		<-ended
		return peak.Load()
	}
}

// ticks are those of all processors since the machine was started.
type ticks struct{ idle, all float64 }

func processors() (t ticks) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line) {
		n, _ := strconv.ParseFloat(word, 64)
		if i > 8 { // guests are in user time already
			break
		}
		if t.all += n; i == 4 || i == 5 { // idle, and waiting for a disk
			t.idle += n
		}
	}
	return t
}

func (t ticks) since(before ticks) float64 {
	if t.all == before.all {
		return 0
	}
	return 1 - (t.idle-before.idle)/(t.all-before.all)
}
