package replicate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
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
		return hint.Usage(strconv.Quote(r.Only)+" is not a dataset below a pool", "plumb receive --only pool/dataset")
	}
	words := allowed(r.Only, command)
	if words == nil {
		return hint.With(fmt.Errorf("refused: %s is not a command that plumb replicate runs for a dataset below %s", strconv.Quote(command), r.Only),
			"the key is for plumb replicate alone; both hosts need the same version of it")
	}
	switch words[1] {
	case "receive":
		_, err := r.Do.Pipe(ctx, host.Pipe{Argv: words, In: &received{in: in}, Out: out})
		return err
	case "prove":
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
		a := answer{Refused: "this key may send points, but not start copies of them", Hint: "plumb receive --only " + r.Only + " --verify in the target's authorized_keys allows it"}
		return json.NewEncoder(out).Encode(a)
	}
	p, err := hearZFS(in, id)
	var a answer
	if err == nil {
		a.Drill, err = proven(ctx, r.Do.Run, r.Only, p, r.Prove)
	}
	if err != nil {
		a = answer{Refused: err.Error(), Hint: hint.Of(err)}
	}
	return json.NewEncoder(out).Encode(a)
}

// answer is what is answered to who asks for a copy.
type answer struct {
	Drill   protect.Drill `json:"drill,omitzero"`
	Refused string        `json:"refused,omitempty"` // there is no drill, and why
	Hint    string        `json:"hint,omitempty"`
}
