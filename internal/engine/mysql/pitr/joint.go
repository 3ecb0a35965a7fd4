package pitr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/protect"
)

// joint sees the file go by in which a base ends, and finds out whether the log goes on there.
type joint struct {
	from protect.Position
	seen bool  // the file was read
	why  error // the log does not go on there
}

var (
	errJoins = errors.New("it goes on there")
	errOther = errors.New("it is another log")
)

// watch has a file written, and reads along. It ends when the log does not go on there, so that no more is read of it.
func (j *joint) watch(ctx context.Context, write func(ctx context.Context, out io.Writer) error, out io.Writer) error {
	j.seen = true
	both := func(ctx context.Context, in io.Writer) error { return write(ctx, io.MultiWriter(in, out)) }
	return archive.Through(ctx, both, func(in io.Reader) error {
		if j.why = joins(in, j.from); j.why == nil {
			_, _ = io.Copy(io.Discard, in) // of what went wrong then tells who writes
		}
		return j.why
	})
}

// joins tells whether a file has the place at which a base ends, and is of the same log: the last GTIDs before it are
// the base's.
func joins(r io.Reader, from protect.Position) error {
	seen := map[string]bool{}
	last := map[string]string{}
	note := func(gtid string) {
		of := gtid[:strings.LastIndexByte(gtid, '-')]
		delete(seen, last[of])
		last[of], seen[gtid] = gtid, true
	}
	end := int64(0)
	err := binlog.Scan(r, func(e binlog.Event) error {
		if e.At >= from.Offset {
			return errJoins
		}
		end = e.End
		for _, gtid := range e.List() {
			if e.Type == binlog.GTIDList {
				note(gtid)
			}
		}
		if gtid, yes := e.Begins(); yes && strings.Contains(gtid, "-") {
			note(gtid)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errJoins) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if end != from.Offset {
		return fmt.Errorf("%w: nothing in %s ends at %d", errOther, from.File, from.Offset)
	}
	for gtid := range strings.SplitSeq(from.GTID, ",") {
		if gtid != "" && !seen[gtid] {
			return fmt.Errorf("%w: in %s %s is not the last of its domain before %d", errOther, from.File, gtid, from.Offset)
		}
	}
	return nil
}
