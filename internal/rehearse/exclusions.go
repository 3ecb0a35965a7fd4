package rehearse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A private server must not have all that the real one has: not its paths and
// addresses, nor what reaches other servers, nor what needs files, plugins or
// keys that are not there. The lists below say what is kept apart, by engine.
// A name that ends in * stands for all that begin so. What bears on speed has
// a reason, which is told; the rest is left out in silence. What bears on
// durability is never here: sync_binlog, the binary log itself,
// innodb_flush_log_at_trx_commit, the doublewrite buffer, fsync,
// synchronous_commit and full_page_writes are as they are on the server.

// exclusion is one line of such a list.
type exclusion struct {
	name string
	says string // why, where it can matter for speed
}

// excludedMySQL are for MariaDB, MySQL and Percona Server.
var excludedMySQL = []exclusion{
	// where it is, and how it is reached
	{"datadir", ""}, {"basedir", ""}, {"socket", ""}, {"port", ""}, {"extra_port", ""}, {"extra_max_connections", ""}, {"bind_address", ""}, {"admin_*", ""}, {"user", ""}, {"pid_file", ""},
	{"tmpdir", ""}, {"innodb_tmpdir", ""}, {"slave_load_tmpdir", ""}, {"replica_load_tmpdir", ""}, {"secure_file_priv", ""}, {"chroot", ""},
	{"skip_networking", ""}, {"skip_grant_tables", ""}, {"skip_name_resolve", ""}, {"plugin_dir", ""}, {"character_sets_dir", ""}, {"lc_messages_dir", ""},
	{"language", ""}, {"innodb_data_home_dir", ""}, {"innodb_log_group_home_dir", ""}, {"innodb_undo_directory", ""}, {"innodb_directories", ""},
	{"innodb_doublewrite_dir", ""}, {"innodb_parallel_doublewrite_path", ""}, {"innodb_temp_tablespaces_dir", ""}, {"innodb_temp_data_file_path", ""}, {"innodb_buffer_pool_filename", ""},
	{"aria_log_dir_path", ""}, {"mysqlx*", ""}, {"named_pipe*", ""}, {"shared_memory*", ""}, {"hostname", ""}, {"version*", ""}, {"system_time_zone", ""},
	{"log_error*", ""}, {"log_syslog*", ""}, {"syslog*", ""}, {"general_log_file", ""}, {"slow_query_log_file", ""}, {"log_slow_query_file", ""}, {"log_basename", ""}, {"log_bin_basename", ""},
	{"log_bin_index", ""}, {"relay_log*", ""}, {"open_files_limit", ""}, {"core_file", ""}, {"innodb_buffer_pool_in_core_file", ""}, {"persist*", ""}, {"external_user", ""},
	// who it is among others, and what it does with them
	{"server_id", ""}, {"server_id_bits", ""}, {"server_uuid", ""}, {"gtid_domain_id", ""}, {"gtid_slave_pos", ""}, {"gtid_purged", ""}, {"gtid_binlog_pos", ""}, {"gtid_binlog_state", ""}, {"report_*", ""},
	{"master_*", ""}, {"slave_*", ""}, {"replica_*", ""}, {"replicate_*", ""}, {"init_slave", ""}, {"init_replica", ""}, {"skip_slave_start", ""}, {"skip_replica_start", ""}, {"read_only", ""},
	{"super_read_only", ""}, {"offline_mode", ""}, {"sync_relay_log*", ""}, {"sync_master_info", ""}, {"sync_source_info", ""}, {"rpl_semi_sync_*", "no commit waits for a replica there"},
	{"binlog_do_db", ""}, {"binlog_ignore_db", ""}, {"binlog_expire_logs_seconds", ""}, {"expire_logs_days", ""}, {"max_binlog_total_size", ""}, {"binlog_space_limit", ""}, {"event_scheduler", ""},
	{"wsrep_*", "the sandbox is no member of a cluster"}, {"group_replication_*", "the sandbox is no member of a group"}, {"clone_*", ""},
	// code, keys and statements of its own
	{"plugin_load*", "the sandbox loads no plugins"}, {"early_plugin_load", "the sandbox loads no plugins"}, {"plugin_maturity", ""}, {"init_file", ""}, {"init_connect", ""}, {"des_key_file", ""},
	{"encrypt_*", "the sandbox has no keys, and encrypts nothing"}, {"innodb_encrypt_*", "the sandbox has no keys, and encrypts nothing"}, {"innodb_encryption_*", ""},
	{"innodb_redo_log_encrypt", "the sandbox has no keys, and encrypts nothing"}, {"innodb_undo_log_encrypt", "the sandbox has no keys, and encrypts nothing"},
	{"innodb_default_encryption_key_id", ""}, {"binlog_encryption", "the sandbox has no keys, and encrypts nothing"}, {"aria_encrypt_tables", "the sandbox has no keys, and encrypts nothing"},
	{"default_table_encryption", "the sandbox has no keys, and encrypts nothing"}, {"table_encryption_privilege_check", ""}, {"innodb_ft_*", ""}, {"ft_*", ""},
	// who may do what
	{"ssl*", ""}, {"tls*", ""}, {"require_secure_transport", ""}, {"have_*", ""}, {"auto_generate_certs", ""}, {"sha256_*", ""}, {"caching_sha2_*", ""}, {"default_authentication_plugin", ""},
	{"authentication_*", ""}, {"password_*", ""}, {"default_password_lifetime", ""}, {"disconnect_on_expired_password", ""}, {"old_passwords", ""}, {"secure_auth", ""}, {"strict_password_validation", ""},
	{"mandatory_roles", ""}, {"activate_all_roles_on_login", ""}, {"automatic_sp_privileges", ""}, {"partial_revokes", ""}, {"local_infile", ""}, {"proxy_*", ""}, {"allow_suspicious_udfs", ""},
	{"max_user_connections", ""}, {"max_connect_errors", ""}, {"max_password_errors", ""}, {"connection_memory_limit", ""}, {"global_connection_memory_limit", ""}, {"max_session_mem_used", ""},
	{"max_execution_time", ""}, {"max_statement_time", ""}, {"wait_timeout", ""}, {"interactive_timeout", ""}, {"idle_*", ""}, {"connect_timeout", ""}, {"net_read_timeout", ""}, {"net_write_timeout", ""},
	// how the load's own statements and tables would be read
	{"sql_mode", ""}, {"old_mode", ""}, {"ansi", ""}, {"autocommit", ""}, {"completion_type", ""}, {"character_set*", ""}, {"collation*", ""}, {"skip_character_set_client_handshake", ""}, {"init_connect", ""}, {"lc_*", ""},
	{"time_zone", ""}, {"default_time_zone", ""}, {"default_week_format", ""}, {"default_storage_engine", ""}, {"default_tmp_storage_engine", ""}, {"disabled_storage_engines", ""}, {"enforce_storage_engine", ""},
	{"storage_engine", ""}, {"lower_case_table_names", ""}, {"lower_case_file_system", ""}, {"explicit_defaults_for_timestamp", ""}, {"div_precision_increment", ""}, {"sql_require_primary_key", ""},
	{"sql_generate_invisible_primary_key", ""}, {"auto_increment_*", ""}, {"timestamp", ""}, {"tx_read_only", ""}, {"transaction_read_only", ""}, {"innodb_force_primary_key", ""}, {"sql_safe_updates", ""},
	{"sql_select_limit", ""}, {"max_join_size", ""}, {"innodb_read_only*", ""}, {"innodb_strict_mode", ""}, {"innodb_default_row_format", ""}, {"innodb_file_format*", ""},
	// what only a damaged or stopping server has
	{"innodb_force_recovery", "a sandbox needs no rescue"}, {"innodb_force_load_corrupted", ""}, {"innodb_fast_shutdown", ""}, {"innodb_redo_log_archive_dirs", ""}, {"tc_heuristic_recover", ""}, {"debug*", ""}, {"gdb", ""},
	// memory that must be reserved first
	{"large_pages", "no huge pages are reserved for the sandbox"}, {"super_large_pages", ""}, {"locked_in_memory", ""}, {"memlock", ""},
	// other engines and the sizes that a server finds for itself
	{"rocksdb_*", "the load's tables are InnoDB's"}, {"tokudb_*", ""}, {"spider_*", ""}, {"connect_*", ""}, {"ndb*", ""}, {"innodb_undo_tablespaces", ""},
	{"innodb_dedicated_server", "it would size the sandbox by the whole machine: buffer pool and redo log are given the sizes they have now"},
	{"innodb_buffer_pool_size_max", ""}, {"innodb_buffer_pool_size_auto_min", ""},
}

