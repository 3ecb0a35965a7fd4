// Package lend takes a point for a process with fewer rights, and lends it the point's files until it
// has read them. That process makes the server stand still, so that nothing is locked here.
//
// The two talk over our standard streams, in lines. Ours are "hold" when all is ready to snapshot,
// "release" when that was done, and "files DIRECTORY". Theirs is "held" when the server stands still; when they
// close their end, all is taken away. Whatever they say, they get nothing but the files of a server that runs
// as their own user, as read-only mounts on which the rights of files hold.
package lend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
)

// Lender lends the files of points.
type Lender struct {
	Keeper *protect.Keeper
	Copies instance.Maker
}

const (
	stillTime = 2 * time.Minute // for the other to make the server stand still
	takeAway  = 5 * time.Minute
)

// Lend takes a point by a plan, lends the server's data directory as it is in it, and takes all away when in ends.
func (l Lender) Lend(ctx context.Context, plan protect.Plan, in io.Reader, out io.Writer) (err error) {
	k := *l.Keeper
	e, err := k.EngineOf(plan.Server)
	if err != nil {
		return err
	}
	_, _ = kinds.Books(k.Do, k.Books).Sweep(ctx) // mounts of one that was killed; what cannot be removed is no reason to keep this one from its work
	t := &talk{said: make(chan string), out: out}
	go t.listen(in)
	k.Engines = []protect.Engine{still{e, t}}
	plan.Modes = slices.Clone(plan.Modes)
	for i := range plan.Modes { // nothing is taken from the server here
		plan.Modes[i].Will = nil
	}
	p, giveBack, err := k.TakeLent(ctx, plan, protect.TakeOptions{Mode: protect.ModeLocked, Wait: stillTime})
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeAway)
		defer cancel()
		err = errors.Join(err, giveBack(late))
	}()
	if err == nil && p.Fell() != "" {
		err = fmt.Errorf("the point is not of one moment: %s", p.Fell())
	}
	if err != nil {
		return err
	}
	return l.show(ctx, p, t)
}

// show mounts the files until nobody needs them any more.
func (l Lender) show(ctx context.Context, p protect.Point, t *talk) (err error) {
	c, err := l.Copies.Make(ctx, p, instance.Options{Name: "lent-" + p.Tag(), Purpose: protect.ForBrowse, Number: 1})
	if err != nil {
		return err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeAway)
		defer cancel()
		err = errors.Join(err, c.Remove(late))
	}()
	if err := t.say("files " + c.In(p.Server.Dir("data"))); err != nil {
		return err
	}
	for {
		if _, err := t.hear(ctx); err != nil {
			return ctx.Err()
		}
	}
}

// still is an engine whose server is made to stand still by somebody else.
type still struct {
	protect.Engine
	t *talk
}

// Quiesce implements protect.Engine.
func (s still) Quiesce(ctx context.Context, _ host.Held, _ protect.Mode, limit time.Duration) (protect.Quiet, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.t.say("hold"); err != nil {
		return nil, err
	}
	word, err := s.t.hear(ctx)
	if err == nil && word != "held" {
		err = fmt.Errorf("read %.40q instead of held", word)
	}
	if err != nil {
		return nil, fmt.Errorf("wait until the server stands still: %w", err)
	}
	return quiet{s.t}, nil
}

// quiet is a server that stands still.
type quiet struct{ t *talk }

// Position implements protect.Quiet. Who made the server stand still knows it.
func (quiet) Position(context.Context) (protect.Position, error) { return protect.Position{}, nil }

// Release implements protect.Quiet. That the other is still there proves that the server stood still
// until now: it goes on when the other ends.
func (q quiet) Release(context.Context) (map[string]string, error) {
	select {
	case _, there := <-q.t.said:
		if !there {
			return nil, errGone
		}
		return nil, errors.New("something was received while the server stood still")
	default:
	}
	return nil, q.t.say("release")
}

// talk is what is said between the two.
type talk struct {
	said chan string
	out  io.Writer
}

var errGone = errors.New("the process that wanted the files has ended")

func (t *talk) say(line string) error {
	if _, err := io.WriteString(t.out, line+"\n"); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

func (t *talk) hear(ctx context.Context) (string, error) {
	select {
	case word, there := <-t.said:
		if !there {
			return "", errGone
		}
		return word, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// listen reads the other's lines, which are short.
func (t *talk) listen(in io.Reader) {
	defer close(t.said)
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 256), 256)
	for s.Scan() {
		t.said <- strings.TrimSpace(s.Text())
	}
}
