package point

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"plumb/internal/protect"
)

func config(c protect.Copy) string   { return path.Join(c.Run, "my.cnf") }
func socket(c protect.Copy) string   { return path.Join(c.Run, "mysqld.sock") }
func errorLog(c protect.Copy) string { return path.Join(c.Run, "error.log") }

// file is an option file that is written.
type file struct {
	strings.Builder
	bad string // the first value that cannot be written
}

// set writes one line. The server reads a backslash as an escape also in quotes.
func (f *file) set(name, value string) {
	if strings.ContainsAny(value, "\n\r\x00") && f.bad == "" {
		f.bad = name
	}
	fmt.Fprintf(f, "%s = \"%s\"\n", name, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value))
}

// options gives the option file of the copy: every path is the copy's.
func (n *neutral) options() (string, error) {
	f := &file{}
	f.WriteString("[mysqld]\n")
	n.places(f)
	n.kept(f)
	n.binlog(f)
	n.calm(f)
	n.network(f)
	if f.bad != "" {
		return "", fmt.Errorf("its %s holds a line break", f.bad)
	}
	return f.String(), nil
}

// places are the paths of the copy.
func (n *neutral) places(f *file) {
	run := n.c.Run
	if n.c.Server.UID == 0 {
		f.set("user", "root") // the server refuses to run as root unless it is told to
	}
	f.set("datadir", n.c.In(n.c.Server.Dir("data")))
	f.set("socket", socket(n.c))
	f.set("pid_file", run+"/mysqld.pid")
	f.set("log_error", errorLog(n.c))
	f.set("tmpdir", run+"/tmp")
	f.set("secure_file_priv", run+"/tmp")
	for _, name := range directories() {
		if at := n.setting(name); at != "" {
			f.set(name, n.c.In(at))
		}
	}
	var parts []string
	outside := false
	for part := range strings.SplitSeq(n.setting("innodb_data_file_path"), ";") {
		if path.IsAbs(part) {
			part, outside = n.c.In(part), true
		}
		parts = append(parts, part)
	}
	if outside {
		f.set("innodb_data_home_dir", "")
	}
	if len(parts) > 0 && parts[0] != "" {
		f.set("innodb_data_file_path", strings.Join(parts, ";"))
	}
	var more []string
	for _, d := range n.c.Server.Dirs {
		if d.Role == "tablespace" {
			more = append(more, n.c.In(d.Path))
		}
	}
	if len(more) > 0 && !isMariaDB(n.c.Server) && since(n.c.Server, "8.0") {
		f.set("innodb_directories", strings.Join(more, ";"))
	}
}

// kept are the source's settings without which its data is read wrongly. The copy may be brought under another version, which takes the
// name of one that it no longer has for none.
func (n *neutral) kept(f *file) {
	_, renamed := n.c.Server.Settings["log_replica_updates"]
	_, capacity := n.c.Server.Settings["innodb_redo_log_capacity"]
	for _, name := range plainSettings() {
		value, ok := n.c.Server.Settings[name]
		switch {
		case !ok, renamed && name == "log_slave_updates":
		case capacity && strings.HasPrefix(name, "innodb_log_file"): // of no effect, with a warning
		case name == "gtid_mode" && n.c.Purpose == protect.ForReplay: // which may be changed in the log
			f.set("loose_gtid_mode", "OFF_PERMISSIVE")
		case name == "innodb_undo_tablespaces" && !isMariaDB(n.c.Server) && since(n.c.Server, "8.0.14"): // likewise
		default:
			f.set("loose_"+name, value)
		}
	}
	if load := n.setting("plugin_load_add"); load != "" {
		f.set("plugin_load_add", load)
	}
}

// binlog lets recovery find the copied binary log, which decides about prepared
// transactions; nothing of it is purged.
func (n *neutral) binlog(f *file) {
	f.set("server_id", strconv.Itoa(n.number()))
	if !n.logs {
		f.WriteString("skip_log_bin\n")
		return
	}
	f.set("log_bin", n.c.In(n.setting("log_bin_basename")))
	f.set("log_bin_index", n.indexFile())
	if isMariaDB(n.c.Server) || !since(n.c.Server, "8.0") {
		f.set("expire_logs_days", "0")
	} else {
		f.set("binlog_expire_logs_seconds", "0")
	}
}

// number is the copy's own, and never the source's: by that it is known which logs the source wrote.
func (n *neutral) number() int {
	if strconv.Itoa(n.c.Number) == n.setting("server_id") {
		return n.c.Number + 1
	}
	return n.c.Number
}

// calm keeps the copy small, and from doing anything by itself.
func (n *neutral) calm(f *file) {
	f.set("event_scheduler", "OFF")
	if isMariaDB(n.c.Server) {
		f.set("symbolic_links", "OFF") // or a new table with a DATA DIRECTORY, which a replayed log can have, is made there: beside the source's
	}
	if !isMariaDB(n.c.Server) && since(n.c.Server, "8.0") {
		f.set("persisted_globals_load", "OFF")
	}
	if n.c.Purpose != protect.ForReplay {
		f.set("relay_log", "plumb-relay-bin")
		f.set("relay_log_index", "plumb-relay-bin.index")
		f.set("relay_log_recovery", "ON")
	}
	f.set("loose_wsrep_on", "OFF")
	f.set("loose_wsrep_provider", "none")
	f.set("loose_mysqlx", "OFF")
	f.set("loose_group_replication_start_on_boot", "OFF")
	f.set("innodb_buffer_pool_size", strconv.FormatInt(max(n.c.Memory, 5<<20), 10))
	f.set("innodb_buffer_pool_load_at_startup", "OFF")
	f.set("innodb_buffer_pool_dump_at_shutdown", "OFF")
	f.set("skip_name_resolve", "ON")
	if n.c.Purpose == protect.ForDrill {
		f.set("performance_schema", "OFF")
		f.set("max_connections", "20")
	}
}

// network is closed but for what is asked. A copy that is served closed is told so on
// its command line, because the same copy can be served in both ways.
func (n *neutral) network(f *file) {
	if n.c.Port == 0 {
		f.WriteString("skip_networking\n")
		if isMariaDB(n.c.Server) && n.c.Purpose == protect.ForDrill { // since 11.4 each start makes an RSA key of 4096 bits. A person's client wants it also on a socket
			f.WriteString("loose_skip_ssl\n")
		}
		return
	}
	f.set("port", strconv.Itoa(n.c.Port))
	f.set("bind_address", "127.0.0.1")
}
