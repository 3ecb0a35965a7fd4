package mysql

import (
	"bytes"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

const innodbStatusQuery = "SHOW ENGINE INNODB STATUS"

// SyncFlushShare is the share of the redo log's capacity at which MySQL 8.0.30 and later makes
// writers wait for page flushing. Measured: 87086592 of 104857600 on 8.0.46,
// 7148178432 of 8589934592 on 9.7.4. Older MySQL has another margin, which is
// not computed here.
const SyncFlushShare = 0.83

// redo sets size, fill and write rate of the redo log. Each flavour tells them
// in its own way.
func (l *look) redo() {
	capacity, capacityFrom := l.redoCapacity()
	if capacity > 0 {
		l.t.Set("redo_capacity", stack.Int(capacity), capacityFrom)
	}
	if on, ok := l.status["innodb_redo_log_enabled"]; ok {
		b, _ := Truth(on)
		l.t.Set("redo_enabled", stack.Bool(b), statusQuery)
	} else {
		l.t.SetAbsent("redo_enabled", statusQuery)
	}
	age, limit, ok := l.checkpoint(capacity)
	if !ok {
		l.fromInnoDBStatus()
	} else {
		l.t.Set("checkpoint_age", stack.Int(age), statusQuery)
	}
	if limit > 0 {
		l.t.Set("checkpoint_age_limit", stack.Int(limit), statusQuery)
		if ok {
			l.t.Set("checkpoint_age_ratio", stack.Float(rounded(float64(age)/float64(limit))), statusQuery)
		}
	}
	l.redoRate()
}

// redoCapacity gives the space of the redo log. MySQL 8.0.30 and later shows
// it in the status, where the older variables may have set it.
func (l *look) redoCapacity() (bytes int64, from string) {
	if l.has("innodb_redo_log_capacity") {
		if n, ok := l.stat("innodb_redo_log_capacity_resized"); ok && n > 0 {
			return n, "Innodb_redo_log_capacity_resized"
		}
		n, _ := whole(l.variables["innodb_redo_log_capacity"])
		return n, "@@innodb_redo_log_capacity"
	}
	size, ok := whole(l.variables["innodb_log_file_size"])
	if !ok {
		return 0, ""
	}
	if files, ok := whole(l.variables["innodb_log_files_in_group"]); ok && files > 0 {
		return size * files, "@@innodb_log_file_size times @@innodb_log_files_in_group"
	}
	return size, "@@innodb_log_file_size"
}

// checkpoint gives the checkpoint age and its limit as far as the status tells.
func (l *look) checkpoint(capacity int64) (age, limit int64, ok bool) {
	if age, ok = l.stat("innodb_checkpoint_age"); ok { // MariaDB from 10.5, Percona Server
		limit, _ = l.stat("innodb_checkpoint_max_age")
		return age, limit, true
	}
	current, ok := l.stat("innodb_redo_log_current_lsn") // MySQL from 8.0.30
	done, ok2 := l.stat("innodb_redo_log_checkpoint_lsn")
	if !ok || !ok2 {
		return 0, 0, false
	}
	return current - done, int64(SyncFlushShare * float64(capacity)), true
}

// redoRate sets the redo written since the start, and per hour. MariaDB before 10.8 and MySQL count
// bytes; the sequence number alone has no start to measure from.
func (l *look) redoRate() {
	uptime, ok := l.stat("uptime")
	written, ok2 := l.stat("innodb_os_log_written")
	if ok2 {
		l.t.Set("redo_written", stack.Int(written), statusQuery)
	}
	if ok && ok2 && uptime >= 10 {
		l.t.Set("redo_written_per_hour", stack.Int(int64(float64(written)*3600/float64(uptime))), statusQuery)
	}
}

// fromInnoDBStatus fills in what only the monitor's text tells.
func (l *look) fromInnoDBStatus() bool {
	rows, ok := l.query(innodbStatusQuery, "checkpoint_age", "history_list_length")
	if !ok || len(rows.Values) == 0 || len(rows.Values[0]) < 3 {
		return false
	}
	m := parseInnoDBStatus([]byte(host.Text(rows.Values[0], 2)))
	if m.history >= 0 {
		l.t.Set("history_list_length", stack.Int(m.history), innodbStatusQuery)
	}
	if m.lsn < 0 || m.checkpoint < 0 {
		return false
	}
	l.t.Set("checkpoint_age", stack.Int(m.lsn-m.checkpoint), innodbStatusQuery)
	return true
}

// monitor is what is read from SHOW ENGINE INNODB STATUS; -1 where it is not
// in the text.
type monitor struct {
	lsn, checkpoint, history int64
}

// parseInnoDBStatus reads the LOG and TRANSACTIONS sections.
func parseInnoDBStatus(text []byte) monitor {
	m := monitor{-1, -1, -1}
	for raw := range bytes.Lines(text) {
		line := strings.TrimSpace(string(raw))
		for prefix, into := range map[string]*int64{
			"Log sequence number": &m.lsn, "Last checkpoint at": &m.checkpoint, "History list length": &m.history,
		} {
			if rest, ok := strings.CutPrefix(line, prefix); ok && *into < 0 {
				if n, ok := sequenceNumber(rest); ok {
					*into = n
				}
			}
		}
	}
	return m
}

// sequenceNumber reads a number; before MySQL 5.5 log sequence numbers come in
// two halves of 32 bits, "4 1234567890".
func sequenceNumber(text string) (int64, bool) {
	halves := strings.Fields(text)
	if len(halves) == 2 {
		high, err := strconv.ParseUint(halves[0], 10, 31)
		low, err2 := strconv.ParseUint(halves[1], 10, 32)
		return int64(high<<32 | low), err == nil && err2 == nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
