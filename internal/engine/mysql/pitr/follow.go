// Package pitr is how MariaDB and MySQL are archived and brought to a moment: the binary log is followed as it is
// written, and replayed onto a base.
package pitr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/dice"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/limited"
	"plumb/internal/relay"
)

// Follower follows a binary log by its files, which it reads with the rights of the server's user. A series is a
// stretch of log in which nothing is missing: where the log cannot be gone on with, another begins.
type Follower struct {
	Do     host.Streamer
	Server string   // what it is called in the archive
	Index  string   // the file that lists the log's
	As     []string // comes before a command that is run as the server's user

	known  bool // where it was left is known
	former bool // that was with another key of this host
	breaks []archive.Break
	left
}

// left is where a log was left.
type left struct {
	series string
	file   string
	to     int64
	tail   *archive.Tail
	ends   bool
	why    string // of the series, until its first piece is kept
}

// most is how many bytes a piece has, if no event is longer: so few that a slow line takes one in the time that a turn may last, or it
// would be begun again and again.
const most = 8 << 20

var errFull = errors.New("the piece is full")

// Name implements archive.Follower.
func (f *Follower) Name() string { return f.Server }

// Turn implements archive.Follower: it keeps one piece at most.
func (f *Follower) Turn(ctx context.Context, k *archive.Keeper) (t archive.Turn, err error) {
	defer func() {
		if err != nil {
			f.known = false // it may have been kept all the same
			err = fmt.Errorf("follow the binary log %s: %w", f.Index, err)
		}
		if f.file != "" {
			t.Last = f.file + ":" + strconv.FormatInt(f.to, 10)
		}
		t.Breaks = f.breaks
	}()
	if !f.known {
		if err := f.find(ctx, k); err != nil {
			return t, err
		}
	}
	files, err := f.files(ctx)
	if err != nil {
		return t, err
	}
	if f.former {
		f.former, t.Break, t.More = false, errFormer.Error(), true
		f.begin(files[0], t.Break)
		return t, nil
	}
	if f.series == "" {
		f.begin(files[0], "")
	}
	at, why, err := f.at(ctx, k, files)
	if err == nil && why == "" {
		var p piece
		if p, err = f.read(ctx, k, files[at]); err == nil {
			return f.keep(ctx, k, files[at], p, at == len(files)-1)
		}
	}
	if errors.Is(err, errStrange) {
		why, err = err.Error(), nil
	}
	if err != nil {
		return t, err
	}
	t.Break, t.More = why, true
	f.begin(files[0], why)
	return t, nil
}

// errFormer is why a log cannot be gone on with that joins on, as far as anybody can tell: the marks of its last record are of another key.
var errFormer = errors.New("the signing key of this host was replaced: what its server has is archived again")

// find asks the store where the last run came to.
func (f *Follower) find(ctx context.Context, k *archive.Keeper) error {
	s, err := k.Shelf()
	if err != nil {
		return err
	}
	all, err := s.List(ctx, f.Server)
	if err != nil {
		return err
	}
	f.known = true
	var last archive.Piece
	logs := bySeries(all)
	f.breaks = told(ctx, k, logs)
	if len(logs) > 0 {
		newest := logs[len(logs)-1]
		last = newest[len(newest)-1]
	}
	if f.series > last.Series || last.File == "" { // a new one of which nothing is kept yet is the newest
		if f.left = (left{series: f.series, why: f.why}); f.why != "" {
			f.breaks = append(f.breaks, archive.Break{At: manifest.Made(f.series), Why: f.why})
		}
		return nil
	}
	f.left = left{}
	e, err := s.Entry(ctx, last)
	if errors.Is(err, manifest.ErrStranger) && k.Former(ctx, last) {
		f.former, f.left = true, left{series: last.Series}
		return nil
	}
	if errors.Is(err, archive.ErrUnbelieved) { // and not because it could not be read: then nothing is to be removed
		err = hint.With(err, "was the key of this host replaced? give the log another --binlog-name; did somebody else put it there? remove "+last.Name()+" from the store")
	}
	if err != nil {
		return fmt.Errorf("where the archive ends: %w", err)
	}
	f.left = left{series: e.Series, file: e.File, to: e.To, tail: e.Tail, ends: e.Ends}
	return nil
}

