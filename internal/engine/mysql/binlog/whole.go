package binlog

import (
	"errors"
	"io"
)

// Whole finds where the last whole transaction of a file ends. What comes behind that was not all written when its server died, or when
// a snapshot was taken: a recovery rolls it back. MySQL then also cuts it off; MariaDB leaves it in the file, and goes on in the next
// (TC_LOG_BINLOG::recover in sql/log.cc reads up to the last event that is whole, and counts a GTID only at the end of its transaction).
func Whole(r io.Reader) (end int64, err error) {
	amid, several := false, false // of a transaction, which is of several events
	err = Scan(r, func(e Event) error {
		whole := true
		switch _, begins := e.Begins(); {
		case begins:
			amid, several, whole = true, e.Several(), false
		case e.Outside():
			amid = false
		case amid:
			whole = e.Ends() && !(several && e.Amid())
		}
		if whole {
			end = e.End
		}
		return nil
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return end, err
}
