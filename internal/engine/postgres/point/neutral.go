package point

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// The files in a copy's run directory; see script.
const (
	configFile = "postgresql.conf"
	closedFile = "closed.conf" // who may log in to a closed copy
	openFile   = "open.conf"   // and to one that is not
	passFile   = "source.pass"
	logFile    = "server.log"
)

// Neutralise implements protect.Starter. What it did once it does not do again, but for another version: the
// server may have started, and what a first start needs would harm it then.
func (Engine) Neutralise(ctx context.Context, d host.Streamer, c protect.Copy) error {
	n := neutral{c: c, data: c.In(c.Server.Dir("data")), major: major(c.Server.Version)}
	err := n.sound()
	if err == nil {
		err = n.run(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("make a copy of %s harmless, in %s: %w", c.Server.Ref, n.data, err)
	}
	return nil
}

// neutral is a copy that is made harmless.
type neutral struct {
	c     protect.Copy
	data  string
	major int
}

const (
	socketPath    = 107  // the longest path of a socket, in bytes
	mostTimelines = 1000 // that a server can have opened since a point
)

// sound refuses what cannot be right before anything is touched.
func (n neutral) sound() error {
	c := n.c
	for _, name := range []string{c.Server.Dir("data"), c.Run, n.data} {
		if !path.IsAbs(name) || path.Clean(name) != name || strings.ContainsAny(name, "\n\x00") {
			return fmt.Errorf("%q is not the path of a directory", name)
		}
	}
	switch {
	case c.Root == "":
		return errors.New("it has no directory of its own")
	case len(c.Server.Program) == 0 || c.Server.UID <= 0 || n.major < 10:
		return errors.New("the program that runs it, its version, or its user is not known")
	case len(socket(c)) > socketPath:
		return hint.With(fmt.Errorf("the path of its socket, %s, is too long", socket(c)), "a shorter name makes it fit")
	case c.Purpose == protect.ForReplica && c.Source == nil:
		return errors.New("the server that it should follow is not known")
	}
	if c.Newest-c.Position.Timeline > mostTimelines {
		return fmt.Errorf("the server came from timeline %d to %d: that cannot be", c.Position.Timeline, c.Newest)
	}
	for name := range c.Files {
		if name != labelFile {
			return fmt.Errorf("the point has a file %q, of which this Plumb knows nothing", name)
		}
	}
	return nil
}

// run runs the script as the server's user.
func (n neutral) run(ctx context.Context, d host.Streamer) error {
	c := n.c
	keep := "no"
	if c.Purpose == protect.ForReplay {
		keep = "yes"
	}
	signal, text, err := n.signal()
	if err != nil {
		return err
	}
	argv := c.Server.As(d.About().Root)
	of := strconv.Itoa(n.major)
	argv = append(argv, "sh", "-c", script, "sh", n.data, c.Run, keep, of, signal, text, c.Files[labelFile], n.config(), n.closed(), n.open())
	return typed(ctx, d, append(argv, linksOf(c)...), n.password())
}

// typed runs a script, which says what is wrong on its output.
func typed(ctx context.Context, d host.Streamer, argv []string, in string) error {
	var said bytes.Buffer
	flow, err := d.Pipe(ctx, host.Pipe{Argv: argv, In: strings.NewReader(in), Out: &said, Works: true})
	if text := strings.TrimSpace(said.String()); err != nil && flow.Code > 0 && text != "" {
		return errors.New(text) // and not the whole script
	}
	return err
}

// signal gives the file that makes the server's start another than that after a
// crash, with its text.
func (n neutral) signal() (name, text string, err error) {
	switch n.c.Purpose {
	case protect.ForReplica:
		name = "standby.signal"
		if n.major < 12 {
			name, text = "recovery.conf", "standby_mode = on\nrecovery_target_timeline = latest\n"
		}
	default:
		return "", "", nil
	}
	if n.major < 12 && n.c.Source != nil {
		all, err := n.following()
		if err != nil {
			return "", "", err
		}
		text += postgres.Lines(all)
	}
	return name, text, err
}
