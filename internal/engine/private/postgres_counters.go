package private

import (
	"context"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/load"
)

// Counters implements lab.Engine, in bytes and counts:
//
//	server redo written  WAL, as its position advances (all releases)
//	server redo fsyncs   of WAL segments (14 and later)
//	server written       pages, extensions of files, WAL and temporary files
//	server fsyncs        of WAL segments and of tables (16 and later)
//	server read          pages (16 and later)
//
// The same is counted in all releases, though 18 could tell more: pages of WAL
// that are written again and new segments filled with zeros are left out, and
// so are the small files of a checkpoint. Before 16 the blocks read hold those
// by which files were extended, so what was read is unknown. Processes report
// once a second and when they end, all but the position of the WAL: what is
// counted over a time holds up to a second of the load before it. What each counter holds was compared with strace on
// 15, 17 and 18.
func (postgresEngine) Counters(ctx context.Context, a load.Admin) (map[string]float64, error) {
	base, err := row(ctx, a, "SELECT current_setting('server_version_num') AS version, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal, "+
		"(SELECT sum(temp_bytes) FROM pg_stat_database) AS temporary, "+
		"CASE WHEN current_setting('wal_sync_method') LIKE 'open%' THEN 1 ELSE 0 END AS opened")
	if err != nil {
		return nil, err
	}
	version := 0
	if v := base["version"]; v != nil {
		version = int(*v) / 10000
	}
	pages, err := row(ctx, a, pagesQuery(version))
	if err != nil {
		return nil, err
	}
	if method := base["opened"]; method == nil || *method == 1 {
		pages["redo_fsyncs"] = nil // it is the write that syncs, and no call is counted
	}
	all := sums{}
	all.add("server redo written", base["wal"])
	all.add("server redo fsyncs", pages["redo_fsyncs"])
	all.add("server written", pages["written"], base["wal"], base["temporary"])
	all.add("server fsyncs", pages["fsyncs"], pages["redo_fsyncs"])
	all.add("server read", pages["read"])
	return all, nil
}

// pagesQuery asks for written and read in bytes, fsyncs of tables and
// redo_fsyncs, as far as a release knows them.
func pagesQuery(version int) string {
	const tables = " FROM pg_stat_io WHERE object IN ('relation', 'temp relation')"
	switch {
	case version >= 18:
		return "SELECT sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) AS written, sum(read_bytes) AS read, sum(fsyncs) AS fsyncs, " +
			"(SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS redo_fsyncs" + tables
	case version >= 16:
		return "SELECT sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) AS written, sum(reads * op_bytes) AS read, sum(fsyncs) AS fsyncs, " +
			"(SELECT wal_sync FROM pg_stat_wal) AS redo_fsyncs" + tables
	}
	query := "SELECT (buffers_checkpoint + buffers_clean + buffers_backend) * current_setting('block_size')::bigint AS written"
	if version >= 14 {
		query += ", (SELECT wal_sync FROM pg_stat_wal) AS redo_fsyncs"
	}
	return query + " FROM pg_stat_bgwriter"
}

// row reads one row of numbers by the names of their columns; nil for NULL.
func row(ctx context.Context, a load.Admin, query string) (map[string]*float64, error) {
	rows, err := a.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	all := map[string]*float64{}
	for _, values := range rows.Values {
		for i, name := range rows.Columns {
			if n, err := strconv.ParseFloat(strings.TrimSpace(host.Text(values, i)), 64); err == nil {
				all[name] = &n
			}
		}
	}
	return all, nil
}
