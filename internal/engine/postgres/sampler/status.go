package sampler

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// statusQuery reads the counters of all databases. Columns are named after the
// readings they become; what is NULL is not given.
const statusQuery = `SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) AS uptime,
CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() - '0/0'::pg_lsn END AS wal_bytes,
sum(xact_commit) AS commits, sum(xact_rollback) AS rollbacks, sum(blks_read) AS blocks_read, sum(blks_hit) AS blocks_hit,
sum(tup_returned) AS rows_returned, sum(tup_inserted + tup_updated + tup_deleted) AS rows_changed, sum(temp_bytes) AS temp_bytes,
sum(deadlocks) AS deadlocks,
CASE WHEN current_setting('track_io_timing') = 'on' THEN sum(blk_read_time) END AS block_read_ms,
CASE WHEN current_setting('track_io_timing') = 'on' THEN sum(blk_write_time) END AS block_write_ms
FROM pg_stat_database`

// status reads the server's counters.
func (v *Server) status(ctx context.Context, h host.Reader, b *series.Batch) error {
	return v.read(ctx, h, statusQuery, b)
}

// read asks a question of one row whose columns are named after readings.
func (v *Server) read(ctx context.Context, h host.Reader, query string, b *series.Batch) error {
	rows, err := v.Ask(ctx, h, query)
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return errors.New("the server's answer is not one row")
	}
	setColumns(b, v.Ref, rows.Columns, rows.Values[0])
	return nil
}

// setColumns sets the numbers of a row, whose columns are named after readings. What is no number is not given.
func setColumns(b *series.Batch, of stack.Ref, columns []string, row []*string) {
	for i, name := range columns {
		n, err := strconv.ParseFloat(host.Text(row, i), 64)
		if err == nil && n >= 0 && n < 1<<63 {
			b.Set(of, name, n)
		}
	}
}

// io reads what is counted of checkpoints, WAL and pages.
func (v *Server) io(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if !t.timed {
		b.Gap(v.Ref, "track_io_timing is off", "ALTER SYSTEM SET track_io_timing = on, and reload; pg_test_timing tells what the clock costs", "block_read_ms", "block_write_ms")
	}
	if !t.walTimed && t.major >= 14 {
		b.Gap(v.Ref, "track_wal_io_timing is off", "ALTER SYSTEM SET track_wal_io_timing = on, and reload; pg_test_timing tells what the clock costs", "wal_write_ms", "wal_sync_ms")
	}
	if t.major < 16 {
		b.Gap(v.Ref, "PostgreSQL counts only since version 16 for which kind of process pages are evicted", "", "client_evictions")
	}
	return v.read(ctx, h, ioQuery(t), b)
}

// ioQuery is of one row. Checkpoints left pg_stat_bgwriter in 17 for
// pg_stat_checkpointer; writes of WAL left pg_stat_wal in 18 for pg_stat_io;
// pg_stat_io is there since 16, and since 18 counts requests of several pages as
// one, so that pages are told by the bytes.
func ioQuery(t traits) string {
	columns, from := []string{"b.buffers_clean AS background_writes"}, []string{"pg_stat_bgwriter b"}
	if t.major < 17 {
		columns = append(columns, "b.checkpoints_timed, b.checkpoints_req AS checkpoints_requested, b.checkpoint_write_time AS checkpoint_write_ms",
			"b.checkpoint_sync_time AS checkpoint_sync_ms, b.buffers_checkpoint AS checkpoint_buffers, b.buffers_backend_fsync AS backend_fsyncs")
	} else {
		columns = append(columns, "c.num_timed AS checkpoints_timed, c.num_requested AS checkpoints_requested, c.write_time AS checkpoint_write_ms",
			"c.sync_time AS checkpoint_sync_ms, c.buffers_written AS checkpoint_buffers, r.fsyncs AS backend_fsyncs")
		from = append(from, "pg_stat_checkpointer c")
	}
	if t.major >= 14 {
		columns, from = append(columns, "w.wal_fpi, w.wal_records, w.wal_buffers_full"), append(from, "pg_stat_wal w")
	}
	if t.major >= 14 && t.major < 18 {
		columns = append(columns, "w.wal_write AS wal_writes, w.wal_sync AS wal_syncs", onlyIf(t.walTimed, "w.wal_write_time", "wal_write_ms"), onlyIf(t.walTimed, "w.wal_sync_time", "wal_sync_ms"))
	}
	if t.major >= 18 {
		columns = append(columns, "l.writes AS wal_writes, l.fsyncs AS wal_syncs", onlyIf(t.walTimed, "l.write_time", "wal_write_ms"), onlyIf(t.walTimed, "l.fsync_time", "wal_sync_ms"))
		from = append(from, "(SELECT sum(writes) AS writes, sum(fsyncs) AS fsyncs, sum(write_time) AS write_time, sum(fsync_time) AS fsync_time FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') l")
	}
	if t.major < 16 {
		columns = append(columns, "b.buffers_backend AS client_writes")
	} else {
		columns = append(columns, "r.reads AS client_reads, r.writes AS client_writes, r.evictions AS client_evictions")
		from = append(from, clientIO(t))
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + strings.Join(from, ", ")
}

// clientIO is what clients read, wrote and evicted of tables, in pages. What they write and evict in bulk (COPY, VACUUM, scans of
// large tables) is left out: they do that in a ring of their own, as they should, and not because the cache has no room.
func clientIO(t traits) string {
	reads, writes := "sum(reads)", "sum(writes)"
	if t.major >= 18 {
		reads, writes = "sum(read_bytes)", "sum(write_bytes)"
	}
	const normal = " FILTER (WHERE context = 'normal')"
	return "(SELECT " + pages(t, reads) + " AS reads, " + pages(t, writes+normal) + " AS writes, sum(evictions)" + normal + " AS evictions, sum(fsyncs) AS fsyncs " +
		"FROM pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation') r"
}

// pages makes pages of what pg_stat_io counts.
func pages(t traits, sum string) string {
	if t.major >= 18 {
		return sum + " / current_setting('block_size')::numeric"
	}
	return sum
}

// onlyIf gives a column that is NULL where its clock does not run.
func onlyIf(on bool, column, name string) string {
	if !on {
		column = "NULL"
	}
	return column + " AS " + name
}
