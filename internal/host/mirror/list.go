package mirror

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

// List holds what was copied, so that who goes on where another was killed copies only what changed since. It is kept in a
// file, of which nobody else may write.
type List struct {
	// Noted, where it is given, is called whenever what is copied so far is on the disk, with the number of files.
	Noted func(ctx context.Context, files int) error

	do      host.Streamer
	file    string
	recs    map[string]copied
	pending strings.Builder // what is not yet written down
	files   int
	bytes   int64
}

// How often progress is written down: no more than so much is copied again after a crash.
const (
	noteFiles = 256
	noteBytes = 256 << 20
)

// maxList is how much a list holds at most, in bytes.
const maxList = 1 << 30

// Open reads the list in a file; it is empty when there is none yet.
func Open(ctx context.Context, do host.Streamer, file string) (*List, error) {
	l := &List{do: do, file: file, recs: map[string]copied{}}
	if _, err := do.Stat(ctx, file); errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	out := limited.NewBuffer(maxList, errors.New("it holds more files than can be listed"))
	if _, err := do.Pipe(ctx, host.Pipe{Argv: []string{"cat", "--", file}, Out: out}); err != nil {
		return nil, err
	}
	l.recs = parseCopied(out.Bytes())
	return l, nil
}

// note keeps what is known of a file; it is written down once it is on the disk.
func (l *List) note(ctx context.Context, to *tree.Root, key string, c copied, bytes int64) error {
	l.recs[key] = c
	l.pending.WriteString(c.line(key))
	l.files, l.bytes = l.files+1, l.bytes+bytes
	if l.files < noteFiles && l.bytes < noteBytes {
		return nil
	}
	return l.flush(ctx, to)
}

func (l *List) flush(ctx context.Context, to *tree.Root) error {
	if l.files == 0 {
		return nil
	}
	if err := to.Sync(); err != nil {
		return err
	}
	text := l.pending.String()
	l.pending.Reset()
	l.files, l.bytes = 0, 0
	if err := l.do.Append(ctx, l.file, []byte(text)); err != nil || l.Noted == nil {
		return err
	}
	return l.Noted(ctx, len(l.recs))
}
