package mysql

import (
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// replication sets role, state and lag.
func (l *look) replication() {
	l.channels()
	l.replicas()
	l.passedOver()
	l.semiSync()
	l.groupMembers()
	l.preparedXA()
}

// passedOver sets which errors replication is told to pass over. The settings
// have an old name and, since MySQL 8.0.26, a new one.
func (l *look) passedOver() {
	for _, side := range []string{"replica", "slave"} {
		if skipped, ok := l.variables[side+"_skip_errors"]; ok {
			if skipped == "" {
				skipped = "OFF"
			}
			l.t.Set("replication_skips", stack.Text(skipped), "@@"+side+"_skip_errors")
			break
		}
	}
	for _, side := range []string{"replica", "slave"} {
		if mode, ok := l.variables[side+"_exec_mode"]; ok {
			l.t.Set("replication_idempotent", stack.Bool(strings.EqualFold(mode, "IDEMPOTENT")), "@@"+side+"_exec_mode")
			break
		}
	}
}

// Sources is the statement that asks a server whom it follows.
func Sources(mariadb bool, version string) string {
	switch {
	case mariadb:
		return "SHOW ALL SLAVES STATUS"
	case AtLeast(version, "8.0.22"):
		return "SHOW REPLICA STATUS"
	}
	return "SHOW SLAVE STATUS"
}

func (l *look) channels() {
	q := Sources(l.isMariaDB(), l.in.version)
	rows, ok := l.query(q, "is_replica", "replication_channels", "replica_*")
	if !ok {
		return
	}
	c := parseReplicaStatus(rows)
	l.t.Set("is_replica", stack.Bool(c.count > 0), q)
	l.t.Set("replication_channels", stack.Int(int64(c.count)), q)
	if c.count == 0 {
		l.t.Absent(q, "replica_io_running", "replica_sql_running", "replica_lag", "replica_error", "replica_gtid", "replica_delay")
		return
	}
	l.t.Set("replica_io_running", stack.Bool(c.receiving), q)
	l.t.Set("replica_sql_running", stack.Bool(c.applying), q)
	l.t.Set("replica_delay", stack.Int(c.delay), q)
	l.t.Set("replica_gtid", stack.Bool(c.gtid), q)
	if c.lagKnown {
		l.t.Set("replica_lag", stack.Int(c.lag), q)
	} else {
		l.gap("the server does not know the lag while replication does not run", "", "replica_lag")
	}
	if c.problem == "" {
		l.t.SetAbsent("replica_error", q)
	} else {
		l.t.Set("replica_error", stack.Text(c.problem), q)
	}
}

// replicaStatus joins all channels: the worst of each.
type replicaStatus struct {
	count               int
	receiving, applying bool
	gtid                bool
	lag                 int64
	lagKnown            bool
	delay               int64
	problem             string
}

// parseReplicaStatus reads the answer of any of the three statements.
func parseReplicaStatus(rows host.Rows) replicaStatus {
	s := replicaStatus{count: len(rows.Values), receiving: true, applying: true, gtid: true, lagKnown: true}
	for _, row := range rows.Values {
		get := func(names ...string) string {
			for i, c := range rows.Columns {
				for _, n := range names {
					if strings.EqualFold(c, n) && i < len(row) {
						return host.Text(row, i)
					}
				}
			}
			return ""
		}
		s.receiving = s.receiving && get("Slave_IO_Running", "Replica_IO_Running") == "Yes"
		s.applying = s.applying && get("Slave_SQL_Running", "Replica_SQL_Running") == "Yes"
		using := get("Using_Gtid")
		s.gtid = s.gtid && (get("Auto_Position") == "1" || using != "" && using != "No")
		lag, ok := whole(get("Seconds_Behind_Master", "Seconds_Behind_Source"))
		s.lagKnown = s.lagKnown && ok
		s.lag = max(s.lag, lag)
		delay, _ := whole(get("SQL_Delay"))
		s.delay = max(s.delay, delay)
		for _, e := range []string{get("Last_IO_Error"), get("Last_SQL_Error")} {
			if e != "" && s.problem == "" {
				s.problem = e[:min(len(e), 500)]
			}
		}
	}
	return s
}

// replicas counts the connections that read the binary log.
func (l *look) replicas() {
	q := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
	if !l.isMariaDB() && AtLeast(l.in.version, "8.0") {
		// information_schema.PROCESSLIST takes a global lock and is deprecated.
		q = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'"
		if on, _ := Truth(l.variables["performance_schema"]); !on {
			l.gap("performance_schema is off", "", "replicas")
			return
		}
	}
	if l.isMariaDB() || !AtLeast(l.in.version, "8.0") {
		if n, ok := l.stat("slaves_connected"); ok { // MariaDB
			l.t.Set("replicas", stack.Int(n), statusQuery)
			return
		}
	}
	l.number(q, "replicas", "process list")
}

// number asks for one number.
func (l *look) number(query, fact, source string) {
	rows, ok := l.query(query, fact)
	if !ok || len(rows.Values) == 0 {
		return
	}
	if n, ok := whole(host.Text(rows.Values[0], 0)); ok {
		l.t.Set(fact, stack.Int(n), source)
	}
}

// semiSync sets the state of semi-synchronous replication under its old and
// its new names.
func (l *look) semiSync() {
	for _, side := range []string{"source", "master"} {
		on, have := l.variables["rpl_semi_sync_"+side+"_enabled"]
		if !have {
			continue
		}
		b, _ := Truth(on)
		l.t.Set("semi_sync_source", stack.Bool(b), "@@rpl_semi_sync_"+side+"_enabled")
		if n, ok := whole(l.variables["rpl_semi_sync_"+side+"_timeout"]); ok {
			l.t.Set("semi_sync_timeout", stack.Int(n), "@@rpl_semi_sync_"+side+"_timeout")
		}
		if point, ok := l.variables["rpl_semi_sync_"+side+"_wait_point"]; ok {
			l.t.Set("semi_sync_wait_point", stack.Text(point), "@@rpl_semi_sync_"+side+"_wait_point")
		}
		if s, ok := l.status["rpl_semi_sync_"+side+"_status"]; ok {
			b, _ := Truth(s)
			l.t.Set("semi_sync_active", stack.Bool(b), statusQuery)
		}
		l.each(map[string]string{"semi_sync_replicas": "rpl_semi_sync_" + side + "_clients", "semi_sync_missed": "rpl_semi_sync_" + side + "_no_tx"}, false, stack.Int)
		return
	}
	l.t.Absent("SHOW GLOBAL VARIABLES", "semi_sync_source", "semi_sync_timeout", "semi_sync_wait_point", "semi_sync_active", "semi_sync_replicas", "semi_sync_missed")
}

// groupMembers counts the members of a Group Replication group.
func (l *look) groupMembers() {
	facts := []string{"group_members", "group_members_online", "group_members_reachable"}
	const members = "performance_schema.replication_group_members"
	if !l.has("group_replication_group_name") || l.variables["group_replication_group_name"] == "" {
		l.t.Absent("SHOW GLOBAL VARIABLES", facts...)
		return
	}
	rows, ok := l.query("SELECT MEMBER_STATE, COUNT(*) FROM performance_schema.replication_group_members GROUP BY MEMBER_STATE", facts...)
	if !ok {
		return
	}
	total, online, reachable := parseGroup(rows)
	l.t.Set("group_members", stack.Int(total), members)
	l.t.Set("group_members_online", stack.Int(online), members)
	l.t.Set("group_members_reachable", stack.Int(reachable), members)
}

// parseGroup counts the members of a group by their states. One that recovers
// is no copy yet, but has its vote.
func parseGroup(rows host.Rows) (total, online, reachable int64) {
	for state, n := range Pairs(rows) {
		count, _ := whole(n)
		state = strings.ToLower(state)
		if state != "" && state != "offline" {
			total += count
		}
		if state == "online" {
			online += count
		}
		if state == "online" || state == "recovering" {
			reachable += count
		}
	}
	return total, online, reachable
}
