package instance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/units"
)

const (
	downTime = 2 * time.Minute
	logTail  = 1500 // bytes of its log in an error
)

// Start starts the server of a copy, closed, and waits until it answers: nobody but we can log in, and it has no network.
func (c *Copy) Start(ctx context.Context, within time.Duration) (load.Admin, error) {
	c.Closed = true
	return c.start(ctx, within)
}

// StartOpen starts the server of a copy for those who use it, with its accounts and a network. That of a stranger is closed all the same.
func (c *Copy) StartOpen(ctx context.Context, within time.Duration) (load.Admin, error) {
	c.Closed = c.stranger
	return c.start(ctx, within)
}

func (c *Copy) start(ctx context.Context, within time.Duration) (load.Admin, error) {
	p, stop, log, err := c.engine.Serve(c.Copy)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnstarted, err)
	}
	c.stopBy = stop
	p.Log = path.Join(c.Dir, "output.log") // not in Run, where its user could put a link in its place
	if err := c.begin(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnstarted, err)
	}
	a, err := c.answer(ctx, within)
	if err != nil {
		after := context.WithoutCancel(ctx) // why is also said when the time ran out
		err = full(fmt.Errorf("the copy of %s did not start: %w%s", c.Server.Ref, c.Starved(after, unstarted(err)), c.tail(after, log, p.Log)))
		err = c.confined(after, err)
		return nil, errors.Join(err, c.book.Remove(after, c.process))
	}
	return a, nil
}

// begin starts a program of the copy, enclosed.
func (c *Copy) begin(ctx context.Context, p host.Process, more ...string) error {
	p, err := c.enclosed(ctx, p, more...)
	if err != nil {
		return err
	}
	t := inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": strings.Join(p.Argv, " ")}, Life: c.life}
	c.process, err = c.book.Make(ctx, t, func(t *inventory.Thing) (err error) {
		if c.running, err = c.maker.Keeper.Do.Start(ctx, p); err != nil {
			return err
		}
		return kinds.Proven(ctx, c.maker.Keeper.Do, t, c.running.PID())
	})
	return err
}

// Work runs a program on the files of a copy whose server does not run, enclosed as a closed server is. What it leaves running
// goes with it, also when it is killed: it has processes of its own.
func (c *Copy) Work(ctx context.Context, name string, argv ...string) (err error) {
	c.Closed = true
	log := path.Join(c.Dir, name+".log")
	p := host.Process{Argv: argv, Env: c.Server.Env, UID: c.Server.UID, GID: c.Server.GID, Log: log}
	if err := c.begin(ctx, p, "--pid", "--fork", "--kill-child", "--mount-proc"); err != nil {
		return err
	}
	select {
	case <-c.running.Done():
		err = c.running.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w%s", name, c.Starved(ctx, err), c.tail(ctx, log, log))
	}
	c.running = nil
	return errors.Join(err, c.book.Remove(context.WithoutCancel(ctx), c.process))
}

// ErrStarved says that a copy's server was killed for want of memory, which says nothing of the point.
var ErrStarved = errors.New("the kernel killed it")

// Starved adds to an error that the copy's server was killed for want of memory, or had no room to write, if it was so.
func (c *Copy) Starved(ctx context.Context, err error) error {
	if err = full(err); err == nil || c.group == nil {
		return err
	}
	if n, known := c.group.Kills(ctx, c.maker.Keeper.Do); known && n > 0 {
		return fmt.Errorf("%w (%w, because it needed more memory than its limit of %s: raise the limit)", err, ErrStarved, units.Bytes(c.memory))
	}
	return err
}

// Become has the next start of a copy be that of another server program, for which it is made harmless anew. Its server
// was stopped, and needs nothing any more by which it recovered.
func (c *Copy) Become(ctx context.Context, sv protect.Server) error {
	c.Server, c.Files, c.Position = sv, nil, protect.Position{}
	return c.engine.Neutralise(ctx, c.maker.Keeper.Do, c.Copy)
}

// answer waits until the server lets us in.
func (c *Copy) answer(ctx context.Context, within time.Duration) (a load.Admin, err error) {
	err = await.Answer(ctx, c.running, within, func(ctx context.Context) (err error) {
		a, err = c.engine.Open(ctx, c.Copy)
		return err
	})
	return a, err
}

// tail gives the end of the log that the server keeps in its own directory, or else of
// what it printed, which is in one of ours.
func (c *Copy) tail(ctx context.Context, theirs, ours string) string {
	text, err := c.maker.Keeper.Do.ReadFile(host.AsUser(ctx, c.Server.UID, c.Server.GID), theirs)
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		text, err = c.maker.Keeper.Do.ReadFile(ctx, ours) // in a directory of ours
	}
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return ""
	}
	return "\n" + complaints(string(text[max(0, len(text)-logTail):]))
}

// Stop ends the server in an orderly way.
func (c *Copy) Stop(ctx context.Context) error {
	if c.running == nil {
		return nil
	}
	err := await.End(ctx, c.running, downTime, func() error { return c.running.Signal(c.stopBy) })
	if err != nil {
		err = fmt.Errorf("stop the copy of %s: %w", c.Server.Ref, err)
	}
	c.running = nil
	return errors.Join(err, c.book.Remove(context.WithoutCancel(ctx), c.process))
}

// Process is the number of the copy's process, and by what it is known again; 0 when there is none.
func (c *Copy) Process() (pid int, proof map[string]string) {
	if c.running == nil {
		return 0, nil
	}
	return c.running.PID(), map[string]string{"boot": c.process.Proof["boot"], "start": c.process.Proof["start"]}
}
