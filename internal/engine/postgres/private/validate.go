package private

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
)

// Validate refuses settings that would lead a server out of its box, or that
// neither its configuration file nor initdb knows how to say.
func Validate(s experiment.Server) error {
	for _, name := range slices.Sorted(maps.Keys(s.Create)) {
		if err := validCreate(canonical(name), strings.TrimSpace(s.Create[name])); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if err := validSetting(name, s.Settings[name]); err != nil {
			return err
		}
	}
	return nil
}

// validCreate knows what initdb can be told.
func validCreate(name, value string) error {
	plain := regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`)
	switch name {
	case "data_checksums":
		if _, ok := parseBool(value); !ok {
			return fmt.Errorf("create: data_checksums is %q, and must be on or off", value)
		}
	case "wal_segment_size":
		if _, ok := walSegment(value); !ok {
			return fmt.Errorf("create: wal_segment_size is %q, and must be a power of two from 1MB to 1GB", value)
		}
	case "encoding", "locale":
		if !plain.MatchString(value) {
			return fmt.Errorf("create: %s is %q, which is no name of one", name, value)
		}
	default:
		return hint.With(fmt.Errorf("create: initdb is not told of %s", name), "create knows data_checksums, wal_segment_size, encoding and locale; others are settings")
	}
	return nil
}

var validName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_$]*(\.[a-zA-Z_][a-zA-Z0-9_$]*)*$`)

func validSetting(name, value string) error {
	key := canonical(name)
	switch {
	case !validName.MatchString(name):
		return fmt.Errorf("the setting %q has a name no parameter can have", name)
	case strings.ContainsAny(value, "\n\r\x00"):
		return fmt.Errorf("the setting %s has control characters in its value", name)
	case ours(key):
		return hint.With(fmt.Errorf("the setting %s is the lab's own: paths, sockets, logs and the network keep the server in its box", name), "leave it out")
	case leaves(key):
		return hint.With(fmt.Errorf("the setting %s would have the server run commands, or reach other servers", name), "leave it out")
	case libraries(key) && strings.Contains(value, "/"):
		return hint.With(fmt.Errorf("the setting %s names a path, and libraries are taken from the server's own directory alone", name), "name the library without a path")
	case key == "data_checksums" || key == "wal_segment_size":
		return hint.With(fmt.Errorf("the setting %s counts when the data is made", name), "put it under create")
	}
	return nil
}

// ours are parameters that the lab sets, and others like them.
func ours(key string) bool {
	return slices.Contains([]string{
		"data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "listen_addresses", "port", "unix_socket_directories",
		"unix_socket_directory", "unix_socket_group", "unix_socket_permissions", "bonjour", "bonjour_name", "include", "include_dir", "include_if_exists",
		"log_destination", "logging_collector", "log_directory", "log_filename", "log_file_mode", "stats_temp_directory", "ssl", "event_source",
		"ssl_ca_file", "ssl_cert_file", "ssl_crl_file", "ssl_crl_dir", "ssl_key_file", "ssl_dh_params_file", "krb_server_keyfile", "dynamic_library_path",
		"extension_control_path", "restrict_nonsystem_relation_kind", "syslog_facility", "syslog_ident",
	}, key)
}

// leaves are parameters that run commands or connect to other servers.
func leaves(key string) bool {
	return slices.Contains([]string{
		"archive_command", "archive_library", "archive_cleanup_command", "recovery_end_command", "restore_command", "ssl_passphrase_command",
		"ssl_passphrase_command_supports_reload", "primary_conninfo", "primary_slot_name", "promote_trigger_file", "jit_provider",
	}, key)
}

// libraries are parameters that load code.
func libraries(key string) bool {
	return strings.HasSuffix(key, "_libraries")
}
