package point

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/protect"
)

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
	case stem(was.File) != stem(is.File):
		return "the binary log was called " + stem(was.File) + ", and is called " + stem(is.File) + " in the copy"
	}
	return ""
}

func stem(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// reaches tells whether one place in a binary log comes no sooner than another.
func reaches(was, is protect.Position) bool {
	number := func(p protect.Position) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(path.Ext(p.File), ".")) // bin.000002, and bin.1000000 after bin.999999
		return n
	}
	return cmp.Or(cmp.Compare(number(is), number(was)), cmp.Compare(is.Offset, was.Offset)) >= 0
}

// behind gives the first GTID of a position of MariaDB (domain-server-number for each domain) to which another has not come.
func behind(was, is string) string {
	at := map[string]uint64{}
	for gtid := range strings.SplitSeq(is, ",") {
		domain, number, _ := sequence(gtid)
		at[domain] = number
	}
	for gtid := range strings.SplitSeq(was, ",") {
		if domain, number, ok := sequence(gtid); gtid != "" && (!ok || at[domain] < number) {
			return gtid
		}
	}
	return ""
}

// sequence takes the domain and the number out of a GTID of MariaDB. Which server wrote it does not matter.
func sequence(gtid string) (domain string, number uint64, ok bool) {
	parts := strings.Split(gtid, "-")
	if len(parts) != 3 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(parts[2], 10, 64)
	return parts[0], number, err == nil
}

// executed asks MySQL whether it has executed a set of GTIDs.
func executed(ctx context.Context, q ask, gtids string) (bool, error) {
	row, err := host.One(q(ctx, "SELECT GTID_SUBSET("+engine.Literal(gtids)+", @@GLOBAL.gtid_executed)"))
	return host.Text(row, 0) == "1", err
}
