package postgres

import "slices"

// questions lists what is asked about a server's work, in order. Column names
// are fact names. Views moved between releases: checkpoints left
// pg_stat_bgwriter in 17, writes of clients are in pg_stat_io since 16 and
// only there since 17.
func questions() []question {
	return slices.Concat(workQuestions(), activityQuestions(), replicationQuestions(), limitQuestions())
}

func workQuestions() []question {
	checkpoints := []string{"checkpoints_*", "checkpoint_write_avg", "checkpoint_sync_avg", "bgwriter_*", "backend_fsyncs"}
	return []question{
		{about: "pg_postmaster_start_time()", facts: []string{"uptime", "replication_role"}, sql: `
			SELECT extract(epoch FROM now() - pg_postmaster_start_time())::bigint AS uptime,
			CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END AS replication_role`},
		{about: "pg_stat_bgwriter", before: 17, facts: checkpoints, sql: `
			SELECT extract(epoch FROM now() - stats_reset)::bigint AS checkpoints_window,
			checkpoints_timed, checkpoints_req AS checkpoints_requested,
			round(((checkpoints_timed + checkpoints_req) * 3600 / greatest(extract(epoch FROM now() - stats_reset), 1))::numeric, 2) AS checkpoints_per_hour,
			round(checkpoints_req::numeric / greatest(checkpoints_timed + checkpoints_req, 1), 4) AS checkpoints_requested_share,
			(checkpoint_write_time / greatest(checkpoints_timed + checkpoints_req, 1))::bigint AS checkpoint_write_avg,
			(checkpoint_sync_time / greatest(checkpoints_timed + checkpoints_req, 1))::bigint AS checkpoint_sync_avg,
			round((maxwritten_clean * 3600 / greatest(extract(epoch FROM now() - stats_reset), 1))::numeric, 2) AS bgwriter_maxwritten_per_hour,
			buffers_backend_fsync AS backend_fsyncs FROM pg_stat_bgwriter`},
		{about: "pg_stat_checkpointer", from: 17, facts: checkpoints, sql: `
			SELECT extract(epoch FROM now() - c.stats_reset)::bigint AS checkpoints_window,
			num_timed AS checkpoints_timed, num_requested AS checkpoints_requested,
			round(((num_timed + num_requested) * 3600 / greatest(extract(epoch FROM now() - c.stats_reset), 1))::numeric, 2) AS checkpoints_per_hour,
			round(num_requested::numeric / greatest(num_timed + num_requested, 1), 4) AS checkpoints_requested_share,
			(write_time / greatest(num_timed + num_requested, 1))::bigint AS checkpoint_write_avg,
			(sync_time / greatest(num_timed + num_requested, 1))::bigint AS checkpoint_sync_avg,
			round((maxwritten_clean * 3600 / greatest(extract(epoch FROM now() - b.stats_reset), 1))::numeric, 2) AS bgwriter_maxwritten_per_hour,
			(SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation') AS backend_fsyncs
			FROM pg_stat_checkpointer c, pg_stat_bgwriter b`},
		{about: "pg_stat_wal", from: 14, facts: []string{"wal_*"}, sql: `
			SELECT extract(epoch FROM now() - stats_reset)::bigint AS wal_window,
			(wal_bytes * 3600 / greatest(extract(epoch FROM now() - stats_reset), 1)::numeric)::bigint AS wal_bytes_per_hour,
			round(least(wal_fpi::numeric * current_setting('block_size')::int / greatest(wal_bytes, 1), 1), 4) AS wal_fpi_share,
			wal_buffers_full FROM pg_stat_wal`},
		// Counters reach back to their last reset, which may be years ago. The WAL since
		// the last checkpoint that ended began tells what is written now.
		{about: "pg_control_checkpoint()", absent: true, facts: []string{"wal_recent", "wal_recent_window"}, sql: `
			SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint END AS wal_recent,
			CASE WHEN NOT pg_is_in_recovery() THEN extract(epoch FROM now() - greatest(checkpoint_time, pg_postmaster_start_time()))::bigint END AS wal_recent_window
			FROM pg_control_checkpoint()`},
		// A database that was never reset has no stats_reset since 15: it counts since
		// the cluster was made. The longest window keeps rates from being too high.
		{about: "pg_stat_database", facts: []string{"database_window", "cache_hit_share", "blocks_read_per_second", "transactions_per_second",
			"temp_bytes_per_hour", "deadlocks_per_hour"}, sql: `
			SELECT seconds::bigint AS database_window,
			round(hit::numeric / greatest(hit + read, 1), 4) AS cache_hit_share,
			round(read / seconds, 2) AS blocks_read_per_second,
			round(transactions / seconds, 2) AS transactions_per_second,
			(temp * 3600 / seconds)::bigint AS temp_bytes_per_hour,
			round(deadlocks * 3600 / seconds, 2) AS deadlocks_per_hour
			FROM (SELECT sum(blks_hit) AS hit, sum(blks_read) AS read, sum(xact_commit + xact_rollback) AS transactions,
			sum(temp_bytes) AS temp, sum(deadlocks) AS deadlocks,
			greatest(extract(epoch FROM now() - min(coalesce(stats_reset, least((SELECT stats_reset FROM pg_stat_bgwriter), (SELECT stats_reset FROM pg_stat_archiver))))), 1)::numeric AS seconds
			FROM pg_stat_database) AS d`},
		{about: "pg_stat_database", from: 12, newOnly: true, absent: true, facts: []string{"checksum_failures"}, sql: `
			SELECT sum(checksum_failures)::bigint AS checksum_failures FROM pg_stat_database`},
		{about: "pg_database_size()", facts: []string{"data_size"}, sql: `
			SELECT sum(pg_database_size(oid))::bigint AS data_size FROM pg_database`},
		{about: "pg_stat_all_tables of the database Plumb logs in to", absent: true, facts: []string{"dead_rows", "dead_rows_table", "dead_rows_share"}, sql: `
			SELECT n_dead_tup AS dead_rows, schemaname || '.' || relname AS dead_rows_table,
			round(n_dead_tup::numeric / greatest(n_live_tup + n_dead_tup, 1), 4) AS dead_rows_share
			FROM pg_stat_all_tables ORDER BY n_dead_tup DESC LIMIT 1`},
	}
}

