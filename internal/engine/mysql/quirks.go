package mysql

import (
	"slices"
	"strings"

	"plumb/internal/catalog"
)

// mysqlTells lists variables of MySQL's that no option sets.
func mysqlTells() []string {
	return []string{"innodb_version", "large_files_support", "large_page_size", "log_bin_basename", "lower_case_file_system", "relay_log_basename", "version"}
}

// Optionless tells of a variable whether no option sets it: SET does, or nobody. MariaDB has a column for that in its table of variables, which
// calls others so too, of which an option stands apart, such as transaction_isolation. (NO_CMD_LINE in sql/sys_vars.cc, less what
// sql/mysqld.cc adds; the programs of MariaDB 10.11 and 11.4 and of MySQL 9.7 were asked.)
func Optionless(name string) bool {
	return slices.Contains(strings.Fields("aria_used_for_temp_tables character_set_connection character_set_database character_set_results character_set_system "+
		"check_constraint_checks collation_connection collation_database default_master_connection error_count external_user "+
		"foreign_key_checks gtid_binlog_pos gtid_binlog_state gtid_current_pos gtid_seq_no gtid_slave_pos have_compress "+
		"have_crypt have_dynamic_loading have_geometry have_openssl have_profiling have_query_cache have_rtree_keys have_ssl "+
		"have_symlink hostname identity in_transaction innodb_version insert_id large_files_support large_page_size last_gtid "+
		"last_insert_id license locked_in_memory log_bin_basename lower_case_file_system max_insert_delayed_threads "+
		"protocol_version proxy_user pseudo_slave_mode pseudo_thread_id rand_seed1 rand_seed2 relay_log_basename server_uid "+
		"skip_parallel_replication skip_replication sql_auto_is_null sql_big_selects sql_buffer_result sql_if_exists "+
		"sql_log_bin sql_log_off sql_notes sql_quote_show_create sql_safe_updates sql_select_limit sql_slave_skip_counter "+
		"sql_warnings storage_engine system_time_zone system_versioning_asof time_zone timestamp tx_isolation tx_read_only "+
		"unique_checks version version_comment version_compile_machine version_compile_os version_malloc_library "+
		"version_source_revision version_ssl_library warning_count wsrep_gtid_seq_no wsrep_patch_version"), name)
}

// persistible tells whether SET PERSIST_ONLY takes a variable. The place of
// the others is an option file. (Found by trying all on MySQL 9.7, and in the
// manual's list of nonpersistible and persist-restricted variables, of which
// those of TLS and keyrings are left out: they are no knobs.)
func persistible(name string) bool {
	return !slices.Contains([]string{
		"auto_generate_certs", "basedir", "bind_address", "core_file", "datadir", "init_file", "innodb_buffer_pool_load_at_startup", "innodb_data_file_path",
		"innodb_data_home_dir", "innodb_dedicated_server", "innodb_directories", "innodb_doublewrite", "innodb_log_group_home_dir",
		"innodb_page_size", "innodb_read_only", "innodb_temp_data_file_path", "innodb_temp_tablespaces_dir", "innodb_undo_directory",
		"log_bin", "log_bin_index", "log_error", "persisted_globals_load", "pid_file", "plugin_dir", "port", "relay_log", "relay_log_index", "replica_load_tmpdir",
		"secure_file_priv", "skip_networking", "slave_load_tmpdir", "socket", "tmpdir",
	}, name)
}

// atStart tells whether a variable takes the value at start only. MySQL has
// no table of that, so the catalogue says it, and here is what depends on the
// version and on other values.
func (a *alteration) atStart() bool {
	if a.in.flavor == flavorMariaDB {
		return a.atStartOfMariaDB()
	}
	since := func(v string) bool { return AtLeast(a.in.version, v) }
	switch a.name {
	case "innodb_log_write_ahead_size":
		return false
	case "innodb_log_buffer_size", "explicit_defaults_for_timestamp":
		return !since("8.0")
	case "innodb_doublewrite": // a restart lies between on and off
		return !since("8.0.30") || isOff(a.v.value) || isOff(a.want.To.String())
	}
	return a.want.Fact.EffectOn(a.thing) == catalog.Restart
}

// atStartOfMariaDB knows dynamic variables that the server cannot change in
// the state in which it is.
func (a *alteration) atStartOfMariaDB() bool {
	switch {
	case a.name == "max_user_connections": // counting begins and ends with a start
		return a.v.value == "0" || a.want.To.String() == "0"
	case a.name == "thread_pool_size":
		return a.thing.Text("thread_handling") != "pool-of-threads"
	case strings.HasPrefix(a.name, "wsrep_"):
		on, known := a.thing.Bool("wsrep_on")
		return known && !on
	}
	return false
}

func isOff(value string) bool {
	on, known := Truth(value)
	return known && !on
}
