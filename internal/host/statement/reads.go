// Package statement tells statements of SQL that only read from others.
package statement

import (
	"slices"
	"strings"
)

// Reads reports whether a text is one SQL statement that only reads, for
// the dialers of SQL databases. It is made to refuse: a statement it does not
// understand is not a reading one. It knows the functions that act (end a
// session, take a lock, switch the log), but not a user's own: the session
// must be read-only as well.
func Reads(query string) bool {
	tokens, ok := sqlTokens(query)
	if !ok || len(tokens) == 0 {
		return false
	}
	if tokens[len(tokens)-1] == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 || slices.Contains(tokens, ";") || slices.Contains(tokens, ":=") {
		return false
	}
	switch tokens[0] {
	case "select", "show", "with", "table", "values", "explain", "describe", "desc", "(":
	default:
		return false
	}
	for i, token := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if sqlActs(token, next) {
			return false
		}
	}
	return true
}

// sqlActs reports whether a word, outside of strings and quotes, can belong
// to a statement that does more than read.
func sqlActs(word, next string) bool {
	switch word {
	case "into", "insert", "update", "delete", "merge", "replace", "truncate", "create", "alter", "drop",
		"grant", "revoke", "call", "do", "copy", "lock", "analyze", "analyse", "procedure", "handler", "prepare", "execute":
		// A column or function may have such a name: replace(a, b, c) only
		// reads, and SHOW CREATE TABLE too.
		return !(word == "replace" && next == "(") && !(word == "create" && slices.Contains(showCreate(), next))
	case "for": // FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE
		return slices.Contains([]string{"update", "no", "share", "key"}, next)
	case "next", "previous": // NEXT VALUE FOR a sequence
		return next == "value"
	}
	return next == "(" && actingFunction(strings.TrimSuffix(word, " "))
}

func showCreate() []string {
	return []string{"table", "database", "schema", "view", "user", "event", "trigger", "function", "sequence"}
}

// actingFunction knows the functions that do more than read or that wait.
func actingFunction(name string) bool {
	switch name {
	case "sleep", "benchmark", "load_file", "get_lock", "release_lock", "release_all_locks", "master_pos_wait",
		"source_pos_wait", "wait_for_executed_gtid_set", "master_gtid_wait", "wait_until_sql_thread_after_gtids",
		"nextval", "setval", "lastval", "set_config", "txid_current", "pg_current_xact_id", "pg_promote", "pg_notify",
		"pg_reload_conf", "pg_rotate_logfile", "pg_terminate_backend", "pg_cancel_backend", "pg_export_snapshot",
		"pg_import_system_collations", "pg_prewarm", "pg_log_backend_memory_contexts", "pg_log_standby_snapshot",
		"pg_switch_wal", "pg_switch_xlog", "gin_clean_pending_list", "sys_exec", "sys_eval", "asynchronous_connection_failover_add_source":
		return true
	}
	for _, prefix := range []string{
		"pg_advisory_", "pg_try_advisory_", "pg_create_", "pg_drop_", "pg_replication_", "pg_logical_", "pg_copy_",
		"pg_sleep", "pg_stat_reset", "pg_stat_clear", "pg_stat_statements_reset", "pg_read_", "pg_file_", "pg_start_backup",
		"pg_stop_backup", "pg_backup_", "pg_wal_replay_pause", "pg_wal_replay_resume", "pg_xlog_replay_", "pg_set_", "pg_clear_",
		"pg_restore_", "pg_buffercache_evict", "pg_sync_", "lo_", "loread", "lowrite", "dblink", "query_to_xml", "table_to_xml",
		"cursor_to_xml", "schema_to_xml", "database_to_xml", "brin_", "xml_", "keyring_", "service_get_", "group_replication_",
		"mysql_firewall_", "audit_log_", "version_tokens_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