func activityQuestions() []question {
	return []question{
		{about: "pg_stat_activity", facts: []string{"connections_used", "autovacuum_workers_busy"}, sql: `
			SELECT count(*) FILTER (WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS connections_used,
			count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS autovacuum_workers_busy FROM pg_stat_activity`},
		{about: "pg_stat_activity", facts: []string{"connections_active", "connections_idle_in_transaction", "oldest_idle_in_transaction", "oldest_transaction"}, sql: `
			SELECT CASE WHEN sees THEN active END AS connections_active, CASE WHEN sees THEN idle END AS connections_idle_in_transaction,
			CASE WHEN sees THEN coalesce(extract(epoch FROM idle_oldest), 0)::bigint END AS oldest_idle_in_transaction,
			CASE WHEN sees THEN coalesce(extract(epoch FROM oldest), 0)::bigint END AS oldest_transaction
			FROM (SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS sees,
			count(*) FILTER (WHERE state = 'active' AND pid <> pg_backend_pid()) AS active,
			count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle,
			max(now() - state_change) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_oldest,
			max(now() - xact_start) FILTER (WHERE pid <> pg_backend_pid()) AS oldest
			FROM pg_stat_activity WHERE backend_type = 'client backend') AS a`},
		// How often the WAL's durable end moves, looked at every millisecond where clients
		// were busy within the last second, and how many of them wait for that, looked at every fifteenth time:
		// pg_stat_wal counts since its last reset, and tells nothing of now; and what a
		// volume with a limit does differs from one hundredth of a second to the next.
		// The names of the waits were spelled in three ways: WALWriteLock before 13,
		// WALSync until 16.
		{about: "pg_current_wal_flush_lsn()", absent: true, facts: []string{"wal_flushes_per_second", "wal_clients_waiting", "wal_clients_busy"}, sql: `
			SELECT CASE WHEN count(lsn) > 1 THEN round((count(DISTINCT lsn) - 1) / extract(epoch FROM max(at) - min(at))::numeric, 1) END AS wal_flushes_per_second,
			round(avg(clients[1]), 1) AS wal_clients_waiting, round(avg(clients[2]), 1) AS wal_clients_busy
			FROM (SELECT ` + pause + `, clock_timestamp() AS at, CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END AS lsn,
			CASE WHEN look % 15 = 0 THEN ` + anew + ` END,
			CASE WHEN look % 15 = 0 THEN (SELECT ARRAY[count(*) FILTER (WHERE lower(wait_event) IN ('walsync', 'walwrite', 'walwritelock')), count(*)]
			FROM pg_stat_get_activity(CASE WHEN look > 0 THEN NULL::integer END)
			WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()) END AS clients
			FROM generate_series(1, (SELECT CASE WHEN count(*) >= 4 THEN 300 ELSE 0 END FROM pg_stat_activity WHERE backend_type = 'client backend'
			AND (state = 'active' OR state_change > now() - interval '1 second') AND pid <> pg_backend_pid())) AS looks(look)) AS looked`},
		{about: "pg_database", facts: []string{"xid_age", "multixact_age", "databases"}, sql: `
			SELECT max(age(datfrozenxid)) AS xid_age, max(mxid_age(datminmxid)) AS multixact_age, count(*) AS databases FROM pg_database`},
		{about: "pg_database", from: 15, newOnly: true, facts: []string{"collation_mismatches"}, sql: `
			SELECT coalesce(string_agg(datname, ',' ORDER BY datname), '') AS collation_mismatches FROM pg_database
			WHERE datcollversion <> pg_database_collation_actual_version(oid)`},
		{about: "pg_prepared_xacts", facts: []string{"prepared_transactions", "oldest_prepared_transaction"}, sql: `
			SELECT count(*) AS prepared_transactions,
			coalesce(extract(epoch FROM max(now() - prepared)), 0)::bigint AS oldest_prepared_transaction FROM pg_prepared_xacts`},
	}
}

