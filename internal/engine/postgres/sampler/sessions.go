package sampler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
)

// activeQuery counts the processes that work for clients by what they do, whatever their number, and those that are ours
// apart. Of those that our role may not see the server tells neither kind nor state.
func activeQuery(t traits) string {
	return `SELECT state, wait_event_type, wait_event, count(*) AS sessions,
max(extract(epoch FROM clock_timestamp() - xact_start)) AS oldest,
count(*) FILTER (WHERE backend_type IS NULL AND state IS NULL AND query = '<insufficient privilege>') AS hidden,
pid = pg_backend_pid() OR ` + isSession + ` AND NOT ` + notOurs + ` AS ours, backend_type = 'parallel worker' AS helps
FROM pg_stat_activity WHERE ` + isSession + ` OR ` + t.isWorker() + ` OR backend_type IS NULL
GROUP BY 1, 2, 3, 7, 8 LIMIT 2000`
}

const isSession = "backend_type = 'client backend'"

// isWorker tells the parallel workers that help a session which is not ours: what a worker does costs its client time like
// what the session does itself. Since 13 the server tells whom it helps, which can also be autovacuum; before, there are none.
func (t traits) isWorker() string {
	if !t.tellsLeaders() {
		return "false"
	}
	return "backend_type = 'parallel worker' AND leader_pid IN (SELECT pid FROM pg_stat_activity WHERE " + isSession + " AND " + notOurs + ")"
}

// tellsLeaders: pg_stat_activity has leader_pid.
func (t traits) tellsLeaders() bool { return t.major >= 13 }

// notOurs leaves out sessions of another plumb that watches or checks: all look at the beginning of a second, and each would
// see the others at work. A name can be given by anybody, so only those count that log in as we do, from where we do.
const notOurs = `(application_name IS DISTINCT FROM 'plumb' OR usename IS DISTINCT FROM session_user OR client_addr IS DISTINCT FROM inet_client_addr())`

// running are the states of a session that can be running a statement. With track_activities off it does not say whether it does; then it
// waits for its client when it does not.
func running(state string) bool {
	return state == "active" || state == "fastpath function call" || state == "disabled"
}

// tally is what the groups of activeQuery add up to.
type tally struct {
	classes                                           map[series.Class]float64
	active, connected, blocked, open, oldest, unknown float64
	begun                                             bool // some are in a transaction: oldest is of those
}

func addUp(groups host.Rows, tr traits) tally {
	t := tally{classes: map[series.Class]float64{}}
	for _, row := range groups.Values {
		at := func(i int) string { return host.Text(row, i) }
		number := func(i int) float64 { n, _ := strconv.ParseFloat(at(i), 64); return n }
		if at(7) != "t" { // a parallel worker is no connection
			t.connected += number(3)
		}
		if at(6) == "t" {
			continue // it does nothing for a client, and still takes a slot that a client cannot have
		}
		t.unknown += number(5)
		if age := number(4); at(4) != "" && (!t.begun || age > t.oldest) {
			t.oldest, t.begun = age, true
		}
		if strings.HasPrefix(at(0), "idle in transaction") {
			t.open += number(3)
		}
		class, active := classOf(at(1), at(2))
		if !running(at(0)) || !active || tr.tellsLeaders() && forOthers(at(1), at(2)) {
			continue
		}
		t.active += number(3)
		t.classes[class] += number(3)
		if at(1) == "Lock" {
			t.blocked += number(3)
		}
	}
	return t
}

