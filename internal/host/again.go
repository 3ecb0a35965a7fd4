package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Again is this very program run once more, for one answer. What needs much
// memory for a moment needs it in a process that ends.
type Again struct {
	Args  []string
	First []byte        // what it is given at once; its input ends no earlier than its answer
	Limit time.Duration // after which it is ended
	Most  int           // bytes of its answer, which is one line
}

var (
	errAgain   = errors.New("the one before has still not ended: it waits in the kernel")
	errCutOff  = errors.New("its answer is cut off")
	ownProgram = "/proc/self/exe" // also when the file was replaced meanwhile: what answers is of our version
)

// Again runs this program again, with our environment and with no more rights
// than we have, and gives the line that it answers. As long as one stays in the
// kernel no other is started.
func (l *Live) Again(ctx context.Context, a Again) (answer []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("run plumb %s: %w", strings.Join(a.Args, " "), err)
		}
	}()
	if l.again.n.Load() > 0 {
		return nil, errAgain
	}
	ctx, cancel := context.WithTimeout(ctx, a.Limit)
	defer cancel()
	in := &openInput{first: a.First, done: make(chan struct{})}
	defer in.end()
	out := &lineWriter{head: headWriter{limit: a.Most, full: cancel}, end: in.end}
	s, err := newStream(ownProgram, Pipe{Argv: append([]string{os.Args[0]}, a.Args...), In: in, Out: out, Progress: 2 * a.Limit, Grace: time.Second}, &l.again)
	if err != nil {
		return nil, err
	}
	s.cmd.Env, s.cmd.Dir = os.Environ(), ""
	if _, err = s.run(ctx); out.head.cut {
		return nil, ErrTooLarge
	}
	if err == nil && !out.whole {
		err = errCutOff
	}
	if err != nil {
		return nil, err
	}
	return out.head.buf.Bytes(), nil
}

// openInput gives what it has, and then nothing until it is to end.
type openInput struct {
	first []byte
	done  chan struct{}
	once  sync.Once
}

func (r *openInput) Read(p []byte) (int, error) {
	if len(r.first) == 0 {
		<-r.done
		return 0, io.EOF
	}
	n := copy(p, r.first)
	r.first = r.first[n:]
	return n, nil
}

func (r *openInput) end() { r.once.Do(func() { close(r.done) }) }

// lineWriter keeps a line, and says when it has all of it.
type lineWriter struct {
	head  headWriter
	whole bool
	end   func()
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if len(p) > 0 && p[len(p)-1] == '\n' {
		w.whole = true
		w.end()
	}
	return w.head.Write(p)
}

// WhileWanted is for the program that Again runs: its context ends when its
// input does, which is when whoever started it has ended, however that came. A
// moment later it ends itself.
func WhileWanted(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end, too
		cancel()
		time.Sleep(graceTime)
		os.Exit(3)
	}()
	return ctx, cancel
}