// Slots: what a slot holds back is counted from where the server is now.
func replicationQuestions() []question {
	const here = `(SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) ELSE pg_current_wal_lsn() END AS lsn) AS here`
	slots := `count(*) AS slots, count(*) FILTER (WHERE NOT active) AS slots_inactive,
		count(*) FILTER (WHERE slot_type = 'logical') AS slots_logical,
		coalesce(max(pg_wal_lsn_diff(here.lsn, restart_lsn)) FILTER (WHERE NOT active), 0)::bigint AS slots_inactive_retained,
		coalesce(string_agg(slot_name, ',' ORDER BY slot_name) FILTER (WHERE NOT active), '') AS slots_inactive_names,
		greatest(coalesce(max(age(xmin)), 0), coalesce(max(age(catalog_xmin)), 0)) AS slots_xmin_age`
	facts := []string{"slots", "slots_*"}
	return []question{
		{about: "pg_replication_slots", before: 13, absent: true, facts: facts, sql: `SELECT ` + slots + `, NULL AS slots_lost FROM pg_replication_slots, ` + here},
		{about: "pg_replication_slots", from: 13, facts: facts, sql: `SELECT ` + slots + `,
			count(*) FILTER (WHERE wal_status IN ('unreserved', 'lost')) AS slots_lost FROM pg_replication_slots, ` + here},
		{about: "pg_stat_replication", facts: []string{"replicas", "replicas_synchronous"}, sql: `
			SELECT count(*) AS replicas, CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN
			count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END AS replicas_synchronous
			FROM pg_stat_replication WHERE application_name <> 'pg_basebackup'`},
		{about: "pg_stat_replication", absent: true, facts: []string{"replica_lag"}, sql: `
			SELECT max(pg_wal_lsn_diff(here.lsn, replay_lsn))::bigint AS replica_lag FROM pg_stat_replication, ` + here},
		{about: "pg_stat_archiver", facts: []string{"archive_failing", "archived", "archive_failed"}, sql: `
			SELECT archived_count AS archived, failed_count AS archive_failed,
			coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) AS archive_failing FROM pg_stat_archiver`},
		{about: "pg_stat_wal_receiver", absent: true, facts: []string{"receiver_status"}, sql: `
			SELECT status AS receiver_status FROM (SELECT 1 AS one) AS o LEFT JOIN pg_stat_wal_receiver ON true`},
	}
}
