package point

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// described is a server while it is looked at.
type described struct {
	ctx   context.Context
	h     host.Reader
	local observe.Local
	v     map[string]string // SHOW GLOBAL VARIABLES
	sv    protect.Server
}

// Describe implements protect.Engine.
func (e *Engine) Describe(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (protect.Server, host.Target, error) {
	t, local, ok := e.probe.Reach(ctx, h, s, db)
	switch {
	case !ok:
		return protect.Server{}, t, hint.With(fmt.Errorf("describe %s: it cannot be reached", db), "is it running? "+observe.LoginHint(h, false))
	case local.Process == nil:
		return protect.Server{}, t, hint.With(fmt.Errorf("describe %s: it is not on this host", db), "run Plumb where the server's files are")
	case local.Contained:
		return protect.Server{}, t, hint.With(fmt.Errorf("describe %s: it runs in a container, whose paths and programs are not this host's", db),
			"run Plumb in the container's host namespace against a server that systemd starts")
	}
	rows, err := h.Query(ctx, t, "SHOW GLOBAL VARIABLES")
	if errors.Is(err, host.ErrLogin) {
		err = hint.With(err, observe.LoginHint(h, false)+"; --grants prints the rights that it needs")
	}
	if err != nil {
		return protect.Server{}, t, fmt.Errorf("describe %s: %w", db, err)
	}
	d := &described{ctx: ctx, h: h, local: local, v: engine.Pairs(rows)}
	d.identity(db)
	if err := d.process(s); err != nil {
		return protect.Server{}, t, fmt.Errorf("describe %s: %w", db, err)
	}
	d.dirs(s)
	if d.sv.Dir("data") == "" {
		return protect.Server{}, t, hint.With(fmt.Errorf("describe %s: where it keeps its data is not known", db), "run as root")
	}
	d.settings()
	d.plugins(t)
	return d.sv, t, nil
}

func (d *described) identity(db stack.Ref) {
	flavor, version := engine.Identify(d.v["version"], d.v["version_comment"])
	d.sv = protect.Server{Ref: db, Flavor: flavor, Version: version, Identity: d.v["server_uuid"], PID: d.local.PID,
		Product: product.Of(product.MySQL).Label(flavor) + " " + version}
}

// process tells how the server was started, and as whom it runs: the directory's owner would
// be root for a server that began as root.
func (d *described) process(s *stack.Stack) error {
	p := d.local.Process
	program, err := programOf(p.Text("exe"), p.List("args"))
	if err != nil {
		return err
	}
	d.sv.Program = program
	if d.sv.UID, d.sv.GID, err = observe.RunsAs(d.ctx, d.h, d.local.PID); err != nil {
		return err
	}
	d.sv.Unit = observe.OwnUnit(d.ctx, d.h, s, p)
	env, _ := d.h.ReadFile(d.ctx, fmt.Sprintf("/proc/%d/environ", d.local.PID)) // without it the copy has no more than the programs' own places
	d.sv.Env = observe.Libraries(env)
	return nil
}

// programOf gives the program, with its loader where it was started by one.
func programOf(exe string, args []string) ([]string, error) {
	if !path.IsAbs(exe) {
		return nil, hint.With(errors.New("which program it is cannot be seen"), "run as root")
	}
	if !strings.HasPrefix(path.Base(exe), "ld-") {
		return []string{exe}, nil
	}
	valued := []string{"--library-path", "--preload", "--argv0", "--audit", "--inhibit-rpath"}
	for i := 1; i < len(args); i++ {
		switch {
		case slices.Contains(valued, args[i]):
			i++
		case strings.HasPrefix(args[i], "--"):
		case path.IsAbs(args[i]):
			return append([]string{exe}, args[1:i+1]...), nil
		default:
			return nil, fmt.Errorf("its loader was given %s, which is not an absolute path", args[i])
		}
	}
	return nil, errors.New("its loader was given no program")
}

// dirs lists what must be in a point. Logs for people and temporary files are none
// of it: see Aside.
func (d *described) dirs(s *stack.Stack) {
	for _, r := range s.Roles {
		if r.DB == d.sv.Ref && r.Name != "log" && r.Name != "temporary" {
			d.dir(r.Name, d.resolved(cmp.Or(r.Resolved, r.Path)))
		}
	}
	data := d.sv.Dir("data")
	if data == "" {
		return
	}
	for _, at := range []struct{ role, variable string }{{"data", "innodb_data_home_dir"}, {"redo", "aria_log_dir_path"}, {"data", "rocksdb_datadir"}, {"redo", "rocksdb_wal_dir"}} {
		if p := d.v[at.variable]; path.IsAbs(p) {
			d.dir(at.role, d.resolved(path.Clean(p)))
		}
	}
	for _, at := range []struct{ role, variable string }{{"binlog", "log_bin_index"}, {"relaylog", "relay_log_index"}} {
		if p := d.v[at.variable]; path.IsAbs(p) && (at.role != "binlog" || on(d.v["log_bin"])) && (at.role != "relaylog" || d.sv.Dir("relaylog") != "") {
			d.dir(at.role, path.Dir(d.file(p)))
		}
	}
	for part := range strings.SplitSeq(d.v["innodb_data_file_path"], ";") {
		if file, _, _ := strings.Cut(part, ":"); path.IsAbs(file) {
			d.dir("data", path.Dir(d.file(file)))
		}
	}
	d.linked(data)
}

func (d *described) dir(role, at string) {
	one := protect.Dir{Role: role, Path: path.Clean(at)}
	if path.IsAbs(at) && !slices.Contains(d.sv.Dirs, one) {
		d.sv.Dirs = append(d.sv.Dirs, one)
	}
}

// linked adds the directories to which databases are linked.
func (d *described) linked(data string) {
	names, _ := d.h.Glob(d.local.For(d.ctx), host.Verbatim(d.local.Root+data)+"/*") // what is not seen here is found, and refused, in the copy
	for _, name := range names {
		if _, err := d.h.Readlink(d.local.For(d.ctx), name); err != nil {
			continue
		}
		st, err := d.h.Stat(d.local.For(d.ctx), name)
		if err == nil && st.Mode.IsDir() {
			d.sv.Dirs = append(d.sv.Dirs, protect.Dir{Role: "data", Path: strings.TrimPrefix(st.Resolved, d.local.Root), Link: path.Base(name)})
		}
	}
}

// resolved gives a path without its links, as the server sees it.
func (d *described) resolved(p string) string {
	st, err := d.h.Stat(d.local.For(d.ctx), d.local.Root+p)
	if err != nil || st.Resolved == "" {
		return p
	}
	return cmp.Or(strings.TrimPrefix(st.Resolved, d.local.Root), "/")
}

// file resolves the directory of a file: the file itself is only the beginning of a
// name, or comes and goes.
func (d *described) file(p string) string {
	return path.Join(d.resolved(path.Dir(path.Clean(p))), path.Base(p))
}

// plainSettings are copied as they are, where the server has them.
func plainSettings() []string {
	return []string{"innodb_page_size", "innodb_undo_tablespaces", "innodb_checksum_algorithm", "innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity",
		"innodb_flush_method", "innodb_use_native_aio", "innodb_file_per_table", "innodb_doublewrite", "innodb_default_row_format", "innodb_strict_mode", "innodb_compression_algorithm",
		"lower_case_table_names", "character_set_server", "collation_server", "sql_mode", "explicit_defaults_for_timestamp", "max_allowed_packet", "default_storage_engine",
		"binlog_format", "binlog_checksum", "gtid_mode", "enforce_gtid_consistency", "gtid_domain_id", "gtid_strict_mode", "log_slave_updates", "log_replica_updates",
		"basedir", "plugin_dir", "lc_messages_dir", "character_sets_dir", "plugin_maturity", nativePassword}
}

// directories are settings that are kept as absolute paths without links, and
// left out where they are below the data directory by default.
func directories() []string {
	return []string{"innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "innodb_doublewrite_dir", "aria_log_dir_path", "rocksdb_datadir", "rocksdb_wal_dir"}
}

// settings keeps what a copy needs.
func (d *described) settings() {
	keep := map[string]string{"log_bin": d.v["log_bin"], "server_id": d.v["server_id"], "sync_binlog": d.v["sync_binlog"], "innodb_flush_log_at_trx_commit": d.v["innodb_flush_log_at_trx_commit"]}
	for _, name := range plainSettings() {
		if value, ok := d.v[name]; ok && (value != "" || name == "sql_mode") {
			keep[name] = value
		}
	}
	for _, name := range directories() {
		if value := d.v[name]; path.IsAbs(value) {
			keep[name] = d.resolved(path.Clean(value))
		}
	}
	data := d.v["datadir"]
	for _, name := range []string{"log_bin_basename", "log_bin_index", "relay_log_basename", "relay_log_index", "pid_file"} {
		if value := d.v[name]; value != "" {
			if !path.IsAbs(value) {
				value = path.Join(data, value)
			}
			keep[name] = d.file(value)
		}
	}
	var parts []string
	for part := range strings.SplitSeq(d.v["innodb_data_file_path"], ";") {
		file, rest, _ := strings.Cut(part, ":")
		if path.IsAbs(file) {
			part = d.file(file) + ":" + rest
		}
		parts = append(parts, part)
	}
	keep["innodb_data_file_path"] = strings.Join(parts, ";")
	d.sv.Settings = keep
}

// plugins keeps which storage engines must be loaded, because a server that asks no accounts loads none by itself, and, for
// statements of the log that make accounts, with what those log in; and where the keys of encrypted tables come from.
func (d *described) plugins(t host.Target) {
	rows, err := d.h.Query(d.ctx, t, "SELECT PLUGIN_NAME, PLUGIN_TYPE, PLUGIN_LIBRARY FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND (PLUGIN_LIBRARY > '' OR PLUGIN_NAME = '"+nativePassword+"') ORDER BY PLUGIN_NAME")
	if err != nil {
		return // a copy that lacks one says so when it starts
	}
	var load, keys []string
	for _, row := range rows.Values {
		name, kind, library := host.Text(row, 0), strings.ToUpper(host.Text(row, 1)), host.Text(row, 2)
		switch {
		case library == "":
			if !isMariaDB(d.sv) && since(d.sv, "8.4") { // which has it off, unless it is told otherwise
				d.sv.Settings[nativePassword] = "ON"
			}
		case kind == "STORAGE ENGINE", kind == "AUTHENTICATION":
			load = append(load, name+"="+library)
		case kind == "ENCRYPTION", kind == "KEYRING", strings.HasPrefix(name, "keyring_"):
			keys = append(keys, name)
		}
	}
	if on(d.v["performance_schema"]) && !isMariaDB(d.sv) && since(d.sv, "8.0.24") {
		rows, err = d.h.Query(d.ctx, t, "SELECT STATUS_VALUE FROM performance_schema.keyring_component_status WHERE STATUS_KEY = 'Component_name'")
		if err == nil && len(rows.Values) > 0 {
			keys = append(keys, host.Text(rows.Values[0], 0))
		}
	}
	if len(load) > 0 {
		d.sv.Settings["plugin_load_add"] = strings.Join(load, ";")
	}
	if len(keys) > 0 {
		d.sv.Settings[keysSetting] = strings.Join(keys, ", ")
	}
}

// nativePassword is a plugin that MySQL 8.4 still has built in; it is on if the setting of that name is.
const nativePassword = "mysql_native_password"

// keysSetting names what gives the server the keys of encrypted tables.
const keysSetting = "plumb:keys"
