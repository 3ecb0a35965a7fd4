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

// MySQLOptionless lists variables of MySQL's, of all its versions, to which no option belongs: it has no table that tells. SET changes the
// others. (NO_CMD_LINE in sql/sys_vars.cc, but for those of which an option stands apart; tx_isolation and tx_read_only are of 5.7.)
func MySQLOptionless() []string {
	return append(mysqlTells(), "character_set_connection", "character_set_database", "character_set_results", "character_set_system",
		"collation_connection", "collation_database", "foreign_key_checks", "hostname", "license", "locked_in_memory", "protocol_version",
		"sql_auto_is_null", "sql_big_selects", "sql_buffer_result", "sql_log_off", "sql_notes", "sql_quote_show_create", "sql_safe_updates",
		"sql_select_limit", "sql_warnings", "system_time_zone", "tx_isolation", "tx_read_only", "unique_checks")
}

// OptionApart tells of a variable of MariaDB's to which no option belongs (NO_CMD_LINE in sql/sys_vars.cc) whether an option of its name is
// there all the same, apart from it (my_long_options in sql/mysqld.cc).
func OptionApart(name string) bool {
	return slices.Contains([]string{"log_bin", "skip_external_locking", "transaction_isolation", "transaction_read_only"}, name)
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
