package sst

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"sync"
	"time"

	"plumb/internal/await"
	"plumb/internal/dice"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Joiner receives files in place of its own.
type Joiner struct {
	Do      host.Streamer
	Request Request
	Secret  string // wsrep_sst_auth
	Say     func(line string)
	Log     func(text string)
}

// atOnce bounds who is asked for a proof at the same time. Who holds that many connections open, saying
// nothing, keeps the donor out.
const atOnce = 256

const lockTime = 10 * time.Second

// Run waits for the donor. An error leaves the server's own files as they were, unless all of the
// donor's had come.
func (j Joiner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go j.watch(ctx, cancel)
	if err := oneDirectory(ctx, j.Do, j.Request); err != nil {
		return err
	}
	unlock, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := j.tidy(ctx); err != nil {
		return err
	}
	c, print, err := identity()
	if err != nil {
		return err
	}
	a := Address{Token: dice.Hex(16), Print: print}
	a.Host, a.Port = place(j.Request.Address)
	l, err := listen(a.Host, a.Port, c)
	if err != nil {
		return fmt.Errorf("listen for the donor: %w", err)
	}
	defer l.Close()
	j.Say("ready " + a.String())
	conn, err := accept(ctx, l, a.proof(j.Secret), j.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	state, err := j.receive(ctx, conn)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	j.Say(state.String())
	return nil
}

// lock makes this the one transfer into the data directory. That of a server which was killed just now
// takes a moment to notice.
func (j Joiner) lock(ctx context.Context) (unlock func(), err error) {
	return host.LockWithin(ctx, j.Do, path.Join(j.Request.Datadir, lock), lockTime)
}

// watch gives up when the server is gone for which this is done.
func (j Joiner) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for j.Request.Parent != "" {
		if _, err := j.Do.Stat(ctx, "/proc/"+j.Request.Parent); err != nil && ctx.Err() == nil {
			cancel(errors.New("the server that wanted the transfer has ended"))
			return
		}
		if await.Pause(ctx, time.Second) != nil {
			return
		}
	}
}

// proven is a connection whose other end has the proof.
type proven struct {
	net.Conn
	r *bufio.Reader
}

// Read implements io.Reader.
func (p proven) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(stillTime)); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// accept waits for the one that has the proof. Others are sent away, each asked apart from the others.
func accept(ctx context.Context, l net.Listener, proof string, log func(string)) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	found := make(chan net.Conn, 1)
	var once sync.Once
	go func() {
		slots := make(chan struct{}, atOnce)
		for {
			c, err := l.Accept()
			if err != nil {
				once.Do(func() { close(found) })
				return
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				p, err := prove(c, proof)
				if err != nil {
					c.Close()
					log(fmt.Sprintf("%s was sent away: %v", c.RemoteAddr(), err))
					return
				}
				won := false
				once.Do(func() {
					won = true
					l.Close() // before the donor is handed over: who was told of it meets no open port
					found <- p
				})
				if !won {
					c.Close()
				}
			}()
		}
	}()
	c, ok := <-found
	if !ok {
		return nil, errors.Join(errors.New("no donor came"), context.Cause(ctx))
	}
	return c, nil
}

var errProof = errors.New("it has not the proof: wsrep_sst_auth must be the same on all nodes")

func prove(c net.Conn, proof string) (proven, error) {
	if err := c.SetDeadline(time.Now().Add(handTime)); err != nil {
		return proven{}, err
	}
	r := bufio.NewReaderSize(c, longest)
	line, err := readLine(r)
	if err != nil {
		return proven{}, err
	}
	if subtle.ConstantTimeCompare([]byte(line), []byte(proof)) != 1 {
		return proven{}, errProof
	}
	return proven{c, r}, c.SetDeadline(time.Time{})
}

// receive receives what the donor sends, and puts it into place when it is whole.
func (j Joiner) receive(ctx context.Context, conn net.Conn) (State, error) {
	p, ok := conn.(proven)
	if !ok {
		return State{}, errProof
	}
	_ = p.SetReadDeadline(time.Now().Add(lendTime + pauseTime + heldTime + lendTime)) // the donor takes its point first
	h, state, line, err := readHeader(p.r)
	if err != nil {
		return state, fmt.Errorf("wait for the donor's point: %w", err)
	}
	if !h.Bypass {
		if err := j.files(ctx, p, line); err != nil {
			_, _ = io.WriteString(steady{p.Conn}, oneLine(err)+"\n")
			return state, err
		}
	}
	_, err = io.WriteString(steady{p.Conn}, accepted+"\n")
	if err != nil {
		j.Log("the donor could not be told that all has come: " + err.Error())
	}
	if h.Bypass {
		return state, nil
	}
	if j.Request.Binlog != "" {
		j.Log("the binary log continues with a gap: rebuild the replicas that follow this node")
	}
	if ctx.Err() != nil { // another server may run on the directory by now
		return state, ctx.Err()
	}
	return state, put(ctx, j.Do, j.Request.Datadir)
}

func oneLine(err error) string {
	return units.Start(strings.Join(strings.Fields(err.Error()), " "), 200)
}

// files unpacks the archive beside the server's own files.
func (j Joiner) files(ctx context.Context, r io.Reader, line string) error {
	began := time.Now()
	fresh := path.Join(j.Request.Datadir, fresh)
	if err := j.Do.MakeDir(ctx, fresh, 0o700, -1, -1); err != nil {
		return err
	}
	v := newReceiver(r, line)
	flow, err := j.Do.Pipe(ctx, host.Pipe{Argv: []string{"tar", "--extract", "--ignore-zeros", "--preserve-permissions", "--no-same-owner", "--directory", fresh, "--file=-"}, In: v, Works: true})
	if err == nil && !v.whole { // tar was told to go on to the end of its input, which is ours
		err = errCut
	}
	if err == nil {
		_, err = j.Do.Stat(ctx, path.Join(fresh, redo))
	}
	if err == nil {
		_, err = j.Do.Run(ctx, "sync", "-f", fresh)
	}
	if err != nil {
		_, gone := j.Do.Run(context.WithoutCancel(ctx), "rm", "-rf", "--", fresh)
		return errors.Join(fmt.Errorf("receive the files: %w", err), gone)
	}
	j.Log(fmt.Sprintf("received %s in %s", units.Bytes(flow.In), units.Span(time.Since(began))))
	return nil
}
