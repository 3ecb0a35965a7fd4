package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"plumb/internal/host/redact"
	"plumb/internal/units"
)

// stream is a command that runs between two streams. Everything that can hang
// has a goroutine of its own: starting, waiting, reading In, writing Out.
type stream struct {
	*processGroup
	p    Pipe
	left *stuckCount

	stdin             *os.File // our ends; stdin is nil without In
	stdout, stderr    *os.File
	theirs            []*os.File // the command's ends
	started           time.Time
	moved             atomic.Int64 // when a byte last went in or out, since started
	in, out           atomic.Int64 // bytes
	work              int64        // bytes that the command had read and written when the kernel was last asked
	exited            atomic.Bool
	fed, drained, end chan error  // results of feed, drain and begin, each sent once; fed is closed and carries only an error
	said              chan []byte // the last of its standard error
	unread            bool        // In was not read to its end; valid once fed is closed
}

func newStream(program string, p Pipe, left *stuckCount) (*stream, error) {
	s := &stream{processGroup: newGroup(program, p.Argv), p: p, left: left, started: time.Now(),
		fed: make(chan error, 1), drained: make(chan error, 1), end: make(chan error, 1), said: make(chan []byte, 1)}
	if s.p.Out == nil {
		s.p.Out = io.Discard
	}
	outRead, outWrite, err := os.Pipe()
	errRead, errWrite, err2 := os.Pipe()
	inRead, inWrite, err3 := os.Pipe()
	s.stdin, s.stdout, s.stderr, s.theirs = inWrite, outRead, errRead, []*os.File{inRead, outWrite, errWrite}
	if err := errors.Join(err, err2, err3); err != nil {
		s.close()
		return nil, err
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inRead, outWrite, errWrite
	return s, nil
}

// close closes all ends. A command that still runs sees the end of its input.
func (s *stream) close() {
	for _, f := range append([]*os.File{s.stdin, s.stdout, s.stderr}, s.theirs...) {
		f.Close() // harmless for those that were never opened, or are closed already
	}
}

// begin starts the command, waits until it ends, and sends to s.end.
func (s *stream) begin() {
	err := s.start()
	for _, f := range s.theirs {
		f.Close()
	}
	if err == nil {
		go s.feed() // not before: if the command cannot be started, nothing must be taken from In
		untilExit(s.cmd.Process.Pid)
	}
	s.end <- err
}

// feed gives the command its input, which ends only when In does.
func (s *stream) feed() {
	defer close(s.fed)
	if s.p.In == nil {
		s.stdin.Close()
		return
	}
	buf := make([]byte, pipeChunk)
	s.unread = true
	for {
		n, err := s.p.In.Read(buf)
		for done := 0; done < n; {
			w, err := s.stdin.Write(buf[done:n])
			s.count(&s.in, w)
			if done += w; err != nil {
				return // the command takes no more, which its exit status explains
			}
		}
		if err == io.EOF {
			s.unread = false
			s.stdin.Close()
			return
		}
		if err != nil {
			s.fed <- fmt.Errorf("read what it is given: %w", err)
			return
		}
	}
}

// drain passes on the command's output. Once the command has ended it reads only what is left in the pipe, and does not wait for processes
// that the command left behind.
func (s *stream) drain() {
	buf := make([]byte, pipeChunk)
	rest := pipeRest
	for {
		if s.exited.Load() {
			_ = s.stdout.SetReadDeadline(time.Now().Add(restTime)) // pipes have deadlines
		}
		n, err := s.stdout.Read(buf)
		s.count(&s.out, n)
		if n > 0 {
			if w, err := s.p.Out.Write(buf[:n]); err != nil || w < n {
				if err == nil {
					err = io.ErrShortWrite
				}
				s.drained <- fmt.Errorf("write what it gives: %w", err)
				return
			}
		}
		if s.exited.Load() {
			rest -= n
		}
		switch {
		case err == io.EOF:
			s.drained <- nil
			return
		case errors.Is(err, os.ErrDeadlineExceeded), rest < 0:
			s.drained <- errHeld
			return
		case err != nil:
			s.drained <- err
			return
		}
	}
}

// listen reads the standard error and keeps the last of it, which usually says why a command failed. One that works and says so goes on.
func (s *stream) listen() {
	var last []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := s.stderr.Read(buf)
		if n > 0 && s.p.Works {
			s.moved.Store(int64(time.Since(s.started)))
		}
		if last = append(last, buf[:n]...); len(last) > 2*pipeStderr {
			last = append(last[:0], last[len(last)-pipeStderr:]...)
		}
		if err != nil {
			s.said <- last
			return
		}
	}
}

