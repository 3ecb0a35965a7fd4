package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

const (
	upTime   = 90 * time.Second // a server has to answer within
	downTime = 2 * time.Minute  // and to end in an orderly way within
	logTail  = 1500             // bytes of its log in an error
)

// server is a private server that runs.
type server struct {
	lab     *Lab
	engine  Engine
	running host.Running
	thing   inventory.Thing
	stopBy  host.Signal
	log     string
	run     string
	load    load.Server
}

// runDir is where the socket, configuration and log of the server at a place
// are. One server runs at a place at a time.
func (l *Lab) runDir(place int) string { return filepath.Join(l.Box.Dir, "run"+placeName(place)) }

// placeName tells the places apart in names; the first has none.
func placeName(place int) string {
	if place == 1 {
		return ""
	}
	return "-" + strconv.Itoa(place)
}

// fresh empties a server's directory.
func (l *Lab) fresh(ctx context.Context, dir string) error {
	if err := host.RemoveTree(ctx, l.Box.Do, dir); err != nil {
		return err
	}
	if _, err := l.Box.Do.Run(ctx, "mkdir", "-m", "700", dir); err != nil { // logins over its socket need no password
		return err
	}
	return l.own(ctx, dir)
}

// configure writes the configuration files of a server. They are its user's, as
// all that is made in his directory is.
func (l *Lab) configure(ctx context.Context, made *layout, s experiment.Server, data string) error {
	texts, err := made.engine.Files(made.server, s, data, l.runDir(made.place))
	if err != nil {
		return err
	}
	for name, text := range texts {
		if err := l.Box.Do.Replace(ctx, name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// install makes an empty data directory.
func (l *Lab) install(ctx context.Context, made *layout, s experiment.Server, data string) (err error) {
	dir := l.runDir(made.place)
	if err := l.fresh(ctx, dir); err != nil {
		return err
	}
	p := made.engine.Install(made.server, s, data, dir)
	p.UID, p.GID, p.Log = l.UID, l.GID, filepath.Join(dir, "install.log")
	running, thing, err := l.launch(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Box.Book.Remove(context.WithoutCancel(ctx), thing)) }()
	select {
	case <-running.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), running.Signal(host.Kill))
	}
	if err := running.Err(); err != nil {
		return fmt.Errorf("install %s: %w%s", made.server.Product, err, l.tail(ctx, p.Log))
	}
	return nil
}

// launch starts a program, written down first.
func (l *Lab) launch(ctx context.Context, p Start) (running host.Running, t inventory.Thing, err error) {
	t = inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": strings.Join(p.Argv, " ")}}
	t, err = l.Box.Book.Make(ctx, t, func(t *inventory.Thing) (err error) {
		if running, err = l.Box.Do.Start(ctx, p); err != nil {
			return err
		}
		return kinds.Proven(ctx, l.Box.Do, t, running.PID())
	})
	return running, t, err
}

// start starts a server on a data directory and waits until it answers.
func (l *Lab) start(ctx context.Context, layout *layout, s experiment.Server, data string, g control) (*server, error) {
	dir := l.runDir(layout.place)
	if err := l.fresh(ctx, dir); err != nil {
		return nil, err
	}
	if err := l.configure(ctx, layout, s, data); err != nil {
		return nil, err
	}
	p, signal, log := layout.engine.Serve(layout.server, s, data, dir)
	if layout.apart && data != layout.golden {
		p.Argv = append(p.Argv, layout.engine.Logs(layout.server).Args...)
	}
	p.UID, p.GID, p.Groups, p.Log = l.UID, l.GID, g.dirs(), filepath.Join(dir, "output.log")
	run := &server{lab: l, engine: layout.engine, stopBy: signal, log: log, run: dir, load: layout.engine.Dial(dir)}
	var err error
	if run.running, run.thing, err = l.launch(ctx, p); err != nil {
		return nil, err
	}
	if err := run.ready(ctx); err != nil {
		err = fmt.Errorf("%s did not start: %w%s", layout.server.Product, err, l.tail(ctx, log, p.Log))
		return nil, errors.Join(err, l.Box.Book.Remove(context.WithoutCancel(ctx), run.thing))
	}
	if err := layout.engine.Prepare(ctx, dir); err != nil {
		return nil, errors.Join(err, run.stop(context.WithoutCancel(ctx)))
	}
	return run, nil
}

// ready waits until the server answers.
func (s *server) ready(ctx context.Context) error {
	return await.Answer(ctx, s.running, upTime, func(ctx context.Context) error { return s.engine.Ready(ctx, s.run) })
}

// stop ends the server in an orderly way, or else by force.
func (s *server) stop(ctx context.Context) error {
	select {
	case <-s.running.Done():
		return errors.Join(fmt.Errorf("the server had ended by itself: %w%s", cmp.Or(s.running.Err(), errors.New("exit code 0")), s.lab.tail(ctx, s.log)), s.lab.Box.Book.Remove(ctx, s.thing))
	default:
	}
	err := await.End(context.WithoutCancel(ctx), s.running, downTime, func() error { return s.running.Signal(s.stopBy) })
	if err != nil {
		err = fmt.Errorf("stop the server: %w", err)
	}
	return errors.Join(err, s.lab.Box.Book.Remove(ctx, s.thing))
}

// theirs marks reads of what the user of the servers writes: he may have made a
// link of it.
func (l *Lab) theirs(ctx context.Context) context.Context { return host.AsUser(ctx, l.UID, l.GID) }

// tail gives the end of the first log that says something, for an error.
func (l *Lab) tail(ctx context.Context, names ...string) string {
	for _, name := range slices.Compact(names) {
		text, err := l.Box.Do.ReadFile(l.theirs(ctx), name)
		if err == nil && len(strings.TrimSpace(string(text))) > 0 {
			return "\n" + string(text[max(0, len(text)-logTail):])
		}
	}
	return ""
}

// socketMost is the longest path a socket can have, in bytes: sun_path holds
// 108 with the one that ends it.
const socketMost = 107

// SocketFits refuses a path that is too long for a Unix socket, before a server
// is started that could not be reached.
func SocketFits(path string) error {
	if len(path) <= socketMost {
		return nil
	}
	return hint.With(fmt.Errorf("the path of the socket has %d bytes, and %d is the most: %s", len(path), socketMost, path),
		"run the lab in a directory with a shorter path")
}
