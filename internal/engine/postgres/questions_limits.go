package postgres

// limitQuestions asks for what runs out: sequences, members of multixacts,
// WAL for slots that are in use, and the WAL a standby gets.
func limitQuestions() []question {
	return []question{
		// A slot in use holds WAL back as well: its reader may be slower than the server writes.
		{about: "pg_replication_slots", facts: []string{"slots_active_retained"}, sql: `
			SELECT coalesce(max(pg_wal_lsn_diff(` + here + `, restart_lsn)), 0)::bigint AS slots_active_retained
			FROM pg_replication_slots WHERE active`},
		{about: "pg_replication_slots", absent: true, facts: []string{"slots_active_worst"}, sql: `
			SELECT (SELECT slot_name FROM pg_replication_slots WHERE active ORDER BY restart_lsn LIMIT 1) AS slots_active_worst`},
		// Who may not see the details of a receiver is still told that there is one.
		{about: "pg_stat_wal_receiver", absent: true, facts: []string{"receiver_running", "replay_age"}, sql: `
			SELECT CASE WHEN pg_is_in_recovery() THEN (SELECT count(pid) > 0 FROM pg_stat_wal_receiver) END AS receiver_running,
			CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM now() - pg_last_xact_replay_timestamp())::bigint END AS replay_age`},
		// A group of four members is their ids and four bytes of flags; a file has 32 pages.
		{about: "pg_ls_dir('pg_multixact/members')", before: 19, gone: true, facts: []string{"multixact_members"}, sql: `
			SELECT count(*) * 32 * 4 * (current_setting('block_size')::integer / 20) AS multixact_members FROM pg_ls_dir('pg_multixact/members')`},
		{about: "pg_sequence", facts: []string{"sequence_used", "sequence_used_name"}, sql: sequences,
			untold: "the sequences cannot all be seen: they are in other databases, there are too many, or this role may not read them",
			hint:   "give the database with --dsn postgres://…/DATABASE; " + grantsHint},
	}
}

// here is the place in the WAL that the server has come to.
const here = `(CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) ELSE pg_current_wal_lsn() END)`

// sequences finds the sequence that is nearest to its end: to its own maximum
// or to that of the column it belongs to. Those that can come to the end of a
// bigint are passed over: it takes centuries. To look at a sequence takes a
// lock that is held until the statement ends, of which a server has some
// thousands, so no more than 200 are looked at, those with the lowest maximum
// first. NULL is for what cannot be told: when none is near its end among
// those seen, and others were not seen. The database postgres counts as empty.
const sequences = `
	WITH seen AS (SELECT s.seqrelid, least(s.seqmax, CASE a.atttypid WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 END) AS most
		FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid AND c.relpersistence = 'p'
		LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid AND d.refclassid = 'pg_class'::regclass
			AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
		LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
		WHERE s.seqincrement > 0 AND NOT s.seqcycle),
	small AS (SELECT seqrelid, most FROM seen WHERE most < 9223372036854775807 AND most > 0 ORDER BY most, seqrelid LIMIT 200),
	used AS (SELECT seqrelid, has_sequence_privilege(seqrelid, 'SELECT,USAGE') AS told,
		CASE WHEN has_sequence_privilege(seqrelid, 'SELECT,USAGE') THEN round(coalesce(pg_sequence_last_value(seqrelid), 0)::numeric / most, 4) END AS used FROM small),
	most AS (SELECT coalesce(max(used), 0) AS used, coalesce(bool_or(NOT told), false) OR (SELECT count(*) > 200 FROM seen WHERE most < 9223372036854775807 AND most > 0)
		OR EXISTS (SELECT FROM pg_database WHERE datallowconn AND NOT datistemplate AND datname NOT IN ('postgres', current_database())) AS unseen FROM used)
	SELECT CASE WHEN NOT unseen OR used >= 0.8 THEN used END AS sequence_used,
	CASE WHEN NOT unseen OR used >= 0.8 THEN coalesce((SELECT u.seqrelid::regclass::text FROM used u WHERE u.used > 0 ORDER BY u.used DESC, 1 LIMIT 1), 'none') END AS sequence_used_name
	FROM most`
