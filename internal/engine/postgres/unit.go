package postgres

// baseUnit gives the unit of a bare number in a configuration file, for when
// the server cannot be asked. Measured with pg_settings of 10 to 18.
func baseUnit(name string) string {
	switch name {
	case "backend_flush_after", "bgwriter_flush_after", "checkpoint_flush_after", "commit_timestamp_buffers",
		"effective_cache_size", "io_combine_limit", "io_max_combine_limit", "min_parallel_index_scan_size",
		"min_parallel_table_scan_size", "multixact_member_buffers", "multixact_offset_buffers", "notify_buffers",
		"segment_size", "serializable_buffers", "shared_buffers", "subtransaction_buffers",
		"temp_buffers", "transaction_buffers", "wal_buffers", "wal_writer_flush_after":
		return "8kB"
	case "log_parameter_max_length", "log_parameter_max_length_on_error", "track_activity_query_size", "wal_decode_buffer_size",
		"wal_segment_size":
		return "B"
	case "max_slot_wal_keep_size", "max_wal_size", "min_dynamic_shared_memory", "min_wal_size",
		"shared_memory_size", "wal_keep_size":
		return "MB"
	case "autovacuum_work_mem", "gin_pending_list_limit", "huge_page_size", "log_rotation_size",
		"log_temp_files", "logical_decoding_work_mem", "maintenance_work_mem", "max_stack_depth",
		"temp_file_limit", "vacuum_buffer_usage_limit", "wal_skip_threshold", "work_mem":
		return "kB"
	case "log_rotation_age", "old_snapshot_threshold", "wal_summary_keep_time":
		return "min"
	case "autovacuum_vacuum_cost_delay", "bgwriter_delay", "client_connection_check_interval", "deadlock_timeout",
		"idle_in_transaction_session_timeout", "idle_session_timeout", "lock_timeout", "log_autovacuum_min_duration",
		"log_min_duration_sample", "log_min_duration_statement", "log_startup_progress_interval", "max_standby_archive_delay",
		"max_standby_streaming_delay", "recovery_min_apply_delay", "statement_timeout", "tcp_user_timeout",
		"transaction_timeout", "vacuum_cost_delay", "wal_receiver_timeout", "wal_retrieve_retry_interval",
		"wal_sender_timeout", "wal_writer_delay":
		return "ms"
	case "archive_timeout", "authentication_timeout", "autovacuum_naptime", "checkpoint_timeout",
		"checkpoint_warning", "idle_replication_slot_timeout", "post_auth_delay", "pre_auth_delay",
		"tcp_keepalives_idle", "tcp_keepalives_interval", "wal_receiver_status_interval":
		return "s"
	}
	return ""
}