func (s *stream) count(of *atomic.Int64, n int) {
	if n > 0 {
		of.Add(int64(n))
		s.moved.Store(int64(time.Since(s.started)))
	}
}

// run starts the command, and returns when it has ended, or cannot be ended.
func (s *stream) run(ctx context.Context) (Flow, error) {
	if err := ctx.Err(); err != nil {
		s.close()
		return s.flow(-1), err
	}
	go s.begin()
	go s.drain()
	go s.listen()
	why, ended := s.watch(ctx)
	if !ended {
		s.left.n.Add(1)
		go s.leave()
		return s.flow(-1), oneError(append(why, errStays))
	}
	if s.cmd.Process == nil {
		s.close()
		return s.flow(-1), oneError(why)
	}
	_ = s.stderr.SetReadDeadline(time.Now().Add(restTime)) // pipes have deadlines
	said := <-s.said
	s.signal(Kill) // the processes it left behind
	err := s.wait()
	s.stdin.Close() // so that feed no longer waits for room in the pipe
	select {
	case err := <-s.fed:
		why = append(why, err)
	case <-time.After(restTime):
	}
	s.close()
	if err != nil {
		why = append(why, exitError(err, []byte(redact.Text(string(said))), units.End))
	}
	return s.flow(s.cmd.ProcessState.ExitCode()), oneError(why)
}

// oneError joins errors on one line.
func oneError(all []error) (one error) {
	for _, err := range all {
		switch {
		case one == nil:
			one = err
		case err != nil:
			one = fmt.Errorf("%w; %w", one, err)
		}
	}
	return one
}

func (s *stream) flow(code int) Flow {
	f := Flow{In: s.in.Load(), Out: s.out.Load(), Code: code, Unread: s.p.In != nil}
	select {
	case <-s.fed: // closed
		f.Unread = s.unread
	default: // it is still reading
	}
	return f
}

// leave waits for a command that did not end when it was killed.
func (s *stream) leave() {
	if err := <-s.end; err == nil {
		_ = s.wait() // nobody asks how it ended
	}
	s.left.n.Add(-1)
	s.close()
}

// watch waits until the command has ended and its output was passed on, and ends the command if there are reasons to. It returns those
// reasons. ended is false if the command did not end even when it was killed.
func (s *stream) watch(ctx context.Context) (why []error, ended bool) {
	look := time.NewTicker(max(s.p.Progress/8, time.Millisecond))
	defer look.Stop()
	var late <-chan time.Time
	steps := []Signal{Terminate, Kill}
	stop := func(err error) {
		if err != nil {
			why = append(why, err)
			if late == nil {
				now := make(chan time.Time)
				close(now)
				late = now
			}
		}
	}
	over, fed, drained := ctx.Done(), s.fed, s.drained
	for !ended || drained != nil {
		select {
		case err := <-s.end:
			if err != nil { // it was never started
				return append(why, err), true
			}
			ended = true
			s.exited.Store(true)
			_ = s.stdout.SetReadDeadline(time.Now().Add(restTime)) // pipes have deadlines
		case err := <-fed:
			fed = nil
			stop(err)
		case err := <-drained:
			drained = nil
			stop(err)
		case <-over:
			over = nil
			stop(ctx.Err())
		case <-look.C:
			if quiet := s.quiet(); quiet >= s.p.Progress && late == nil {
				stop(fmt.Errorf("%w %s", errQuiet, units.Span(s.p.Progress)))
			}
		case <-late:
			if len(steps) == 0 {
				return why, ended
			}
			s.signal(steps[0])
			steps, late = steps[1:], time.After(s.p.Grace)
		}
	}
	return why, true
}

// quiet is how long no byte has gone in or out. With Pipe.Works, what the command reads and writes elsewhere counts too.
func (s *stream) quiet() time.Duration {
	if s.p.Works {
		if work := s.worked(); work != s.work {
			s.work = work
			s.moved.Store(int64(time.Since(s.started)))
		}
	}
	return time.Since(s.started) - time.Duration(s.moved.Load())
}

// worked is how many bytes the command has read and written in all. If the kernel does not tell, it is as many as before.
func (s *stream) worked() (sum int64) {
	if !s.mu.TryLock() { // it is just being started
		return s.work
	}
	alive := s.alive
	s.mu.Unlock()
	if !alive {
		return s.work
	}
	text, err := within(context.Background(), s.left, time.Second, func(context.Context) ([]byte, error) {
		return os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/io")
	})
	if err != nil {
		return s.work
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == "rchar" || name == "wchar") {
			sum += n
		}
	}
	return sum
}
