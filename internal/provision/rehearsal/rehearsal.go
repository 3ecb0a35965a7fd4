// Package rehearsal tries another release of a server on a copy of a point, before anything is done to the server itself.
package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/provision"
	"plumb/internal/units"
)

// Rehearser is a provision.Swapper whose ways can be tried on a copy.
type Rehearser interface {
	Release(ctx context.Context, h host.Reader, w provision.Swap) (Release, error)
}

// Release is what is tried.
type Release interface {
	// Possible looks at the server as it runs: what the release refuses without reading all data is refused here.
	Possible(ctx context.Context, d host.Streamer) error
	// Becomes gives a copy's server as the other release starts it. The server of before has been stopped: what must be
	// done to its data while none runs is done here.
	Becomes(ctx context.Context, h host.Reader, c *instance.Copy) (protect.Server, error)
	// Upgrade brings the data of a copy under the release, whose server runs on it.
	Upgrade(ctx context.Context, d host.Streamer, c protect.Copy) error
	// Sums tells what is in each table, in words that are the same under both releases.
	Sums(ctx context.Context, a load.Admin, c protect.Copy) (map[string]string, error)
	// Notes tells what a person has to see to, of a copy under either release.
	Notes(ctx context.Context, a load.Admin, c protect.Copy) ([]string, error)
}

// Rehearsal says how a release is tried.
type Rehearsal struct {
	Copies instance.Maker
	Doing  func(what string) // told what goes on; nil for nobody
}

// limit is how long a copy's server may take to answer.
const limit = time.Hour

// Result is what came of it.
type Result struct {
	Tables  int // whose contents are the same under both
	Checks  []protect.Check
	Notes   []string
	Took    time.Duration
	Upgrade time.Duration // of it, what the server itself will stand still for: the upgrade of the data, and the first start
}

// read is what a copy holds under a release.
type read struct {
	sums  map[string]string
	notes []string
}

// Run tries a release on a copy of a point, and leaves nothing of it. An error says what of it does not work.
func (r Rehearsal) Run(ctx context.Context, p protect.Point, to Release) (out Result, err error) {
	began := time.Now()
	c, err := r.Copies.Make(ctx, p, instance.Options{Name: "swap-" + p.Tag(), Purpose: protect.ForDrill, Number: 1, Gentle: true})
	if err != nil {
		return out, fmt.Errorf("make a copy of point %s: %w", p.ID, err)
	}
	defer func() { err = errors.Join(err, c.Remove(context.WithoutCancel(ctx))) }()
	r.say("reading the copy under the old release")
	before, err := r.before(ctx, c, to)
	if err != nil {
		return out, fmt.Errorf("read a copy of point %s as it is: %w", p.ID, err)
	}
	after, err := r.after(ctx, c, p, to, &out)
	if err != nil {
		return out, fmt.Errorf("try the new release on a copy of point %s: %w", p.ID, err)
	}
	out.Tables, out.Took = len(before.sums), time.Since(began)
	out.Notes = slices.Compact(slices.Concat(before.notes, after.notes))
	return out, errors.Join(Same(before.sums, after.sums), wrong(out.Checks))
}

// before reads what is in the copy, as the server of now does. Its end is an orderly one: the other release begins with no
// log to recover.
func (r Rehearsal) before(ctx context.Context, c *instance.Copy, to Release) (is read, err error) {
	a, err := c.Start(ctx, limit)
	if err != nil {
		return is, err
	}
	is, err = look(ctx, a, c.Copy, to)
	return is, errors.Join(c.Starved(ctx, err), a.Close(), c.Stop(ctx))
}

// look reads a copy on which a server runs.
func look(ctx context.Context, a load.Admin, c protect.Copy, to Release) (is read, err error) {
	if is.sums, err = to.Sums(ctx, a, c); err == nil {
		is.notes, err = to.Notes(ctx, a, c)
	}
	return is, err
}

// after brings the copy under the other release, and reads it as that does.
func (r Rehearsal) after(ctx context.Context, c *instance.Copy, p protect.Point, to Release, out *Result) (is read, err error) {
	r.say("bringing it under the new release")
	began := time.Now()
	sv, err := to.Becomes(ctx, r.Copies.Keeper.Do, c)
	if err != nil {
		return is, err
	}
	if err := c.Become(ctx, sv); err != nil {
		return is, err
	}
	r.say("starting the new release on it")
	a, err := c.Start(ctx, limit)
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(c.Starved(ctx, err), a.Close()) }()
	if err := to.Upgrade(ctx, r.Copies.Keeper.Do, c.Copy); err != nil {
		return is, err
	}
	out.Upgrade = time.Since(began)
	r.say("checking it")
	if is, err = look(ctx, a, c.Copy, to); err != nil {
		return is, err
	}
	e, err := r.Copies.Keeper.EngineOf(p.Server)
	if err != nil {
		return is, err
	}
	out.Checks, err = e.Check(ctx, a, c.Copy, true)
	return is, err
}

// Same is an error that names the tables whose contents are not the same.
func Same(before, after map[string]string) error {
	var other []string
	for name, sum := range before {
		if after[name] != sum {
			other = append(other, name)
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			other = append(other, name)
		}
	}
	if other == nil {
		return nil
	}
	slices.Sort(other)
	return fmt.Errorf("the new release reads other contents of %s than the old one", units.Some(other, 5))
}

// wrong gives what checks have found.
func wrong(checks []protect.Check) error {
	var all []error
	for _, c := range checks {
		if c.Wrong != "" {
			all = append(all, fmt.Errorf("%s under the new release: %s", c.What, c.Wrong))
		}
	}
	return errors.Join(all...)
}

func (r Rehearsal) say(what string) {
	if r.Doing != nil {
		r.Doing(what)
	}
}

// Typed runs a command, and gives as an error what it said, not how it was typed: that can be a whole script.
func Typed(ctx context.Context, d host.Streamer, argv []string) error {
	var said bytes.Buffer
	flow, err := d.Pipe(ctx, host.Pipe{Argv: append([]string{"sh", "-c", `exec 2>&1; exec "$@"`, "sh"}, argv...), Out: &said, Works: true})
	if text := strings.TrimSpace(said.String()); err != nil && flow.Code > 0 && text != "" {
		return errors.New(text)
	}
	return err
}
