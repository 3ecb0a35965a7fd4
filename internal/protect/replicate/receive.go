package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Receiver answers a key that may only replicate, to a dataset and those below it.
type Receiver struct {
	Do    host.Streamer
	Only  string
	Prove Prover // of what was received; nil: the key may not have that done
}

// Receive runs what was asked for over SSH: the commands that a Replicator types, and no others.
func (r Receiver) Receive(ctx context.Context, command string, in io.Reader, out io.Writer) error {
	if !isOurs(r.Only) {
		return hint.Usage(strconv.Quote(r.Only)+" is no dataset below a pool", "plumb receive --only pool/dataset")
	}
	words := allowed(r.Only, command)
	if words == nil {
		return hint.With(fmt.Errorf("refused: %s is not what plumb replicate types for a dataset below %s", strconv.Quote(command), r.Only),
			"the key is for plumb replicate alone; both hosts need the same version of it")
	}
	switch words[1] {
	case "receive":
		_, err := r.Do.Pipe(ctx, host.Pipe{Argv: words, In: in, Out: out})
		return err
	case "verify":
		return r.verify(ctx, words[2], in, out)
	}
	text, err := r.Do.Run(ctx, words...)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// verify starts a copy of a point that was received, and answers what came of it.
func (r Receiver) verify(ctx context.Context, id string, in io.Reader, out io.Writer) error {
	if r.Prove == nil {
		return hint.With(errors.New("refused: this key may send points, and not have copies of them started"), "plumb receive --only "+r.Only+" --verify, in the target's authorized_keys, lets it")
	}
	p, err := hear(in, id)
	if err != nil {
		return err
	}
	d, err := proven(ctx, r.Do.Run, r.Only, p, r.Prove)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(d)
}
