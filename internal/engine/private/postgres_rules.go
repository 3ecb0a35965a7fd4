package private

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	engine "plumb/internal/engine/postgres"
	"plumb/internal/hint"
)

func postgresRules() rules {
	return rules{
		canonical: postgresName,
		noun:      "parameter",
		name:      regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_$]*(\.[a-zA-Z_][a-zA-Z0-9_$]*)*$`),
		controls:  "\n\r\x00",
		ours:      postgresOurs(),
		box:       "paths, sockets, logs and the network",
		leaves:    postgresLeaves,
		would:     "run commands",
		more:      postgresMore,
		create:    postgresCreate,
	}
}

func postgresName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// postgresMore refuses libraries from elsewhere, and what initdb is told.
func postgresMore(name, key, value string) error {
	switch {
	case libraries(key) && strings.Contains(value, "/"):
		return hint.With(fmt.Errorf("the setting %s contains a path, but libraries are loaded only from the server's own directory", name), "name the library without a path")
	case key == "data_checksums" || key == "wal_segment_size":
		return hint.With(fmt.Errorf("the setting %s is used only when the data directory is created", name), "put it under create")
	}
	return nil
}

// postgresCreate knows what initdb can be told.
func postgresCreate(name, value string) error {
	name, value = postgresName(name), strings.TrimSpace(value)
	plain := regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`)
	switch name {
	case "data_checksums":
		if _, ok := engine.ParseBool(value); !ok {
			return fmt.Errorf("create: data_checksums is %q, and must be on or off", value)
		}
	case "wal_segment_size":
		if _, ok := walSegment(value); !ok {
			return fmt.Errorf("create: wal_segment_size is %q, and must be a power of two from 1MB to 1GB", value)
		}
	case "encoding", "locale":
		if !plain.MatchString(value) {
			return fmt.Errorf("create: %s is %q, which is not the name of one", name, value)
		}
	default:
		return hint.With(fmt.Errorf("create: %s is not an option for initdb", name), "create accepts data_checksums, wal_segment_size, encoding and locale; others are settings")
	}
	return nil
}

// postgresOurs are parameters that the lab sets, and others like them.
func postgresOurs() []string {
	return []string{
		"data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "listen_addresses", "port", "unix_socket_directories",
		"unix_socket_directory", "unix_socket_group", "unix_socket_permissions", "bonjour", "bonjour_name", "include", "include_dir", "include_if_exists",
		"log_destination", "logging_collector", "log_directory", "log_filename", "log_file_mode", "stats_temp_directory", "ssl", "event_source",
		"ssl_ca_file", "ssl_cert_file", "ssl_crl_file", "ssl_crl_dir", "ssl_key_file", "ssl_dh_params_file", "krb_server_keyfile", "dynamic_library_path",
		"extension_control_path", "restrict_nonsystem_relation_kind", "syslog_facility", "syslog_ident",
	}
}

// postgresLeaves are parameters that run commands or connect to other servers.
func postgresLeaves(key string) bool {
	return slices.Contains([]string{
		"archive_command", "archive_library", "archive_cleanup_command", "recovery_end_command", "restore_command", "ssl_passphrase_command",
		"ssl_passphrase_command_supports_reload", "primary_conninfo", "primary_slot_name", "promote_trigger_file", "jit_provider",
	}, key)
}

// libraries are parameters that load code.
func libraries(key string) bool {
	return strings.HasSuffix(key, "_libraries")
}