// excludedPostgres are for PostgreSQL.
var excludedPostgres = []exclusion{
	// where it is, and how it is reached
	{"data_directory*", ""}, {"config_file", ""}, {"hba_file", ""}, {"ident_file", ""}, {"external_pid_file", ""}, {"listen_addresses", ""}, {"port", ""}, {"unix_socket_*", ""}, {"bonjour*", ""},
	{"include*", ""}, {"cluster_name", ""}, {"application_name", ""}, {"stats_temp_directory", ""}, {"dynamic_library_path", ""}, {"extension_control_path", ""}, {"dynamic_shared_memory_type", ""},
	{"log_destination", ""}, {"logging_collector", ""}, {"log_directory", ""}, {"log_filename", ""}, {"log_file_mode", ""}, {"log_rotation_*", ""}, {"log_truncate_on_rotation", ""}, {"log_line_prefix", ""},
	{"log_timezone", ""}, {"syslog_*", ""}, {"event_source", ""}, {"temp_tablespaces", ""}, {"default_tablespace", ""}, {"temp_file_limit", ""},
	// who it is among others, and what it does with them
	{"archive_mode", "no WAL is archived there"}, {"archive_*", ""}, {"restore_command", ""}, {"recovery_*", ""}, {"primary_*", ""}, {"promote_trigger_file", ""}, {"hot_standby*", ""}, {"max_standby_*", ""},
	{"synchronous_standby_names", "no commit waits for a standby there"}, {"synchronized_standby_slots", ""}, {"sync_replication_slots", ""}, {"wal_receiver_*", ""}, {"wal_retrieve_retry_interval", ""},
	{"wal_sender_timeout", ""}, {"in_hot_standby", ""}, {"vacuum_defer_cleanup_age", ""}, {"idle_replication_slot_timeout", ""},
	// code and statements of its own
	{"shared_preload_libraries", "the sandbox loads no libraries"}, {"session_preload_libraries", "the sandbox loads no libraries"}, {"local_preload_libraries", "the sandbox loads no libraries"}, {"oauth_*", ""},
	{"output_plugin_libraries", ""}, {"jit_provider", ""}, {"*_libraries", ""},
	// who may do what
	{"ssl*", ""}, {"krb_*", ""}, {"gss_*", ""}, {"password_encryption", ""}, {"md5_password_warnings", ""}, {"scram_iterations", ""}, {"db_user_namespace", ""}, {"authentication_timeout", ""}, {"row_security", ""},
	{"allow_*", ""}, {"createrole_self_grant", ""}, {"restrict_nonsystem_relation_kind", ""}, {"pre_auth_delay", ""}, {"post_auth_delay", ""}, {"superuser_reserved_connections", ""}, {"reserved_connections", ""},
	{"statement_timeout", ""}, {"lock_timeout", ""}, {"transaction_timeout", ""}, {"idle_*", ""}, {"client_connection_check_interval", ""}, {"tcp_*", ""},
	// how the load's own statements and tables would be read
	{"search_path", ""}, {"role", ""}, {"session_*", ""}, {"default_transaction_read_only", ""}, {"default_transaction_deferrable", ""}, {"transaction_isolation", ""}, {"transaction_read_only", ""}, {"transaction_deferrable", ""}, {"default_table_access_method", ""},
	{"lc_*", ""}, {"timezone*", ""}, {"datestyle", ""}, {"intervalstyle", ""}, {"default_text_search_config", ""}, {"client_*", ""}, {"server_*", ""}, {"bytea_output", ""}, {"standard_conforming_strings", ""},
	{"escape_string_warning", ""}, {"backslash_quote", ""}, {"array_nulls", ""}, {"transform_null_equals", ""}, {"quote_all_identifiers", ""}, {"xml*", ""}, {"icu_validation_level", ""},
	{"check_function_bodies", ""}, {"event_triggers", ""}, {"exit_on_error", ""}, {"debug_*", ""}, {"trace_*", ""}, {"lo_compat_privileges", ""}, {"plpgsql.*", ""},
	// what only a damaged server has
	{"zero_damaged_pages", ""}, {"ignore_*", ""}, {"restart_after_crash", ""}, {"send_abort_*", ""}, {"remove_temp_files_after_crash", ""},
}

