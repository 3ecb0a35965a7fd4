package point

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Reached implements protect.Starter.
func (*Engine) Reached(ctx context.Context, a load.Admin, c protect.Copy, recovered protect.Position) (protect.Check, error) {
	at, err := least(ctx, a.Query, c.Server, c.Position, recovered)
	if err != nil {
		err = fmt.Errorf("compare the position of the copy of %s: %w", c.Server.Ref, err)
	}
	return at, err
}

// least checks that a copy recovered at least the position that was read before the snapshot: what a client was told
// before is in it.
//
// With other settings than these two a copy that falls short may be what a crash leaves, which is not judged. With sync_binlog = 1 the binary log is synced before a transaction is committed, and so before it is told where it
// stands: MySQL adds to gtid_executed in the last stage of a group's commit, after the sync (sql/binlog.cc), and MariaDB's SHOW MASTER
// STATUS waits for the lock under which a group is written and synced (sql/log.cc). MySQL's waits only until the group is
// written, which is enough for a snapshot of a filesystem that goes on running. MariaDB's gtid_binlog_pos has a
// transaction before it is written, and is no bound; the place in the log is, whatever its GTIDs are. With
// innodb_flush_log_at_trx_commit = 1 the log's transactions are prepared in the redo log before they are in the binary log, so
// that the place in the one says something of the other.
func least(ctx context.Context, q ask, sv protect.Server, was, is protect.Position) (protect.Check, error) {
	check := protect.Check{What: "recovered at least to " + brief(cmp.Or(place(was), was.GTID, was.Applied)), Unknown: unbound(sv, was, is)}
	if check.Unknown != "" {
		return check, nil
	}
	short := func(what, before, after string) {
		text := fmt.Sprintf("the server stood at %s%s before the snapshot, and the copy at %s", what, brief(before), brief(cmp.Or(after, "none")))
		if sync := sv.Settings["sync_binlog"]; was.File != "" && sync != "1" {
			check.Unknown = text + "; sync_binlog was " + cmp.Or(sync, "not noted") + ", so the end of the binary log may be missing after a crash"
			return
		}
		check.Wrong = text + ", unless RESET was typed in between"
	}
	if was.File != "" && !reaches(was, is) {
		short("", place(was), place(is))
		return check, nil
	}
	if isMariaDB(sv) {
		switch ahead := behind(was.Applied, is.Applied); {
		case ahead == "":
		case on(sv.Settings["gtid_strict_mode"]):
			short("applied GTID ", ahead, is.Applied)
		default:
			check.Unknown = fmt.Sprintf("it had applied %s, and the copy %s; without gtid_strict_mode the numbers may go back", ahead, brief(cmp.Or(is.Applied, "none")))
		}
		return check, nil
	}
	if was.GTID == "" {
		return check, nil
	}
	all, err := executed(ctx, q, was.GTID)
	if err == nil && !all {
		short("GTID ", was.GTID, is.GTID)
	}
	return check, err
}

// unbound tells why a position says nothing of where a copy must stand; "" when it does.
func unbound(sv protect.Server, was, is protect.Position) string {
	switch flush := sv.Settings["innodb_flush_log_at_trx_commit"]; {
	case flush != "1":
		return "innodb_flush_log_at_trx_commit was " + cmp.Or(flush, "not noted") + ": the last commits may be missing after a crash, whatever the binary log has"
	case was.File == "":
		return ""
	case is.File == "":
		return "no binary log of the server is in the copy"
	}
	before, _ := binlog.Number(was.File)
	after, _ := binlog.Number(is.File)
	if before != after {
		return "the binary log was called " + before + ", and is called " + after + " in the copy"
	}
	return ""
}

// reaches tells whether one place in a binary log comes no sooner than another.
func reaches(was, is protect.Position) bool {
	_, before := binlog.Number(was.File)
	_, after := binlog.Number(is.File)
	return cmp.Or(cmp.Compare(after, before), cmp.Compare(is.Offset, was.Offset)) >= 0
}

// behind gives the first GTID of a position of MariaDB to which another has not come.
func behind(was, is string) string {
	at, _ := Domains(is) // of what is none nothing is known
	for gtid := range strings.SplitSeq(was, ",") {
		last, err := Domains(gtid)
		for domain, n := range last {
			if at[domain] < n {
				return gtid
			}
		}
		if err != nil {
			return gtid
		}
	}
	return ""
}

// Domains reads the last number of each domain in a position of MariaDB: 0-1-17,3-2-5. A domain's numbers go up by one, whichever
// server writes.
func Domains(text string) (map[uint32]int64, error) {
	all := map[uint32]int64{}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		part := strings.Split(one, "-")
		if len(part) != 3 {
			return nil, fmt.Errorf("%q is not a GTID", one)
		}
		domain, err := strconv.ParseUint(part[0], 10, 32)
		last, err2 := strconv.ParseInt(part[2], 10, 64)
		if err != nil || err2 != nil || last < 0 {
			return nil, fmt.Errorf("%q is not a GTID", one)
		}
		all[uint32(domain)] = max(all[uint32(domain)], last)
	}
	return all, nil
}

// executed asks MySQL whether it has executed a set of GTIDs.
func executed(ctx context.Context, q ask, gtids string) (bool, error) {
	row, err := host.One(q(ctx, "SELECT GTID_SUBSET("+engine.Literal(gtids)+", @@GLOBAL.gtid_executed)"))
	return host.Text(row, 0) == "1", err
}
