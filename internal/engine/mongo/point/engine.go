// Package point says how points of MongoDB are taken, as far as its files at one moment go.
// No mongod was ever at hand to run it on: a lock is only taken when it is asked for, the start of a
// copy is refused, and both say so.
package point

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/engine/mongo"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Engine implements [protect.Engine].
type Engine struct{ probe mongo.Probe }

var _ protect.Engine = Engine{}

// New makes the engine; remote is the server of a data source name, "" for none.
func New(remote string) Engine { return Engine{mongo.Probe{Remote: remote}} }

// Kind implements protect.Engine.
func (Engine) Kind() string { return "mongo" }

// Describe implements protect.Engine.
func (e Engine) Describe(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (protect.Server, host.Target, error) {
	local, target, err := e.probe.Find(ctx, h, s, db)
	if err != nil {
		return protect.Server{}, target, err
	}
	thing := s.Find(db)
	if thing == nil || local.Contained {
		return protect.Server{}, target, hint.With(fmt.Errorf("%s runs in a container: what it calls a path is not one of this host", db), "snapshot its volume with --with COMMAND")
	}
	p, err := observe.ProgramOf(local.For(ctx), h, local.PID)
	if err != nil {
		return protect.Server{}, target, fmt.Errorf("describe %s: %w", db, err)
	}
	sv := protect.Server{Ref: db, Flavor: thing.Text("flavor"), Version: thing.Text("version"), PID: local.PID, Program: []string{p.Path}, Env: p.Env, UID: p.UID, GID: p.GID,
		Unit: observe.OwnUnit(ctx, h, s, local.Process), Settings: map[string]string{}}
	sv.Product = strings.TrimSpace("MongoDB " + sv.Version)
	for _, r := range s.Roles {
		if r.DB != db || r.Name == "log" {
			continue
		}
		at := r.Path
		if st, err := h.Stat(local.For(ctx), local.Root+r.Path); err == nil && st.Resolved != "" {
			at = strings.TrimPrefix(st.Resolved, local.Root)
		}
		sv.Dirs = append(sv.Dirs, protect.Dir{Role: r.Name, Path: at})
	}
	if !path.IsAbs(sv.Dir("data")) {
		return protect.Server{}, target, hint.With(fmt.Errorf("the dbPath of %s is not known", db), "run as root")
	}
	for _, name := range []string{"storage_engine", "storage_journal_enabled"} {
		if v, known := thing.Get(name); known {
			sv.Settings[name] = v.String()
		}
	}
	return sv, target, nil
}

// Aside implements protect.Engine: its log, and the diagnostics that it writes for
// its makers.
func (Engine) Aside(s *stack.Stack, sv protect.Server, file string) bool {
	for _, r := range s.Roles {
		if r.DB == sv.Ref && r.Name == "log" && (file == r.Path || file == r.Resolved) {
			return true
		}
	}
	return strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, sv.Dir("data")+"/diagnostic.data/") || file == sv.Dir("data")+"/mongod.lock"
}

const neverRun = "never run: no mongod was at hand to try it on"

// Modes implements protect.Engine.
func (Engine) Modes(_ context.Context, _ host.Reader, _ host.Target, _ *stack.Stack, sv protect.Server, set protect.Set) ([]protect.Mode, error) {
	crash := protect.Mode{Name: protect.ModeCrash, Statements: []string{"-- snapshot"}, Not: set.Lacks(sv),
		Why: "data and journal are snapshotted at one moment, as a power cut leaves them (" + neverRun + ")"}
	if crash.Not == "" && set.Apart != "" {
		crash.Not = set.Apart
	}
	if crash.Not == "" && sv.Settings["storage_journal_enabled"] == "false" {
		crash.Not = "it writes no journal: what was written since its last checkpoint would be missing"
	}
	if kind := sv.Settings["storage_engine"]; crash.Not == "" && kind != "" && kind != "wiredTiger" {
		crash.Not = "its storage engine is " + kind + ", of which nothing is known here"
	}
	locked := protect.Mode{Name: protect.ModeLocked, Blocks: "all writers; a secondary stops to replicate", Statements: []string{isLocked, fsyncLock, "-- snapshot", isLocked, fsyncUnlock}, Will: []string{fsyncUnlock},
		Asked: true, Not: set.Lacks(sv), Why: "for volumes that are not of one moment: the server writes nothing to them (" + neverRun + ")"}
	backup := protect.Mode{Name: protect.ModeBackupAPI, Statements: []string{}, Why: "for volumes that are not of one moment",
		Not: "only Percona Server for MongoDB has one: Percona Backup for MongoDB drives it"}
	freeze := protect.Mode{Name: protect.ModeFreeze, Blocks: "all sessions: the server is frozen", Statements: []string{"-- snapshot"}, Not: set.Lacks(sv),
		Why: "nothing is written between the first snapshot and the last (" + neverRun + ")"}
	return []protect.Mode{crash, locked, backup, freeze}, nil
}

// Position implements protect.Engine.
func (Engine) Position(ctx context.Context, h host.Reader, t host.Target) (protect.Position, error) {
	rows, err := h.Query(ctx, t, `{"hello": 1}`)
	if err != nil {
		return protect.Position{}, fmt.Errorf("read the server's position: %w", err)
	}
	at, err := mongo.LastWrite(rows)
	return protect.Position{Time: at}, err
}

var errStart = hint.With(errors.New("a copy of MongoDB is not started: "+neverRun),
	"start mongod on it by hand, without --replSet, on another port and dbPath, with --setParameter ttlMonitorEnabled=false")

// Neutralise implements protect.Starter.
func (Engine) Neutralise(context.Context, host.Streamer, protect.Copy) error { return errStart }

// Serve implements protect.Starter.
func (Engine) Serve(protect.Copy) (host.Process, host.Signal, string, error) {
	return host.Process{}, 0, "", errStart
}

// Open implements protect.Starter.
func (Engine) Open(context.Context, protect.Copy) (load.Admin, error) { return nil, errStart }

// Recovered implements protect.Starter.
func (Engine) Recovered(context.Context, load.Admin, protect.Copy) (protect.Position, error) {
	return protect.Position{}, errStart
}

// Same implements protect.Starter.
func (Engine) Same(_, _ protect.Position) string { return errStart.Error() }

// Reached implements protect.Starter.
func (Engine) Reached(context.Context, load.Admin, protect.Copy, protect.Position) (protect.Check, error) {
	return protect.Check{}, errStart
}

// Check implements protect.Starter.
func (Engine) Check(context.Context, load.Admin, protect.Copy, bool) ([]protect.Check, error) {
	return nil, errStart
}

// Follow implements protect.Starter.
func (Engine) Follow(context.Context, host.Streamer, load.Admin, protect.Copy) error { return errStart }

// Caught implements protect.Starter.
func (Engine) Caught(context.Context, load.Admin, protect.Copy) (string, error) { return "", errStart }

// Grants gives a role with the least rights.
func Grants() string {
	return `// MongoDB: never run. A snapshot reads hello and buildInfo, which every user may;
// clusterMonitor adds the server's options and its state in a replica set. --mode locked asks for
// hostManager too, for fsyncLock and fsyncUnlock.
db.getSiblingDB("admin").createUser({user: "plumb", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
`
}
