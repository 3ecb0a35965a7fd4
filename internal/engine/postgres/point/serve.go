package point

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Serve implements protect.Starter.
func (Engine) Serve(c protect.Copy) (host.Process, host.Signal, string, error) {
	n := neutral{c: c, data: c.In(c.Server.Dir("data")), major: major(c.Server.Version)}
	err := n.sound()
	if err != nil {
		return host.Process{}, 0, "", fmt.Errorf("start a copy of %s: %w", c.Server.Ref, err)
	}
	argv, err := n.arguments()
	log := path.Join(c.Run, logFile)
	return host.Process{Argv: argv, Env: c.Server.Env, UID: c.Server.UID, GID: c.Server.GID, Log: log}, host.Interrupt, log, err
}

const dialTime = 5 * time.Second

// Open implements protect.Starter.
func (Engine) Open(ctx context.Context, c protect.Copy) (load.Admin, error) {
	a, err := Dial(ctx, c, "postgres")
	if f, ok := errors.AsType[*load.Failure](err); ok && f.Code == "3D000" { // somebody dropped it
		a, err = Dial(ctx, c, "template1")
	}
	if err != nil {
		return nil, err
	}
	if c.Purpose == protect.ForReplay {
		rows, err := a.Query(ctx, "SELECT pg_is_in_recovery()") // it answers before its timeline is opened
		if err == nil && (len(rows.Values) != 1 || host.Text(rows.Values[0], 0) != "f") {
			err = errors.New("it still recovers")
		}
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return &session{Admin: a, c: c}, nil
}

// Dial opens a session of one database of a copy.
func Dial(ctx context.Context, c protect.Copy, database string) (load.Admin, error) {
	login := client.Config{Network: "unix", Address: socket(c), User: role(c), Database: database, Timeout: dialTime}
	if c.Closed { // everybody is let in: who put another server's socket there gains nothing by us
		login.PeerUID = c.Server.UID
	}
	a, err := client.New(login).Admin(ctx)
	if err != nil {
		return nil, err
	}
	// What of the data is asked here is asked by us, with nobody's settings or triggers.
	err = a.Exec(ctx, "SET session_replication_role = replica", "SET search_path = pg_catalog", "SET statement_timeout = 0", "SET lock_timeout = 0",
		"SET default_transaction_read_only = off", "SET row_security = off", "SET standard_conforming_strings = on", "SET DateStyle = 'ISO'")
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// session is a session of one database that can go to another, as psql's does.
type session struct {
	load.Admin
	c protect.Copy
}

// Exec implements load.Admin. After \connect NAME statements are those of that database, and of
// a mask: no statement reaches another database.
func (s *session) Exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		name, connect := strings.CutPrefix(strings.TrimSpace(statement), `\connect `)
		if !connect {
			if err := s.Admin.Exec(ctx, statement); err != nil {
				return err
			}
			continue
		}
		if err := s.Admin.Exec(ctx, "COMMIT"); err != nil { // what a mask left open; a warning where that is nothing
			return err
		}
		a, err := Dial(ctx, s.c, unquoted(strings.TrimSpace(strings.TrimSuffix(name, ";"))))
		if err != nil {
			return err
		}
		old := s.Admin
		s.Admin = a
		if err := errors.Join(old.Close(), Engine{}.ForMasks(ctx, a)); err != nil {
			return err
		}
	}
	return nil
}

// unquoted takes a name out of double quotes, in which another stands for one.
func unquoted(name string) string {
	if len(name) < 2 || name[0] != '"' || name[len(name)-1] != '"' {
		return name
	}
	return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
}

// recovered is where a server stands that nobody has written to. The checkpoint with which
// recovery from a crash ends begins where the replayed log ended.
const recovered = `SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE c.redo_lsn END, ` +
	`CASE WHEN pg_is_in_recovery() THEN greatest(c.timeline_id, r.min_recovery_end_timeline) ELSE c.timeline_id END, ` +
	`pg_is_in_recovery() FROM pg_control_checkpoint() c, pg_control_recovery() r`

// Recovered implements protect.Starter.
func (Engine) Recovered(ctx context.Context, a load.Admin, c protect.Copy) (protect.Position, error) {
	if c.Purpose == protect.ForReplay {
		return branched(ctx, a)
	}
	rows, err := a.Query(ctx, recovered)
	p, err := position(rows, err)
	if err == nil && c.Purpose != protect.ForReplica && host.Text(rows.Values[0], 2) == "t" {
		err = errors.New("the copy still recovers, as a standby would")
	}
	return p, err
}

// parting is the last line of a timeline's history: from which timeline it
// parted, and where.
var parting = regexp.MustCompile(`(?:^|\n)(\d+)\t([0-9A-F]+/[0-9A-F]+)\t[^\n]*\n*$`) // the reason ends in a line break of its own after a target

// branched reads where a copy that replayed a log opened its new timeline: its history
// says it, as the checkpoint that follows need not be done yet.
func branched(ctx context.Context, a load.Admin) (p protect.Position, err error) {
	row, err := host.One(a.Query(ctx, `SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`))
	if err != nil {
		return p, err
	}
	name := host.Text(row, 0)
	timeline, err := strconv.ParseUint(name, 16, 31)
	if err != nil {
		return p, err
	}
	if row, err = host.One(a.Query(ctx, "SELECT pg_read_file('pg_wal/"+name+".history')")); err != nil {
		return p, err
	}
	if m := parting.FindStringSubmatch(host.Text(row, 0)); m != nil {
		return protect.Position{LSN: m[2], Timeline: int(timeline)}, nil
	}
	return p, fmt.Errorf("the history of timeline %d does not say where it began", timeline)
}

// Follow implements protect.Starter. The server was told whom to follow before its first
// start: as a server of its own it would have written what its source did not.
func (Engine) Follow(ctx context.Context, _ host.Streamer, a load.Admin, c protect.Copy) error {
	rows, err := a.Query(ctx, "SELECT pg_is_in_recovery()")
	if err != nil {
		return err
	}
	if c.Purpose != protect.ForReplica || len(rows.Values) != 1 || host.Text(rows.Values[0], 0) != "t" {
		return errors.New("the copy was started as a server of its own, and can no longer follow")
	}
	return nil
}

const following = `SELECT coalesce(w.status, ''), coalesce(pg_wal_lsn_diff(w.latest_end_lsn, pg_last_wal_replay_lsn()), -1) FROM (SELECT 1) one LEFT JOIN pg_stat_wal_receiver w ON true`

// Caught implements protect.Starter.
func (Engine) Caught(ctx context.Context, a load.Admin, _ protect.Copy) (string, error) {
	row, err := host.One(a.Query(ctx, following))
	if err != nil {
		return "", err
	}
	status := host.Text(row, 0)
	behind, err := strconv.ParseInt(host.Text(row, 1), 10, 64)
	switch {
	case err != nil:
		return "", err
	case status == "":
		return "", fmt.Errorf("%w; its log says why", protect.ErrUnconnected)
	case status != "streaming":
		return "", fmt.Errorf("%w: its connection is %s", protect.ErrUnconnected, status)
	case behind > 0:
		return fmt.Sprintf("it has yet to replay %d bytes", behind), nil
	case behind < 0:
		return "its source has not reported its position yet", nil
	}
	return "", nil
}
