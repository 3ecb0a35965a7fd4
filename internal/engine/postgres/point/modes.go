package point

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// snapshot stands for the storage's commands among the statements of a mode.
const snapshot = "-- snapshot"

// stopping begins the statement that ends a backup.
const stopping = "SELECT lsn, labelfile, spcmapfile FROM "

// state is what decides about modes.
type state struct {
	standby, pages, fsync, minimal, async bool // pages: full_page_writes, of a standby those of its primary
	backup                                string
	slot                                  bool // one can be had for the session
	blind                                 bool // the role does not see all settings
	major                                 int
	role                                  string
}

const stating = `SELECT pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN (SELECT full_page_writes::text FROM pg_control_checkpoint()) ` +
	`ELSE current_setting('full_page_writes') END IN ('on', 'true'), current_setting('fsync') = 'on', current_setting('wal_level') = 'minimal', ` +
	`(SELECT reset_val = 'off' FROM pg_settings WHERE name = 'synchronous_commit') OR EXISTS (SELECT 1 FROM pg_db_role_setting WHERE 'synchronous_commit=off' = ANY (setconfig)), ` +
	`(SELECT string_agg(proname::text, ', ') FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND NOT has_function_privilege(oid, 'EXECUTE') ` +
	`AND (proname IN ('pg_start_backup', 'pg_stop_backup', 'pg_backup_start', 'pg_backup_stop') AND pronargs > 0 OR proname = 'pg_ls_waldir')), ` +
	`(SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user) AND ` +
	`current_setting('max_replication_slots')::int > (SELECT count(*) FROM pg_replication_slots), current_setting('server_version_num')::int / 10000, current_user, NOT pg_has_role('pg_read_all_settings', 'USAGE')`

func readState(ctx context.Context, h host.Reader, t host.Target) (st state, err error) {
	row, err := host.One(h.Query(ctx, t, stating))
	if err != nil {
		return st, fmt.Errorf("read how the server keeps its WAL: %w", err)
	}
	at := func(i int) string { return host.Text(row, i) }
	st = state{standby: at(0) == "t", pages: at(1) == "t", fsync: at(2) == "t", minimal: at(3) == "t", async: at(4) == "t", backup: at(5), slot: at(6) == "t", role: at(8), blind: at(9) == "t"}
	st.major, err = strconv.Atoi(at(7))
	return st, err
}

// Modes implements protect.Engine.
func (Engine) Modes(ctx context.Context, h host.Reader, t host.Target, _ *stack.Stack, sv protect.Server, set protect.Set) ([]protect.Mode, error) {
	st, err := readState(ctx, h, t)
	if err != nil {
		return nil, err
	}
	outside := set.Lacks(sv, "log")
	crash := protect.Mode{Name: protect.ModeCrash, Statements: []string{snapshot}, Doubts: st.doubts(set), Not: outside,
		Why: "data, WAL and tablespaces are snapshotted at one moment: that is what a power cut leaves, and the WAL makes it whole"}
	if crash.Not == "" && set.Apart != "" {
		crash.Not = set.Apart
	}
	locked := protect.Mode{Name: protect.ModeLocked, Statements: []string{snapshot}, Why: "of no use to PostgreSQL",
		Not: "it writes WAL before the data, so files of one moment need no lock, and files of several moments need its backup protocol"}
	freeze := protect.Mode{Name: protect.ModeFreeze, Statements: []string{snapshot}, Doubts: st.doubts(set), Not: outside,
		Blocks: "all sessions: the server's processes stand still", Why: "nothing is written between the first snapshot and the last"}
	return []protect.Mode{crash, locked, st.backupAPI(sv, set, outside), freeze}, nil
}

const lastMoments = "synchronous_commit = off: commits of the last moments, which clients took for done"

// doubts tells what a point may lack, or by what luck it does not.
func (st state) doubts(set protect.Set) (all []string) {
	if st.async {
		all = append(all, lastMoments)
	}
	if !st.fsync {
		all = append(all, "fsync = off: it is whole only where the storage snapshots what the kernel has not written yet")
	}
	if st.blind {
		all = append(all, "the role "+st.role+" does not see all settings (GRANT pg_monitor): shared_preload_libraries may be missing in copies")
	}
	zfs := !slices.ContainsFunc(set.Volumes, func(v protect.Volume) bool { return v.Storage != "zfs" })
	if !st.pages && !zfs {
		all = append(all, "full_page_writes = off: a page that was being written may be in it by half")
	}
	return all
}

// backupAPI is the mode for volumes that are not of one moment.
func (st state) backupAPI(sv protect.Server, set protect.Set, outside string) protect.Mode {
	m := protect.Mode{Name: protect.ModeBackupAPI, Not: outside, Why: "each volume is of another moment, and the WAL from before the first to after the last is in the last",
		Order: order(sv, set)}
	if st.async {
		m.Doubts = []string{lastMoments}
	}
	switch {
	case m.Not != "":
	case st.minimal:
		m.Not = "wal_level = minimal: its backup protocol needs replica"
	case st.backup != "":
		m.Not = fmt.Sprintf("the role %s may not execute %s", st.role, st.backup)
	case st.standby && !st.pages:
		m.Not = "it is a standby, and its primary has full_page_writes = off: pages that are copied by half stay so"
	}
	if !st.slot {
		m.Doubts = append(m.Doubts, "no replication slot keeps the WAL meanwhile (the role "+st.role+" lacks REPLICATION, or none is free): the point fails when it is recycled")
	}
	if st.slot { // keeps the WAL that the copy needs from being recycled; it goes with the session
		m.Statements = append(m.Statements, "SELECT pg_create_physical_replication_slot('plumb_snapshot', true, true)")
	}
	start, stop := "SELECT pg_backup_start('plumb', fast => true)", stopping+"pg_backup_stop(wait_for_archive => false)"
	if st.major < 15 {
		start, stop = "SELECT pg_start_backup('plumb', true, false)", stopping+"pg_stop_backup(false, false)"
	}
	m.Statements = append(m.Statements, start)
	for i, v := range m.Order {
		if i == len(m.Order)-1 {
			m.Statements = append(m.Statements, stop)
		}
		m.Statements = append(m.Statements, snapshot+" of "+v)
	}
	return m
}

// order puts the volume with the WAL last, and before it the one with the control file:
// of a standby it says how far recovery must come for the others to be whole.
func order(sv protect.Server, set protect.Set) (all []string) {
	wal, _ := set.Of(sv.Dir("wal"))
	control, _ := set.Of(sv.Dir("data") + "/global")
	for _, v := range set.Volumes {
		if v != wal && v != control {
			all = append(all, v.Mountpoint)
		}
	}
	if control != wal {
		all = append(all, control.Mountpoint)
	}
	return append(all, wal.Mountpoint)
}
