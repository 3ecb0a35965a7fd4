package pitr

import (
	"context"
	"io"

	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/protect/replay"
	"plumb/internal/relay"
)

// joint sees the file go by in which a base ends, and finds out whether the log goes on there.
type joint struct {
	from replay.Start
	seen bool  // the file was read
	why  error // the log does not go on there
}

// watch has a file written, and reads along. It ends when the log does not go on there, so that no more is read of it.
func (j *joint) watch(ctx context.Context, write func(ctx context.Context, out io.Writer) error, out io.Writer) error {
	j.seen = true
	both := func(ctx context.Context, in io.Writer) error { return write(ctx, io.MultiWriter(in, out)) }
	return relay.Run(ctx, both, func(in io.Reader) error {
		if j.why = joins(in, j.from); j.why == nil {
			_, _ = io.Copy(io.Discard, in) // of what went wrong then tells who writes
		}
		return j.why
	})
}

// joins tells whether a file has the place at which a base ends, and is of the same log: the last GTIDs before it are the base's.
// When it was made tells ofBase.
func joins(r io.Reader, from replay.Start) error {
	j := binlog.Joint{Place: binlog.Place{Offset: from.Offset, GTIDs: from.GTID, Apart: from.Apart}}
	return j.In(r)
}
