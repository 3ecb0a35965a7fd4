package sst

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Donor sends files as they were at one moment.
type Donor struct {
	Do      host.Streamer
	Request Request
	Secret  string            // wsrep_sst_auth
	Lend    []string          // command that takes the point and lends its files
	Say     func(line string) // to the server
	Log     func(text string) // for people
}

const (
	tell      = 20 * time.Millisecond
	lendTime  = 5 * time.Minute // to find what the server keeps data on, to snapshot it, and to mount it
	pauseTime = time.Minute     // for the server to come to a stop: others wait meanwhile
	heldTime  = 20 * time.Second
	stillTime = 5 * time.Minute // in which nothing goes over the connection
)

// What the server writes into its data directory when it stands still, or cannot.
const (
	flushed = "tables_flushed"
	failed  = "sst_error"
)

// Run sends what the joiner asked for.
func (d Donor) Run(ctx context.Context) error {
	a, err := parseAddress(d.Request.Address)
	if err != nil {
		return err
	}
	conn, err := call(ctx, a) // before anybody has to wait for us
	if err != nil {
		return hint.With(fmt.Errorf("connect to the joiner: %w", err), "a firewall? the donor connects to the joiner, on port 4444 if wsrep_sst_receive_address names no other")
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c := steady{conn}
	if _, err := io.WriteString(c, a.proof(d.Secret)+"\n"); err != nil {
		return fmt.Errorf("log in to the joiner: %w", err)
	}
	state := d.Request.State
	if d.Request.Bypass {
		_, err = writeHeader(c, header{version, state.String(), true})
		d.Say("continue")
	} else if err = together(ctx, d.Do, d.Request.Datadir); err == nil {
		state, err = d.files(ctx, c)
	}
	if err == nil {
		err = answer(c)
	}
	if err != nil {
		return err
	}
	d.Say("done " + state.String())
	return nil
}

// answer waits for the joiner's word that it has all.
func answer(c io.Reader) error {
	line, err := readLine(bufio.NewReaderSize(c, lineSize))
	switch {
	case err != nil:
		return fmt.Errorf("the joiner does not say that it has all: %w", err)
	case line != accepted:
		return fmt.Errorf("the joiner says: %.200q", line)
	}
	return nil
}

// files takes a point and sends its files.
func (d Donor) files(ctx context.Context, c io.Writer) (state State, err error) {
	l := d.borrow(ctx)
	defer func() {
		gone := l.giveBack()
		if err == nil && gone != nil { // the joiner has all that it needs
			d.Log("the point was not taken away: " + gone.Error())
			return
		}
		err = errors.Join(err, gone)
	}()
	if _, err := l.waitFor("hold", lendTime); err != nil {
		return state, err
	}
	began := time.Now()
	if state, err = d.pause(ctx); err != nil {
		return state, err
	}
	stopped := time.Now()
	if err := l.tell("held"); err != nil {
		return state, err
	}
	if _, err := l.waitFor("release", heldTime); err != nil {
		return state, err // with our end the server goes on
	}
	d.Say("continue")
	d.Log(fmt.Sprintf("the donor took %s to stop, and stood still for %s for the snapshot, at %s", units.Span(stopped.Sub(began)), units.Span(time.Since(stopped)), state.Position))
	dir, err := l.waitFor("files ", lendTime)
	if err != nil {
		return state, err
	}
	return state, d.send(ctx, c, state, dir)
}

// pause has the server stand still, and reads where.
func (d Donor) pause(ctx context.Context) (State, error) {
	done, broken := path.Join(d.Request.Datadir, flushed), path.Join(d.Request.Datadir, failed)
	for _, old := range []string{done, broken} { // of a transfer that was killed
		if err := d.Do.Remove(ctx, old); err != nil {
			return State{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pauseTime, errors.New("the server does not come to a stop: a statement runs for long"))
	defer cancel()
	d.Say("flush tables")
	for {
		// The server writes it twice, the first time without a position.
		if text, err := d.Do.ReadFile(ctx, done); err == nil {
			if s, err := parseState(string(text)); err == nil {
				return s, d.Do.Remove(ctx, done)
			}
		}
		if _, err := d.Do.Stat(ctx, broken); err == nil {
			return State{}, errors.Join(errors.New("the server could not come to a stop: its log says why"), d.Do.Remove(ctx, broken))
		}
		if await.Pause(ctx, tell) != nil {
			return State{}, context.Cause(ctx)
		}
	}
}

// send sends the files below a directory.
func (d Donor) send(ctx context.Context, c io.Writer, state State, dir string) error {
	if err := together(ctx, d.Do, dir); err != nil {
		return err
	}
	all, err := top(ctx, d.Do, dir)
	if err != nil {
		return err
	}
	var names strings.Builder
	has := false
	for _, e := range all {
		if e.data() {
			names.WriteString("./" + e.name + "\x00")
			has = has || e.name == redo
		}
	}
	if !has {
		return fmt.Errorf("%s holds no %s: it is not a data directory", dir, redo)
	}
	began := time.Now()
	line, err := writeHeader(c, header{version, state.String(), false})
	if err != nil {
		return err
	}
	s := newSender(c, line)
	_, err = d.Do.Pipe(ctx, host.Pipe{Argv: []string{"tar", "--create", "--sparse", "--numeric-owner", "--directory", dir, "--null", "--files-from=-", "--file=-"},
		In: strings.NewReader(names.String()), Out: s, Works: true})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return fmt.Errorf("send the files: %w", err)
	}
	d.Log(fmt.Sprintf("sent %s in %s", units.Bytes(s.size), units.Span(time.Since(began))))
	return nil
}

// steady is a connection on which a side that says nothing for long is given up.
type steady struct{ net.Conn }

func (s steady) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(stillTime)); err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}

