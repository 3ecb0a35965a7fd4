package sampler

import (
	"context"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/series"
)

// filesQuery reads the time that files took, of those whose instrument is on
// and timed: of others the table has zeros. What is neither read nor written is
// fsync, and now and then an open or a seek.
const filesQuery = "SELECT f.EVENT_NAME, f.SUM_TIMER_READ, f.SUM_TIMER_WRITE, f.SUM_TIMER_MISC, f.COUNT_MISC " +
	"FROM performance_schema.file_summary_by_event_name f JOIN performance_schema.setup_instruments i ON i.NAME = f.EVENT_NAME " +
	"WHERE i.ENABLED = 'YES' AND i.TIMED = 'YES' AND f.EVENT_NAME IN " +
	"('wait/io/file/innodb/innodb_log_file', 'wait/io/file/innodb/innodb_data_file', 'wait/io/file/sql/binlog')"

// fileFacts are the readings of an event, by column of filesQuery.
func fileFacts(event string) map[int]string {
	switch event {
	case "wait/io/file/innodb/innodb_log_file":
		return map[int]string{3: "redo_fsync_us"}
	case "wait/io/file/sql/binlog":
		return map[int]string{3: "binlog_fsync_us", 4: "binlog_fsyncs"}
	case "wait/io/file/innodb/innodb_data_file":
		return map[int]string{1: "data_read_us", 2: "data_write_us"}
	}
	return nil
}

// The hint of whoever wants to see more than the process list.
const schemaHint = "set performance_schema = ON in the option file and restart the server"

// files reads what the files cost. It says, for all sources, when the
// performance schema is off.
func (v *Server) files(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if !t.schema {
		b.Gap(v.Ref, "the performance schema is off or not open to this user: it tells the time of files, and what sessions wait for", schemaHint+"; "+grantsHint,
			"redo_fsync_us", "binlog_fsync_us", "binlog_fsyncs", "data_read_us", "data_write_us", "sessions_unknown", "sessions_latch")
		return nil
	}
	switch {
	case v.lost.Load():
		b.Gap(v.Ref, "since the server started, the performance schema had no room for some sessions: what they wait for is known only from their states",
			"take performance_schema_max_thread_instances out of the option file, and restart the server with the max_connections that it needs", "sessions_unknown")
	case !t.waits:
		b.Gap(v.Ref, "the consumer events_waits_current is off: it tells what sessions wait for",
			"set performance_schema_consumer_events_waits_current = ON in the option file", "sessions_unknown")
	case !t.latches:
		b.Gap(v.Ref, "the instruments of InnoDB's latches are off: a session that waits for one looks as if it runs",
			"set performance_schema_instrument = 'wait/synch/%/innodb/%=ON' in the option file and restart the server, which costs some processor time", "sessions_latch")
	}
	rows, err := v.Ask(ctx, h, filesQuery)
	if err != nil {
		return err
	}
	for _, row := range rows.Values {
		facts := fileFacts(host.Text(row, 0))
		for i := 1; i <= 4; i++ {
			n, err := strconv.ParseFloat(host.Text(row, i), 64)
			if err != nil || facts[i] == "" {
				continue
			}
			if i < 4 {
				n /= 1e6 // picoseconds
			}
			b.Set(v.Ref, facts[i], n)
		}
	}
	return nil
}
