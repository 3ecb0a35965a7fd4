package point

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// carried are the settings that a copy takes over: without the first line's it does not
// start or replay, by the others its answers would differ.
const carried = "max_connections max_worker_processes max_wal_senders max_prepared_transactions max_locks_per_transaction wal_level wal_log_hints " +
	"track_commit_timestamp max_replication_slots max_active_replication_origins shared_preload_libraries dynamic_library_path extension_control_path " +
	"TimeZone DateStyle IntervalStyle lc_messages lc_monetary lc_numeric lc_time default_text_search_config search_path standard_conforming_strings " +
	"bytea_output xmlbinary xmloption transform_null_equals default_transaction_isolation array_nulls extra_float_digits default_toast_compression " +
	"password_encryption work_mem random_page_cost seq_page_cost default_statistics_target jit"

// noted are settings that are not taken over, but that Plumb goes by.
const noted = "data_checksums stats_temp_directory external_pid_file archive_mode log_directory logging_collector"

// superuser is the key in the settings of the role that logs in to copies.
const superuser = "superuser"

const describing = `SELECT 'server_version' AS name, current_setting('server_version') AS value ` +
	`UNION ALL SELECT 'system_identifier', system_identifier::text FROM pg_control_system() ` +
	`UNION ALL SELECT 'superuser', (SELECT rolname::text FROM pg_roles WHERE rolsuper AND rolcanlogin ORDER BY oid <> 10, oid LIMIT 1) ` +
	`UNION ALL SELECT name, reset_val FROM pg_settings WHERE reset_val IS DISTINCT FROM boot_val AND name IN (%s)`

// Describe implements protect.Engine.
func (e Engine) Describe(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (protect.Server, host.Target, error) {
	found, err := e.probe.Find(ctx, h, s, db)
	if err != nil {
		return protect.Server{}, host.Target{}, err
	}
	if found.Local.Contained {
		return protect.Server{}, host.Target{}, hint.With(fmt.Errorf("%s runs in a container: what it calls a path is not one of this host", db), "run Plumb in the container's host namespace, or snapshot its volume with --with COMMAND")
	}
	d := description{ctx: found.Local.For(ctx), h: h, found: found, sv: protect.Server{Ref: db, Flavor: "postgres", PID: found.Local.PID, Settings: map[string]string{}}}
	for _, step := range []func() error{d.says, d.process, d.dirs} {
		if err := step(); err != nil {
			return protect.Server{}, host.Target{}, fmt.Errorf("describe %s: %w", db, err)
		}
	}
	d.sv.Unit = observe.OwnUnit(ctx, h, s, found.Local.Process)
	return d.sv, found.Target, nil
}

// description is a server that is being described.
type description struct {
	ctx   context.Context
	h     host.Reader
	found postgres.Found
	sv    protect.Server
}

// says reads what the server says of itself.
func (d *description) says() error {
	names := "'" + strings.ReplaceAll(carried+" "+noted, " ", "', '") + "'"
	rows, err := d.h.Query(d.ctx, d.found.Target, fmt.Sprintf(describing, names))
	if err != nil {
		return err
	}
	for _, row := range rows.Values {
		switch name, value := host.Text(row, 0), host.Text(row, 1); name {
		case "server_version":
			d.sv.Version, _, _ = strings.Cut(value, " ")
		case "system_identifier":
			d.sv.Identity = value
		default:
			d.sv.Settings[name] = value
		}
	}
	d.sv.Product = "PostgreSQL " + d.sv.Version
	if v := major(d.sv.Version); v < 10 {
		return fmt.Errorf("version %q: points are taken of 10 and later", d.sv.Version)
	}
	return nil
}

// process reads which program runs, as whom.
func (d *description) process() error {
	p, err := observe.ProgramOf(d.ctx, d.h, d.sv.PID)
	if err != nil {
		return err
	}
	if p.UID == 0 {
		return errors.New("it runs as root, as PostgreSQL never does")
	}
	d.sv.Program, d.sv.UID, d.sv.GID, d.sv.Env = []string{p.Path}, p.UID, p.GID, p.Env
	return nil
}

// dirs finds what lies where, by the links that the server itself follows.
func (d *description) dirs() error {
	data, err := d.real(d.found.Data)
	if err != nil {
		return err
	}
	d.sv.Dirs = []protect.Dir{{Role: "data", Path: data}}
	wal, err := d.real(data + "/pg_wal")
	if err != nil {
		return err
	}
	d.add("wal", wal, "pg_wal", data)
	links, err := d.h.Glob(d.ctx, host.Verbatim(d.found.Local.Root+data)+"/pg_tblspc/*")
	if err != nil {
		return err
	}
	for _, link := range links {
		name := "pg_tblspc/" + path.Base(link)
		to, err := d.real(data + "/" + name)
		if err != nil {
			return fmt.Errorf("find a tablespace: %w", err)
		}
		if !paths.Within(to, data) {
			d.add("tablespace", to, name, data)
		}
	}
	if on(d.sv.Settings["logging_collector"]) {
		dir := d.sv.Settings["log_directory"]
		if dir == "" {
			dir = "log"
		}
		if to, err := d.real(postgres.Under(data, dir)); err == nil {
			d.sv.Dirs = append(d.sv.Dirs, protect.Dir{Role: "log", Path: to})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *description) add(role, to, link, data string) {
	if to == data+"/"+link {
		link = ""
	}
	if !slices.ContainsFunc(d.sv.Dirs, func(o protect.Dir) bool { return o.Link == link && link != "" }) {
		d.sv.Dirs = append(d.sv.Dirs, protect.Dir{Role: role, Path: to, Link: link})
	}
}

// real gives a path after all links, as the server sees it.
func (d *description) real(name string) (string, error) {
	root := d.found.Local.Root
	st, err := d.h.Stat(d.ctx, root+name)
	if err != nil {
		return "", err
	}
	to := strings.TrimPrefix(st.Resolved, root)
	if !st.Mode.IsDir() || !path.IsAbs(to) || strings.ContainsAny(to, "\n") {
		return "", fmt.Errorf("%s leads to %q, which is not a directory", name, to)
	}
	return to, nil
}
