package point

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Engine implements [protect.Engine].
type Engine struct{ probe *postgres.Probe }

var (
	_ protect.Engine = Engine{}
	_ protect.Teller = Engine{}
)

// New makes the engine; given is the server of a data source name, or nil.
func New(given *host.Target) Engine { return Engine{postgres.NewProbe(nil, given)} }

// Kind implements protect.Engine.
func (Engine) Kind() string { return "postgres" }

// Aside implements protect.Engine.
func (Engine) Aside(_ *stack.Stack, sv protect.Server, file string) bool {
	data := sv.Dir("data")
	if strings.HasPrefix(file, "/dev/") || strings.Contains(file, "/pgsql_tmp/") {
		return true
	}
	if !paths.Within(file, data) && path.Ext(file) == ".log" { // of its standard error, where pg_ctl was told so
		return true
	}
	for _, d := range sv.Dirs {
		if d.Role == "log" && paths.Within(file, d.Path) {
			return true
		}
	}
	dir := sv.Settings["stats_temp_directory"]
	return dir != "" && paths.Within(file, postgres.Under(data, dir)) || slices.Contains([]string{path.Join(data, "postmaster.pid"), sv.Settings["external_pid_file"]}, file)
}

// standing is where the server's log stands. A standby's data never holds what it
// has not replayed; a primary's commits are told to nobody before this moves.
const standing = `SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, ` +
	`CASE WHEN pg_is_in_recovery() THEN (SELECT greatest(c.timeline_id, r.min_recovery_end_timeline) FROM pg_control_checkpoint() c, pg_control_recovery() r) ` +
	`ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END, pg_is_in_recovery()`

// Position implements protect.Engine.
func (Engine) Position(ctx context.Context, h host.Reader, t host.Target) (protect.Position, error) {
	return position(h.Query(ctx, t, standing))
}

// Says implements protect.Teller. The server tells it superusers and members of pg_read_all_settings.
func (Engine) Says(ctx context.Context, h host.Reader, t host.Target) (string, error) {
	return protect.Said(ctx, h, t, "SHOW data_directory")
}

func position(rows host.Rows, err error) (p protect.Position, _ error) {
	row, err := host.One(rows, err)
	if err != nil {
		return p, fmt.Errorf("read the server's position: %w", err)
	}
	p.LSN = host.Text(row, 0)
	if _, ok := wal.Place(p.LSN); !ok {
		return protect.Position{}, fmt.Errorf("read the server's position: %q is not a position in its log", p.LSN)
	}
	if host.Text(row, 2) == "t" {
		p.Applied = p.LSN
	}
	p.Timeline, err = strconv.Atoi(host.Text(row, 1))
	return p, err
}

// Same implements protect.Starter. A copy may have come further than the point's
// position, which was read before the snapshot; it must not fall short of it.
func (Engine) Same(point, recovered protect.Position) string {
	was, ok1 := wal.Place(point.LSN)
	is, ok2 := wal.Place(recovered.LSN)
	switch {
	case !ok1 || !ok2:
		return "where one of them stood is not known"
	case is < was:
		return fmt.Sprintf("it recovered to %s, and the server had written to %s", recovered.LSN, point.LSN)
	case recovered.Timeline < point.Timeline:
		return fmt.Sprintf("it recovered timeline %d, and the server was on %d", recovered.Timeline, point.Timeline)
	}
	return ""
}

// major is the number before the first dot of a version.
func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n := 0
	for _, c := range head { // 18beta1
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}