// order puts pieces of a series as they were written.
func order(a, b archive.Piece) int {
	return cmp.Or(cmp.Compare(len(a.File), len(b.File)), cmp.Compare(a.File, b.File), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
}

// begin begins a new series at the beginning of a file.
func (f *Follower) begin(file, why string) {
	at := time.Now()
	if next := manifest.Made(f.series).Add(time.Second); at.Before(next) {
		at = next // whatever the clock does, the newest series has the last name
	}
	f.left = left{series: manifest.NewID(at, dice.Hex(4)), file: path.Base(file), why: why}
	if why != "" {
		f.breaks = append(f.breaks, archive.Break{At: manifest.Made(f.series), Why: why})
	}
}

// files reads which there are, as absolute paths.
func (f *Follower) files(ctx context.Context) (all []string, err error) {
	text := limited.NewBuffer(16<<20, errors.New("it is too long"))
	if _, err := f.Do.Pipe(ctx, host.Pipe{Argv: append(slices.Clone(f.As), "cat", "--", f.Index), Out: text}); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text.String()) {
		if name := strings.TrimSpace(line); path.IsAbs(name) {
			all = append(all, path.Clean(name))
		} else if name != "" {
			all = append(all, path.Join(path.Dir(f.Index), name))
		}
	}
	if len(all) == 0 {
		return nil, hint.With(errors.New("it lists no file"), "is the binary log on? log_bin")
	}
	return all, nil
}

// at finds the file to go on in, or says why the log cannot be gone on with. The file that ended is looked at once more before the
// next is gone on in: a server that was set back may have written all of them anew meanwhile.
func (f *Follower) at(ctx context.Context, k *archive.Keeper, files []string) (at int, why string, err error) {
	name := func(file string) string { return path.Base(file) }
	if f.file == "" { // of a series of which nothing is kept yet
		return 0, "", nil
	}
	at = slices.IndexFunc(files, func(file string) bool { return name(file) == f.file })
	switch {
	case at >= 0 && f.ends && at+1 < len(files):
		if !binlog.Follows(f.file, name(files[at+1])) {
			return 0, fmt.Sprintf("after %s comes %s", f.file, name(files[at+1])), nil
		}
		if p, err := f.read(ctx, k, files[at]); err != nil || p.to != f.to {
			return at, "", err
		}
		f.left = left{series: f.series, file: name(files[at+1]), why: f.why}
		return at + 1, "", nil
	case at >= 0:
		return at, "", nil
	case f.ends && binlog.Follows(f.file, name(files[0])):
		f.left = left{series: f.series, file: name(files[0]), why: f.why}
		return 0, "", nil
	}
	return 0, fmt.Sprintf("the server no longer has %s, of which %d bytes are archived: what came after them is lost if it was purged (binlog_expire_logs_seconds, expire_logs_days, PURGE), and is another log if it was reset", f.file, f.to), nil
}

// piece is what was found behind what is archived.
type piece struct {
	to   int64
	tail *archive.Tail
	ends bool // the log says so itself
	full bool // there may be more
}

// errStrange is the error of a file in which what is archived is not found.
var errStrange = errors.New("in place of what was archived there is something else: the log was reset, or the server was set back")

// read looks for whole events behind what is archived, and whether that is still there.
func (f *Follower) read(ctx context.Context, k *archive.Keeper, file string) (p piece, err error) {
	summed, err := f.head(ctx, file)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && f.to == 0:
		return p, nil // it is just being made, or the server died when it had made it
	case errors.Is(err, io.ErrUnexpectedEOF):
		return p, errStrange
	case errors.Is(err, binlog.ErrEncrypted):
		return p, hint.With(fmt.Errorf("%s: %w", path.Base(file), err), "Plumb has no keys of binary logs")
	case err != nil:
		return p, fmt.Errorf("%s: %w", path.Base(file), err)
	}
	l := &looking{from: 4, tail: f.tail, to: f.to, mark: k.MarkOf, piece: piece{to: f.to, tail: f.tail}}
	if f.tail != nil {
		l.from = f.tail.At
	}
	err = f.stream(ctx, file, l.from, func(r io.Reader) error { return binlog.Resume(r, l.from, summed, l.event) })
	_, unread := errors.AsType[*unreadError](err)
	switch {
	case unread || ctx.Err() != nil:
		return p, fmt.Errorf("%s: %w", path.Base(file), err)
	case l.tail != nil: // it was not found again
		return p, errStrange
	case errors.Is(err, errFull) || errors.Is(err, io.ErrUnexpectedEOF): // the server is writing it, or died in it
		err = nil
	case errors.Is(err, binlog.ErrEncrypted):
		err = hint.With(err, "Plumb has no keys of binary logs")
	}
	if err == nil && l.last != nil {
		l.piece.tail.Mark, err = k.MarkOf(l.last)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path.Base(file), err)
	}
	return l.piece, err
}

