package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"plumb/internal/hint"
)

// Offer is a file that a server's command hands to the service. Its bytes follow.
type Offer struct {
	Form   int    `json:"form"`
	System uint64 `json:"system"` // identifier of the server
	File   string `json:"file"`
	Size   int64  `json:"size"`
}

// answer is what the service says. Nothing in Wrong means that the file is in the store.
type answer struct {
	Form  int    `json:"form"`
	Wrong string `json:"wrong,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

const (
	mostLine  = 16 << 10 // bytes of an offer or an answer
	mostOffer = 1 << 30  // bytes of a file
	headSize  = 64       // of a file are looked at before it is taken
)

// errSilent is the error of who connected and offered nothing: he only looked whether somebody listens.
var errSilent = errors.New("nothing was offered")

// conn is a connection between a command and the service.
type conn interface {
	io.ReadWriter
	SetDeadline(time.Time) error
}

// HandOver gives a file to the service, and comes back without an error when it is in the store.
func HandOver(c conn, o Offer, file io.Reader, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	o.Form = Form
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = c.Write(append(line, '\n'))
	if err == nil {
		_, err = io.CopyN(c, file, o.Size)
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has become shorter than its %d bytes", o.File, o.Size)
	}
	got, err2 := readLine[answer](bufio.NewReaderSize(c, mostLine)) // who refuses does not read all
	switch {
	case err2 == nil && got.Form > Form:
		return hint.Newer("it is an answer", got.Form, Form)
	case err2 == nil && got.Wrong != "":
		return hint.With(errors.New(got.Wrong), got.Hint)
	case err2 == nil && err == nil:
		return nil
	}
	if err == nil {
		err = err2
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended the connection without an answer")
	}
	return hint.With(fmt.Errorf("pass it to the archive service: %w", err), "plumb archive status says what it does; the server keeps the file and tries again")
}

// Receive takes a file of a command. accept sees the offer and the beginning of the file, and says as what it is
// kept. Whatever comes of it is told to the command.
func (k *Keeper) Receive(ctx context.Context, c conn, within time.Duration, accept func(o Offer, head []byte) (Piece, error)) (p Piece, n int64, err error) {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return p, 0, err
	}
	p, n, err = k.receive(ctx, bufio.NewReaderSize(c, 64<<10), accept)
	bad := tell(c, err)
	if err == nil && bad != nil {
		err = fmt.Errorf("%s is archived, but the server could not be told: %w", p.File, bad)
	}
	return p, n, err
}

// tell says what came of it.
func tell(c conn, err error) error {
	a := answer{Form: Form}
	if err != nil {
		a.Wrong, a.Hint = err.Error(), hint.Of(err)
	}
	line, bad := json.Marshal(a)
	if bad == nil {
		_, bad = c.Write(append(line, '\n'))
	}
	return bad
}

func (k *Keeper) receive(ctx context.Context, r *bufio.Reader, accept func(o Offer, head []byte) (Piece, error)) (p Piece, n int64, err error) {
	o, err := readLine[Offer](r)
	if errors.Is(err, io.EOF) {
		return p, 0, errSilent
	}
	if err != nil {
		return p, 0, fmt.Errorf("read what is offered: %w", err)
	}
	if o.Form > Form {
		return p, 0, hint.Newer("it is an offer", o.Form, Form)
	}
	if o.Size < 1 || o.Size > mostOffer {
		return p, 0, fmt.Errorf("%q has %d bytes, and 1 to %d are taken", o.File, o.Size, int64(mostOffer))
	}
	head, err := r.Peek(int(min(headSize, o.Size)))
	if err != nil {
		return p, 0, fmt.Errorf("read %q: %w", o.File, err)
	}
	if p, err = accept(o, bytes.Clone(head)); err != nil {
		_, _ = io.CopyN(io.Discard, r, o.Size) // who hands over hears the answer when he has
		return p, 0, err
	}
	n, err = k.Keep(ctx, Entry{Piece: p, Ends: true}, r)
	return p, n, err
}

// readLine reads one line of JSON; io.EOF where there is nothing.
func readLine[T any](r *bufio.Reader) (v T, err error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > mostLine {
		return v, errors.New("its first line is too long")
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(line, &v)
}