// sessions reads what the sessions do.
func (v *Server) sessions(ctx context.Context, h host.Reader, b *series.Batch) error {
	traits, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	groups, err := v.Ask(ctx, h, activeQuery(traits))
	if err != nil {
		return err
	}
	t := addUp(groups, traits)
	if t.unknown > 0 { // processes of the server itself are among them, so not even connections can be counted
		b.Gap(v.Ref, fmt.Sprintf("what %.0f sessions of %s do is not shown to this role", t.unknown, v.Ref), "GRANT pg_read_all_stats TO it; "+grantsHint)
		return nil
	}
	b.Set(v.Ref, "connections_used", t.connected)
	b.Set(v.Ref, "sessions_active", t.active)
	for _, c := range series.Classes {
		b.Set(v.Ref, "sessions_"+string(c), t.classes[c])
	}
	sample.Oldest(b, v.Ref, t.oldest)
	b.Set(v.Ref, "blocked_sessions", t.blocked)
	b.Set(v.Ref, "connections_idle_in_transaction", t.open)
	if t.active+t.open == 0 {
		return nil
	}
	rows, err := v.Ask(ctx, h, listQuery(traits))
	if err != nil {
		return err
	}
	prepared := false
	for _, row := range rows.Values {
		if s, ok := v.session(row); ok {
			b.Sessions = append(b.Sessions, s)
		}
		prepared = prepared || slices.Contains(strings.Split(host.Text(row, 12), ","), noSession)
	}
	if prepared {
		b.Gap(v.Ref, "a prepared transaction holds a lock that sessions wait for, and it has no session", "see pg_prepared_xacts; COMMIT PREPARED or ROLLBACK PREPARED ends it", "blocked_by")
	}
	return nil
}

// noSession is what pg_blocking_pids says of a prepared transaction.
const noSession = "0"

// listQuery asks for the sessions that are shown, the longest first, and who
// blocks those that wait for a lock. An autovacuum worker is no client, and can block some. Where there are too many, parallel workers
// are left out first. pg_blocking_pids holds up the lock manager for a moment, and is asked about no others.
func listQuery(t traits) string {
	id, user, first := "NULL", "coalesce(a.usename, a.backend_type)", ""
	if t.tellsLeaders() {
		user, first = "coalesce('parallel worker of ' || a.leader_pid, a.usename, a.backend_type)", "leader_pid IS NOT NULL, "
	}
	if t.major >= 14 {
		id = "a.query_id"
	}
	return fmt.Sprintf(`SELECT a.pid, %s, host(a.client_addr), a.datname, a.state, a.wait_event_type, a.wait_event,
extract(epoch FROM clock_timestamp() - CASE WHEN a.state IN ('active', 'fastpath function call') THEN a.query_start ELSE a.state_change END),
extract(epoch FROM clock_timestamp() - a.xact_start), %s, a.usesysid, a.datid,
CASE WHEN a.wait_event_type = 'Lock' THEN array_to_string(pg_blocking_pids(a.pid), ',') END
FROM (SELECT * FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (backend_type = 'autovacuum worker' OR (%s AND %s OR %s)
AND (state IN ('active', 'fastpath function call', 'disabled') AND wait_event_type IS DISTINCT FROM 'Client' OR state LIKE 'idle in transaction%%'))
ORDER BY %scoalesce(xact_start, query_start), pid LIMIT %d) a ORDER BY coalesce(a.xact_start, a.query_start), a.pid`,
		user, id, isSession, notOurs, t.isWorker(), first, series.MostSessions)
}

// session reads a row of listQuery.
func (v *Server) session(row []*string) (series.Session, bool) {
	at := func(i int) string { return host.Text(row, i) }
	id, err := strconv.ParseInt(at(0), 10, 64)
	if err != nil {
		return series.Session{}, false
	}
	s := series.Session{Of: v.Ref, ID: id, User: at(1), Client: at(2), Database: at(3), Active: running(at(4)), For: seconds(at(7)), InTx: seconds(at(8))}
	if at(9) != "" && at(9) != "0" {
		s.Statement = at(9) + "/" + at(10) + "/" + at(11)
	}
	if !s.Active {
		return s, true
	}
	if s.Class, s.Active = classOf(at(5), at(6)); at(5) != "" {
		s.Wait = at(5) + ":" + at(6)
	}
	seen := map[int64]bool{0: true} // a prepared transaction, which no session has
	for _, text := range strings.Split(at(12), ",") {
		if pid, err := strconv.ParseInt(text, 10, 64); err == nil && !seen[pid] && len(s.BlockedBy) < series.MostSessions {
			seen[pid] = true // several parallel workers of it
			s.BlockedBy = append(s.BlockedBy, pid)
		}
	}
	return s, true
}

// seconds reads an age; clocks that step back give none.
func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
