package sampler

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/series"
)

// databasesQuery reads the counters of each database, the busiest first, without those of what all share, which have no
// name. The columns behind the name are named after the readings they become; what is NULL is not given.
var databasesQuery = fmt.Sprintf(`SELECT datname, numbackends AS connections, xact_commit AS commits, xact_rollback AS rollbacks,
blks_read AS blocks_read, blks_hit AS blocks_hit, tup_returned AS rows_returned, tup_fetched AS rows_fetched, tup_inserted AS rows_inserted,
tup_updated AS rows_updated, tup_deleted AS rows_deleted, conflicts, temp_files, temp_bytes, deadlocks,
CASE WHEN current_setting('track_io_timing') = 'on' THEN blk_read_time END AS block_read_ms,
CASE WHEN current_setting('track_io_timing') = 'on' THEN blk_write_time END AS block_write_ms
FROM pg_stat_database WHERE datname IS NOT NULL ORDER BY xact_commit + xact_rollback DESC, datid LIMIT %d`, series.MostDatabases+1)

// databases reads what is counted for each database.
func (v *Server) databases(ctx context.Context, h host.Reader, b *series.Batch) error {
	rows, err := v.Ask(ctx, h, databasesQuery)
	if err != nil {
		return err
	}
	if len(rows.Values) > series.MostDatabases {
		b.Gap(v.Ref, fmt.Sprintf("it has more than %d databases; the busiest are counted apart", series.MostDatabases), "", "databases")
		rows.Values = rows.Values[:series.MostDatabases]
	}
	for _, row := range rows.Values {
		setColumns(b, series.Database(v.Ref, host.Text(row, 0)), behind(rows.Columns), behind(row))
	}
	return nil
}

// behind is all but the first; what answers need not be a server that keeps to what was asked.
func behind[T any](all []T) []T { return all[min(1, len(all)):] }
