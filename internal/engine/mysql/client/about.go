package client

import (
	"context"
	"strings"

	"plumb/internal/host/reach"
	"plumb/internal/load"
)

// settings decide durability and memory, and what else moves a result.
const settings = "sync_binlog innodb_flush_log_at_trx_commit log_bin binlog_format innodb_doublewrite innodb_flush_method " +
	"innodb_buffer_pool_size innodb_log_file_size innodb_log_files_in_group innodb_redo_log_capacity innodb_io_capacity " +
	"max_connections max_prepared_stmt_count thread_handling query_cache_type performance_schema " +
	"rpl_semi_sync_master_enabled rpl_semi_sync_source_enabled wsrep_on"

// About implements load.Server.
func (s *Server) About(ctx context.Context) (load.About, error) {
	a, err := s.Admin(ctx)
	if err != nil {
		return load.About{}, err
	}
	defer a.Close()
	names := strings.Fields(settings)
	rows, err := a.Query(ctx, "SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'tx_isolation', "+
		"'transaction_isolation', '"+strings.Join(names, "', '")+"')")
	if err != nil {
		return load.About{}, err
	}
	value, settings := load.Values(rows, names)
	about := load.About{Product: product(value["version"], value["version_comment"]), Version: value["version"], Address: s.c.Address,
		Database: s.c.Database, Local: reach.IsLocal(s.c.Network, s.c.Address), Settings: settings}
	about.Isolation = strings.ReplaceAll(value["transaction_isolation"], "-", " ")
	if about.Isolation == "" { // before MySQL 5.7.20 and MariaDB 11.1
		about.Isolation = strings.ReplaceAll(value["tx_isolation"], "-", " ")
	}
	return about, nil
}

func product(version, comment string) string {
	switch {
	case strings.Contains(strings.ToLower(version+comment), "mariadb"):
		return "MariaDB"
	case strings.Contains(comment, "Percona"):
		return "Percona Server"
	}
	return "MySQL"
}