func (s steady) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(stillTime)); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

// loan is the command that lends a point's files, while it runs.
type loan struct {
	in    *io.PipeWriter
	lines chan string
	end   chan error
}

// borrow starts it.
func (d Donor) borrow(ctx context.Context) *loan {
	read, write := io.Pipe()
	l := &loan{in: write, lines: make(chan string, 8), end: make(chan error, 1)}
	go func() {
		_, err := d.Do.Pipe(ctx, host.Pipe{Argv: d.Lend, In: read, Out: &lines{to: l.lines}, Progress: 7 * 24 * time.Hour})
		read.CloseWithError(io.ErrClosedPipe)
		l.end <- err
	}()
	go func() { _, _ = io.WriteString(write, d.Request.Datadir+"\n") }() // if it ended, its end says why
	return l
}

func (l *loan) tell(word string) error {
	_, err := io.WriteString(l.in, word+"\n")
	return err
}

// waitFor waits for a line, and gives what follows the word.
func (l *loan) waitFor(word string, limit time.Duration) (string, error) {
	select {
	case line := <-l.lines:
		rest, ok := strings.CutPrefix(line, word)
		if !ok {
			return "", fmt.Errorf("the command that takes the point says %.200q in place of %q", line, word)
		}
		return rest, nil
	case err := <-l.end:
		l.end <- nil
		return "", hint.With(errors.Join(errors.New("no point could be taken"), err), "see `plumb sst --help` for the rights that the server's user needs")
	case <-time.After(limit):
		return "", fmt.Errorf("no point was made in %s", units.Span(limit))
	}
}

// giveBack waits until what was lent is taken away.
func (l *loan) giveBack() error {
	l.in.Close()
	select {
	case err := <-l.end:
		return err
	case <-time.After(lendTime):
		return errors.New("the point is not taken away: plumb protect list shows it")
	}
}

// lines passes on what is written, line by line.
type lines struct {
	to   chan string
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			break
		}
		l.to <- string(line)
		l.rest = rest
	}
	if len(l.rest) > 8*lineSize {
		return 0, errors.New("it says more than was asked for")
	}
	return len(p), nil
}
