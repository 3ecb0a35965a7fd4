package pitr

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/host"
)

// shelfLog is a series of the archive as if it were a binary log on this host: what finds the way in one reads it with
// cat, and is given what the archive has. Nothing else can be asked of it.
type shelfLog struct {
	host.Streamer // nil
	s             archive.Shelf
	server        string
	series        string
	base          base     // onto which it is replayed
	names         []string // files in their order
	files         map[string][]archive.Piece
	joint         *joint // sees the first file that is read; nil for none
}

// Where the log seems to be.
const (
	shelfDir   = "/archive"
	shelfIndex = shelfDir + "/index"
)

// newShelfLog makes it of the pieces of one series, in their order.
func newShelfLog(s archive.Shelf, series []archive.Piece, b base) *shelfLog {
	l := &shelfLog{s: s, base: b, server: series[0].Server, series: series[0].Series, files: map[string][]archive.Piece{}}
	for _, p := range series {
		if l.files[p.File] == nil {
			l.names = append(l.names, p.File)
		}
		l.files[p.File] = append(l.files[p.File], p)
	}
	return l
}

// end is where it ends.
func (l *shelfLog) end() string {
	file := l.names[len(l.names)-1]
	pieces := l.files[file]
	return at(file, pieces[len(pieces)-1].To)
}

// About implements host.Reader.
func (l *shelfLog) About() host.About { return host.About{} }

// Run implements host.Doer: cat of the index.
func (l *shelfLog) Run(_ context.Context, argv ...string) ([]byte, error) {
	if len(argv) != 3 || argv[0] != "cat" || argv[2] != shelfIndex {
		return nil, fmt.Errorf("%q was asked of an archive", argv)
	}
	return []byte(strings.Join(l.names, "\n") + "\n"), nil
}

// Pipe implements host.Streamer: cat of a file.
func (l *shelfLog) Pipe(ctx context.Context, p host.Pipe) (host.Flow, error) {
	if len(p.Argv) != 3 || p.Argv[0] != "cat" {
		return host.Flow{Code: -1}, fmt.Errorf("%q was asked of an archive", p.Argv)
	}
	write := func(ctx context.Context, out io.Writer) error { return l.write(ctx, path.Base(p.Argv[2]), out) }
	if j := l.joint; j != nil && !j.seen {
		return host.Flow{}, j.watch(ctx, write, p.Out)
	}
	return host.Flow{}, write(ctx, p.Out)
}

// write gives a file as far as it is in the archive. One that is not the last must be whole.
func (l *shelfLog) write(ctx context.Context, file string, out io.Writer) error {
	s, end := l.s.Ahead(ctx, l.files[file])
	defer end()
	to, ends := int64(0), false
	for _, p := range l.files[file] {
		if p.From > to {
			return l.hole(file, to)
		}
		if p.To < to || p.To == to && p.From < to {
			continue // kept twice
		}
		e, err := l.entry(ctx, s, p)
		if err != nil {
			return err
		}
		if err := s.Read(ctx, e, &behind{w: out, skip: to - p.From}); err != nil {
			return err
		}
		to, ends = p.To, e.Ends
	}
	if !ends && file != l.names[len(l.names)-1] {
		return l.hole(file, to)
	}
	return nil
}

// entry reads that of a piece. Files before the one in which the base ends are not read.
func (l *shelfLog) entry(ctx context.Context, s archive.Shelf, p archive.Piece) (archive.Entry, error) {
	if p.File != l.base.at.File || p.To > l.base.at.Offset {
		s = s.After(l.base.id)
	}
	return s.Entry(ctx, p)
}

func (l *shelfLog) hole(file string, to int64) error {
	return fmt.Errorf("there is a gap: what comes after %s is not in the archive", at(file, to))
}

// behind leaves out what was written before.
type behind struct {
	w    io.Writer
	skip int64
}

// Write implements io.Writer.
func (b *behind) Write(p []byte) (int, error) {
	n := int(min(b.skip, int64(len(p))))
	b.skip -= int64(n)
	m, err := b.w.Write(p[n:])
	return n + m, err
}

// upTo leaves out what comes later.
type upTo struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (u *upTo) Write(p []byte) (int, error) {
	n := int(min(u.left, int64(len(p))))
	u.left -= int64(n)
	if m, err := u.w.Write(p[:n]); err != nil {
		return m, err
	}
	return len(p), nil
}
