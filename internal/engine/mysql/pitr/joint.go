package pitr

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/protect"
)

// joint sees the file go by in which a base ends, and finds out whether the log goes on there.
type joint struct {
	in   *io.PipeWriter
	said chan error
	over bool // it has seen enough
	why  error
}

var (
	errJoins = errors.New("it goes on there")
	errOther = errors.New("it is another log")
)

func newJoint(from protect.Position) *joint {
	out, in := io.Pipe()
	j := &joint{in: in, said: make(chan error, 1)}
	go func() {
		err := joins(out, from)
		_ = out.CloseWithError(errEnough)
		j.said <- err
	}()
	return j
}

// Write implements io.Writer. It fails when the log does not go on there, so that no more is read of it.
func (j *joint) Write(p []byte) (int, error) {
	if !j.over {
		if _, err := j.in.Write(p); errors.Is(err, errEnough) {
			j.over, j.why = true, <-j.said
		}
	}
	if j.why != nil {
		return 0, j.why
	}
	return len(p), nil
}

// end says why the log does not go on there, or nil when it does. With an error nothing more comes for that reason.
func (j *joint) end(err error) error {
	if !j.over {
		_ = j.in.CloseWithError(err) // a nil error is the end
		j.over, j.why = true, <-j.said
	}
	return j.why
}

var errEnough = errors.New("enough was read")

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
