package binlog

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"plumb/internal/units"
)

// Names, places and GTIDs come again: after RESET MASTER, and on a server that was restored, a log begins with the same. So whether a
// log is the one in which a place was read is told by what comes before the place, and by times: the file was there when it was read.

// ErrOther says of a log that it is another than the one in which a place was read.
var ErrOther = errors.New("it is another log")

// Place is where the log of a server stood, and what else is known of that moment. What is not known is zero.
type Place struct {
	Offset int64     // in its file: an event ends there
	GTIDs  string    // of MariaDB the last of each domain, of MySQL all that were executed
	Apart  bool      // they were read later than the place, while others wrote
	Until  time.Time // it was read by then
}

// Later says of a file that was made at a time, as its first event has it, that it was not there yet when the place was read; "" where
// nothing speaks against it. That time is in whole seconds. The session that had the file made can have set it (SET timestamp), as a
// replica does for each transaction that it applies; the first file of a log is made as the server starts, or by RESET MASTER.
func (p Place) Later(at time.Time) string {
	if p.Until.IsZero() || !at.After(p.Until) {
		return ""
	}
	return fmt.Sprintf("it was made at %s, and the place was read by %s", units.Moment(at), units.Moment(p.Until))
}

// Joint sees the events of a file go by, from the first on, and finds out whether it is of the log in which a place was read.
type Joint struct {
	Place
	First  bool   // the file is the first of a log, by its name
	Joined bool   // it is, and the place is behind
	Doubt  string // it may be another all the same: so says what may have another reason
	end    int64
	made   time.Time
	last   map[string]uint64 // of MariaDB: the number of the last GTID of each domain and server
	logged Set               // of MySQL: what is in the log before the place, or before the file where GTIDs were read apart; nil where that is not known
}

// In reads a file as far as it takes to find that out.
func (j *Joint) In(r io.Reader) error {
	err := Scan(r, func(e Event) error {
		if err := j.Event(e); err != nil || !j.Joined {
			return err
		}
		return errJoined
	})
	switch {
	case errors.Is(err, errJoined):
		return nil
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF):
		return j.End()
	}
	return err
}

var errJoined = errors.New("it goes on there")

// Event takes the next event. Those behind the place are none of its business.
func (j *Joint) Event(e Event) error {
	switch {
	case j.Joined:
		return nil
	case e.At >= j.Offset:
		return j.End()
	case e.End > j.Offset:
		return fmt.Errorf("%w: at %d it is amid an event, from %d to %d", ErrOther, j.Offset, e.At, e.End)
	}
	j.end = e.End
	switch gtid, begins := e.Begins(); {
	case e.Type == Format:
		j.made = e.Time
	case e.Type == GTIDList:
		j.First = len(e.List()) == 0
		for _, gtid := range e.List() {
			j.note(gtid)
		}
	case e.Type == PreviousGTIDs:
		j.logged = e.Previous()
	case begins:
		j.note(gtid)
	}
	return nil
}

// End says that no event follows before the place.
func (j *Joint) End() error {
	if j.Joined {
		return nil
	}
	const head = 4 // where the first event begins
	if end := max(j.end, head); end != j.Offset {
		return fmt.Errorf("%w: it ends at %d, and not at %d", ErrOther, end, j.Offset)
	}
	if later := j.Later(j.made); later != "" {
		if j.First {
			return fmt.Errorf("%w: %s", ErrOther, later)
		}
		j.Doubt = "unless a clock was wrong or a session set the time: " + later
	}
	compare := j.domains
	if j.logged != nil {
		compare = j.sets
	}
	if err := compare(); err != nil {
		return err
	}
	j.Joined = true
	return nil
}

// domains compares the GTIDs of MariaDB.
func (j *Joint) domains() error {
	for gtid := range strings.SplitSeq(j.GTIDs, ",") {
		of, n, is := number(gtid)
		last, has := j.last[of]
		switch {
		case !is:
		case j.Apart && last > n:
			return fmt.Errorf("%w: before %d it has %s-%d, and the server had come no further than %s", ErrOther, j.Offset, of, last, gtid)
		case !j.Apart && (!has || last != n):
			return fmt.Errorf("%w: %s is not the last of its domain before %d", ErrOther, gtid, j.Offset)
		}
	}
	return nil
}

// sets compares the GTIDs of MySQL. All in the log before the place must have been executed. What was executed need not be in
// the log: it was before a backup that the server was restored from, or came to a replica that does not log what it is sent. So a
// log that ends sooner is only doubted.
func (j *Joint) sets() error {
	if j.GTIDs == "" {
		return nil
	}
	executed, err := parseSet(j.GTIDs)
	if err != nil {
		return fmt.Errorf("the GTIDs that were read with the place: %w", err)
	}
	if gtid := j.logged.Beyond(executed); gtid != "" {
		return fmt.Errorf("%w: before %d it has %s, which the server had not executed", ErrOther, j.Offset, gtid)
	}
	if gtid := executed.Ahead(j.logged); gtid != "" && !j.Apart && j.Doubt == "" {
		j.Doubt = fmt.Sprintf("because the server had executed %s, and the log has none as late before %d", gtid, j.Offset)
	}
	return nil
}

func (j *Joint) note(gtid string) {
	if of, n, is := number(gtid); is {
		if j.last == nil {
			j.last = map[string]uint64{}
		}
		j.last[of] = n
	}
	// MySQL adds to gtid_executed when a transaction is committed, which is later than it is in the log (sql/binlog.cc): without a
	// lock only those before the file are known to have been.
	if j.logged != nil && !j.Apart {
		j.logged.Add(gtid)
	}
}

// number takes a GTID of MariaDB apart: of which domain and server it is, and its number.
func number(gtid string) (of string, n uint64, is bool) {
	i := strings.LastIndexByte(gtid, '-')
	if strings.Count(gtid, "-") != 2 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(gtid[i+1:], 10, 64)
	return gtid[:i], n, err == nil
}
