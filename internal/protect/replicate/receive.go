package replicate

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Receive runs what was asked for over SSH with a key that may only replicate, to a dataset and those
// below it: the commands that a Replicator types, and no others.
func Receive(ctx context.Context, d host.Streamer, only, command string, in io.Reader, out io.Writer) error {
	if !isOurs(only) {
		return hint.Usage(strconv.Quote(only)+" is no dataset below a pool", "plumb receive --only pool/dataset")
	}
	words := allowed(only, command)
	if words == nil {
		return hint.With(fmt.Errorf("refused: %s is not what plumb replicate types for a dataset below %s", strconv.Quote(command), only),
			"the key is for plumb replicate alone; both hosts need the same version of it")
	}
	if words[1] == "receive" {
		_, err := d.Pipe(ctx, host.Pipe{Argv: words, In: in, Out: out})
		return err
	}
	text, err := d.Run(ctx, words...)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}
