package private

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
)

func mysqlRules() rules {
	r := rules{
		canonical: mysqlName,
		noun:      "option",
		name:      regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`),
		controls:  "\n\r\x00\b\t",
		ours:      mysqlOurs(),
		box:       "paths, sockets and the network",
		leaves:    mysqlLeaves,
		would:     "load code",
		more:      mysqlMore,
	}
	r.create = r.setting // they stand in the option file too
	return r
}

// mysqlName gives a setting's name as SHOW VARIABLES has it.
func mysqlName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	return strings.TrimPrefix(name, "loose_")
}

// mysqlMore refuses paths, and what cannot be read back.
func mysqlMore(name, key, value string) error {
	if experiment.NamesPath(value) {
		return hint.With(fmt.Errorf("the setting %s contains a path, %s, which could be outside the lab's directory", name, value), "leave it out; files are in the data directory")
	}
	if rest, ok := strings.CutPrefix(key, "skip_"); ok && !skips(key) {
		return hint.With(fmt.Errorf("the setting %s cannot be read back from the server under this name", name), "write "+rest+": \"OFF\"")
	}
	return nil
}

// mysqlOurs are options that the lab sets, and others like them.
func mysqlOurs() []string {
	return []string{
		"datadir", "data", "socket", "port", "bind_address", "admin_address", "admin_port", "extra_port", "user", "basedir", "pid_file", "log_error",
		"tmpdir", "innodb_tmpdir", "slave_load_tmpdir", "replica_load_tmpdir", "secure_file_priv", "chroot", "skip_networking", "skip_grant_tables",
		"plugin_dir", "character_sets_dir", "lc_messages_dir", "language", "innodb_data_home_dir", "innodb_log_group_home_dir",
		"innodb_undo_directory", "innodb_directories", "innodb_doublewrite_dir", "innodb_temp_tablespaces_dir", "aria_log_dir_path",
		"mysqlx", "mysqlx_port", "mysqlx_socket", "mysqlx_bind_address", "syslog", "log_syslog", "console", "daemonize", "bootstrap", "initialize",
		"initialize_insecure", "help", "verbose", "version", "install", "remove", "standalone", "defaults_file", "defaults_extra_file", "no_defaults",
	}
}

// mysqlLeaves are options that run code from files or statements, or connect to
// other servers.
func mysqlLeaves(key string) bool {
	if strings.HasPrefix(key, "wsrep_") || strings.HasPrefix(key, "group_replication_") {
		return true
	}
	return slices.Contains([]string{
		"init_file", "plugin_load", "plugin_load_add", "early_plugin_load", "loose_plugin_load", "log_error_services", "report_host", "master_host",
		"des_key_file", "gdb", "debug", "debug_gdb", "old_mode_file", "temp_pool_dir",
	}, key)
}

// skips are variables whose names begin with skip_.
func skips(key string) bool {
	return slices.Contains([]string{"skip_name_resolve", "skip_external_locking", "skip_show_database", "skip_parallel_replication", "skip_replication",
		"skip_replica_start", "skip_slave_start"}, key)
}
