package point

import (
	"context"
	"errors"
	"fmt"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// judged is what decides about the modes.
type judged struct {
	sv        protect.Server
	set       protect.Set
	v         map[string]string
	unsafe    string // tables that a power cut may tear; "" for none
	unseen    string // why it is not known which there are
	replica   bool
	galera    bool
	redoOff   bool // ALTER INSTANCE DISABLE INNODB REDO_LOG
	prepared  int  // XA transactions
	untried   string
	schemaOff bool // performance_schema
	blind     bool // this user does not see what others run
	unplaced  bool // nor where the server stands
}

// Modes implements protect.Engine.
func (e *Engine) Modes(ctx context.Context, h host.Reader, t host.Target, s *stack.Stack, sv protect.Server, set protect.Set) ([]protect.Mode, error) {
	rows, err := h.Query(ctx, t, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, fmt.Errorf("decide how to take a point of %s: %w", sv.Ref, err)
	}
	j := &judged{sv: sv, set: set, v: engine.Pairs(rows)}
	j.galera = on(j.v["wsrep_on"]) && j.v["wsrep_provider"] != "" && j.v["wsrep_provider"] != "none"
	j.schemaOff = !on(j.v["performance_schema"])
	if db := s.Find(sv.Ref); db != nil {
		j.replica, _ = db.Bool("is_replica")
		redo, known := db.Bool("redo_enabled")
		j.redoOff = known && !redo
	}
	if sv.Flavor == product.Percona || !isMariaDB(sv) && !since(sv, "8.0") {
		j.untried = "; written from the documentation of " + sv.Product + ", and never run here"
	}
	grants, err := h.Query(ctx, t, "SHOW GRANTS")
	if err == nil {
		j.blind = lacks(grants, "", "PROCESS") != nil
		j.unsafe, j.unseen, err = tornTables(ctx, h, t, grants)
	}
	if err != nil {
		return nil, fmt.Errorf("decide how to take a point of %s: %w", sv.Ref, err)
	}
	if rows, err := h.Query(ctx, t, "XA RECOVER"); err == nil {
		j.prepared = len(rows.Values)
	} else if !errors.Is(err, host.ErrDenied) {
		return nil, fmt.Errorf("decide how to take a point of %s: %w", sv.Ref, err)
	}
	if err := j.place(ctx, h, t); err != nil {
		return nil, fmt.Errorf("decide how to take a point of %s: %w", sv.Ref, err)
	}
	return []protect.Mode{j.crash(), j.locked(), {Name: protect.ModeBackupAPI, Not: "the server has no protocol for a copy of its files that is made by others"}, j.freeze()}, nil
}

// place looks whether this user may ask where the server stands: without that nothing proves that a lock held.
func (j *judged) place(ctx context.Context, h host.Reader, t host.Target) error {
	_, err := read(ctx, func(ctx context.Context, q string) (host.Rows, error) { return h.Query(ctx, t, q) }, j.positions())
	if errors.Is(err, host.ErrDenied) {
		j.unplaced, err = true, nil
	}
	return err
}

// tornTables looks for users' tables that are not the same after a power cut. The
// system tables of MariaDB are Aria tables with a log of their own
// (scripts/mysql_system_tables.sql: transactional=1), but for help texts and the statistics of
// ANALYZE, which can be made again; those of MySQL are InnoDB, and nobody misses log tables in CSV.
func tornTables(ctx context.Context, h host.Reader, t host.Target, grants host.Rows) (unsafe, unseen string, err error) {
	if !engine.SeesTables(grants) {
		return "", "this user does not see all tables: GRANT SHOW VIEW ON *.*", nil
	}
	all, err := torn(ctx, func(ctx context.Context, q string) (host.Rows, error) { return h.Query(ctx, t, q) })
	if errors.Is(err, context.DeadlineExceeded) {
		return "", "it took too long to ask for the engine of each: there are too many, or one is being changed", nil
	}
	return all, "", err
}

// torn names them.
func torn(ctx context.Context, q ask) (string, error) {
	rows, err := q(ctx, "SELECT ENGINE, COUNT(*), MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN "+
		engine.OwnSchemas+" AND (ENGINE IS NULL OR ENGINE NOT IN ('InnoDB', 'ROCKSDB', 'MEMORY', 'BLACKHOLE', 'FEDERATED', 'SPIDER', 'PERFORMANCE_SCHEMA')) GROUP BY ENGINE ORDER BY ENGINE")
	if err != nil {
		return "", err
	}
	var all []string
	for _, row := range rows.Values {
		kind, n, first := host.Text(row, 0), host.Text(row, 1), host.Text(row, 2)
		if kind == "" {
			kind = "that cannot be opened"
		}
		all = append(all, fmt.Sprintf("%s of %s (%s)", n, kind, first))
	}
	return strings.Join(all, ", "), nil
}

func (j *judged) crash() protect.Mode {
	m := protect.Mode{Name: protect.ModeCrash, Statements: append(j.positions(), snapshot), Doubts: j.doubts(),
		Why: "all users' tables are transactional, and data, redo log and binary log are in one atomic snapshot: recovery makes of it what it makes of a power cut" + j.untried}
	switch {
	case j.never() != "":
		m.Not = j.never()
	case j.set.Apart != "":
		m.Not = "the snapshots are not of one moment: " + j.set.Apart
	case j.unseen != "":
		m.Not = "it is not known whether all tables are transactional: " + j.unseen
	case j.unsafe != "":
		m.Not = "these tables may be torn: " + j.unsafe
	case j.v["innodb_flush_log_at_trx_commit"] == "0":
		m.Not = "innodb_flush_log_at_trx_commit = 0: the redo log may lack the last second, which the binary log has"
	case j.v["innodb_force_recovery"] != "" && j.v["innodb_force_recovery"] != "0":
		m.Not = "innodb_force_recovery = " + j.v["innodb_force_recovery"] + ": what the server keeps may not be whole"
	}
	return m
}

// never is why no server starts on a snapshot, however that is taken. Without a redo log InnoDB writes pages as it likes, notes in its files
// that it does so, and refuses what was killed meanwhile (MySQL 8.0.21 and later).
func (j *judged) never() string {
	switch {
	case len(j.set.Strays) > 0:
		return j.set.Strays[0].Path + " is not in the snapshot: " + j.set.Strays[0].Why
	case j.redoOff:
		return "the redo log is switched off, and without it the files are never whole while the server runs: ALTER INSTANCE ENABLE INNODB REDO_LOG"
	}
	return ""
}

// doubts are those of every mode.
func (j *judged) doubts() (all []string) {
	if j.prepared > 0 {
		all = append(all, units.Count(j.prepared, "prepared XA transaction")+": open in every copy, with row locks")
	}
	if keys := j.sv.Settings[keysSetting]; keys != "" {
		all = append(all, "keys come from "+keys+": Plumb does not start copies of such a server, and without the keys nobody can read them")
	}
	if j.replica && !isMariaDB(j.sv) && j.v["relay_log_info_repository"] == "FILE" {
		all = append(all, "relay_log_info_repository = FILE: a copy may not know exactly what it has applied")
	}
	return all
}

func (j *judged) locked() protect.Mode {
	m := protect.Mode{Name: protect.ModeLocked, Statements: j.script(), Will: j.will(), Doubts: j.doubts()}
	switch {
	case j.staged():
		m.Why = "BACKUP STAGE BLOCK_COMMIT holds commits, DDL and writes to tables without transactions" + j.untried
		m.Blocks = "commits, DDL, and writes to tables without transactions"
	default:
		m.Why = "FLUSH TABLES WITH READ LOCK holds all writes" + j.untried
		m.Blocks = "all writes and DDL"
		if j.replica && (more(j.v["replica_parallel_workers"]) || more(j.v["slave_parallel_workers"])) {
			m.Doubts = append(m.Doubts, "several applier threads: the lock may not be granted while they wait for each other; then it is given up")
		}
	}
	if j.blind {
		m.Doubts = append(m.Doubts, "this user does not see who is in the way of the lock (GRANT PROCESS ON *.*): nothing but the lock's own time limit holds")
	}
	m.Blocks += fmt.Sprintf(", also while the lock is waited for: a try is given up after %s at first, and after longer when many have failed", units.Span(firstTry))
	if !j.limits() {
		m.Blocks += "; a second session ends it (KILL QUERY)"
	}
	if j.galera {
		m.Blocks += "; on this node: it is desynced before, so that the rest of the cluster does not wait for it"
	}
	if m.Not = j.never(); m.Not != "" {
		return m
	}
	if j.unplaced {
		m.Not = "nothing would prove that the lock held: this user may not query the server's position (GRANT " + j.seesPlace() + " ON *.*)"
	}
	if j.set.Apart != "" {
		// Only commits wait: pages go on being written, some before and some after.
		m.Not = "the server writes pages while commits wait, and the snapshots are not of one moment: " + j.set.Apart
	}
	return m
}

// seesPlace is the right to ask where the server stands.
func (j *judged) seesPlace() string {
	if isMariaDB(j.sv) && since(j.sv, "10.5.2") {
		return "BINLOG MONITOR"
	}
	return "REPLICATION CLIENT"
}

func more(workers string) bool { return workers != "" && workers != "0" && workers != "1" }

// freeze is done without the server.
func (j *judged) freeze() protect.Mode {
	m := protect.Mode{Name: protect.ModeFreeze, Statements: append(j.positions(), snapshot), Doubts: j.doubts(), Blocks: "everybody: the server's processes stand still",
		Why: "nothing is written while the snapshots are taken, wherever they lie; recovery makes of it what it makes of a power cut" + j.untried}
	m.Not = j.never()
	if j.unsafe != "" {
		m.Doubts = append(m.Doubts, "tables that may need a repair: "+j.unsafe)
	}
	if j.unseen != "" {
		m.Doubts = append(m.Doubts, "it is not known whether all tables are transactional: "+j.unseen)
	}
	if j.v["innodb_flush_log_at_trx_commit"] == "0" {
		m.Doubts = append(m.Doubts, "innodb_flush_log_at_trx_commit = 0: the last second")
	}
	return m
}