// looking reads events behind what is archived.
type looking struct {
	piece
	from, to int64
	tail     *archive.Tail // that is still to be found
	mark     func([]byte) (string, error)
	last     []byte // what the new tail is told by
}

func (l *looking) event(e binlog.Event) error {
	if l.tail != nil {
		mark, err := l.mark(event(e))
		if err == nil && (mark != l.tail.Mark || e.End != l.to) {
			err = errStrange
		}
		if err == nil {
			l.tail = nil
		}
		return err
	}
	l.piece.to, l.piece.tail, l.last = e.End, &archive.Tail{At: e.At}, event(e)
	if l.ends = e.Type == binlog.Rotate || e.Type == binlog.Stop; l.ends {
		return errFull
	}
	if l.full = e.End-l.to >= most; l.full {
		return errFull
	}
	return nil
}

// event is what tells an event from others: its place, time and beginning.
func event(e binlog.Event) []byte {
	return append(fmt.Appendf(nil, "%d %d %d %d %d ", e.Time.Unix(), e.Type, e.Server, e.At, e.End), e.Body...)
}

// keep keeps what was found.
func (f *Follower) keep(ctx context.Context, k *archive.Keeper, file string, p piece, newest bool) (t archive.Turn, err error) {
	ends := f.ends && p.to == f.to || p.ends || !newest && !p.full // nobody writes to it any more
	t.Whole = newest && !p.full
	t.More = !t.Whole
	if p.to == f.to && ends == f.ends {
		return t, nil
	}
	e := archive.Entry{Piece: archive.Piece{Server: f.Server, Series: f.series, File: path.Base(file), From: f.to, To: p.to}, Tail: p.tail, Ends: ends, Why: f.why}
	put := func(r io.Reader) (err error) {
		t.Bytes, err = k.Keep(ctx, e, r)
		return err
	}
	if p.to == f.to {
		err = put(strings.NewReader(""))
	} else {
		err = f.stream(ctx, file, f.to, put)
	}
	if err != nil {
		return t, err
	}
	f.left = left{series: f.series, file: e.File, to: p.to, tail: p.tail, ends: ends}
	return t, nil
}

// head reads the beginning of a file.
func (f *Follower) head(ctx context.Context, file string) (summed bool, err error) {
	err = f.stream(ctx, file, 0, func(r io.Reader) (err error) {
		summed, err = binlog.ReadHead(r)
		return err
	})
	return summed, err
}

// stream gives what a file has from a place on. Whoever reads it may stop before its end.
func (f *Follower) stream(ctx context.Context, file string, from int64, take func(io.Reader) error) error {
	tail := func(ctx context.Context, out io.Writer) error {
		_, err := f.Do.Pipe(ctx, host.Pipe{Argv: append(slices.Clone(f.As), "tail", "-c", "+"+strconv.FormatInt(from+1, 10), "--", file), Out: out})
		if err != nil {
			err = &unreadError{err}
		}
		return err
	}
	return relay.Run(ctx, tail, func(in io.Reader) error { return take(&calm{r: in, at: from}) })
}

// unreadError says that a file could not be read, and so nothing of what is in it.
type unreadError struct{ error }

// Unwrap gives what went wrong.
func (e *unreadError) Unwrap() error { return e.error }

// calm gives a file as it is when nobody writes to it: the flag that says so stands in its first event.
type calm struct {
	r  io.Reader
	at int64
}

const (
	flagAt = 4 + 17 // of the first event, behind the magic
	inUse  = 1
)

// Read implements io.Reader.
func (c *calm) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if at := flagAt - c.at; at >= 0 && at < int64(n) {
		p[at] &^= inUse
	}
	c.at += int64(n)
	return n, err
}