// excluded tells whether a setting is not for a private server, and why where
// that can matter for speed.
func excluded(kind, name, value string) (apart bool, why string) {
	list := excludedMySQL
	if kind == "postgres" {
		list = excludedPostgres
		if strings.Contains(name, ".") {
			return true, "" // of an extension
		}
	}
	i := slices.IndexFunc(list, func(x exclusion) bool { return x.covers(name) })
	switch {
	case i >= 0:
		return true, list[i].says
	case name == "huge_pages" && value == "on": // try is as good where there are some
		return true, "no huge pages are reserved for the sandbox, without which the server would not start"
	case namesPath(value), !oneLine(value):
		return true, ""
	}
	return false, ""
}

func (x exclusion) covers(name string) bool {
	if rest, ok := strings.CutPrefix(x.name, "*"); ok {
		return strings.HasSuffix(name, rest)
	}
	if rest, ok := strings.CutSuffix(x.name, "*"); ok {
		return strings.HasPrefix(name, rest)
	}
	return x.name == name
}

// oneLine tells whether a value can stand in a file of settings.
func oneLine(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl) && len(value) <= 2000
}

// namesPath tells whether a value leads to a file outside of the data
// directory.
func namesPath(value string) bool {
	v := strings.TrimSpace(value)
	for _, start := range []string{"/", "~", "./"} {
		if strings.HasPrefix(v, start) {
			return true
		}
	}
	return strings.Contains(v, "../") || strings.Contains(v, ";/") || strings.Contains(v, ":/")
}

// ofTheServer are the beginnings of the names of settings that MySQL and
// MariaDB have without any plugin. Of what the catalogue does not list, only
// these are taken over: a server refuses to start with a setting of a plugin
// that it does not have.
var ofTheServer = []string{"innodb_", "aria_", "optimizer_", "performance_schema", "join_", "histogram_", "table_", "thread_", "query_", "binlog_", "max_", "min_", "net_", "tmp_", "temptable_", "key_", "sort_",
	"read_", "range_", "eq_range_", "back_log", "concurrent_insert", "flush", "low_priority_updates", "log_slow_", "log_queries_", "mrr_", "preload_", "stored_program_", "tablespace_", "use_stat_tables", "metadata_locks_",
	"myisam_", "expensive_", "in_predicate_", "big_tables", "bulk_insert", "transaction_", "gtid_", "sync_", "lock_", "host_cache_"}

func beginsKnown(name string) bool {
	return slices.ContainsFunc(ofTheServer, func(p string) bool { return strings.HasPrefix(name, p) })
}
