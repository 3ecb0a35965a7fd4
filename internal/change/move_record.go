package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/limited"
	"plumb/internal/host/tree"
)

// stamp is what shows that a file was written to.
type stamp struct{ size, modified, changed int64 }

func stampOf(e tree.Entry) stamp { return stamp{e.Size, e.Modified, e.Changed} }

// copied is how a file was on both sides when it was found to be the same on both.
type copied struct {
	sum      string
	old, new stamp
}

// line writes it down: one line each, with the name last, so that half of one is none.
func (c copied) line(name string) string {
	return fmt.Sprintf("%s %d %d %d %d %d %d %q\n", c.sum, c.old.size, c.old.modified, c.old.changed, c.new.size, c.new.modified, c.new.changed, name)
}

// parseCopied reads what was written down; of two lines of a name the later counts. What is
// no line is what a crash left of one, and its file is copied again.
func parseCopied(text []byte) map[string]copied {
	all := map[string]copied{}
	for line := range bytes.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 8)
		if len(f) != 8 || len(f[0]) != 64 || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		name, err := strconv.Unquote(f[7])
		var n [6]int64
		for i := range n {
			var bad error
			n[i], bad = strconv.ParseInt(f[1+i], 10, 64)
			err = errors.Join(err, bad)
		}
		if err == nil {
			all[name] = copied{f[0], stamp{n[0], n[1], n[2]}, stamp{n[3], n[4], n[5]}}
		}
	}
	return all
}

// maxList is how much is written down of a move at most.
const maxList = 1 << 30

// readCopied reads the file of a move; nothing when there is none yet.
func readCopied(ctx context.Context, do host.Streamer, file string) (map[string]copied, error) {
	if _, err := do.Stat(ctx, file); errors.Is(err, fs.ErrNotExist) {
		return map[string]copied{}, nil
	}
	out := limited.NewBuffer(maxList, errors.New("it holds more files than can be listed"))
	if _, err := do.Pipe(ctx, host.Pipe{Argv: []string{"cat", "--", file}, Out: out}); err != nil {
		return nil, err
	}
	return parseCopied(out.Bytes()), nil
}
