// Package incident has the command that keeps what an incident looked like.
package incident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/tape"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
	"plumb/internal/watch/capture"
	"plumb/internal/watch/record"
)

type captureFlags struct {
	shell.Source
	dir  string
	on   []string
	most int
}

// captureTime limits how long gathering may take.
const captureTime = time.Minute

// Capture makes the command plumb watch capture.
func Capture(s *shell.Shell, a feed.Adapters) *cobra.Command {
	f := captureFlags{}
	c := &cobra.Command{
		Use:   "capture",
		Short: "wait for a bottleneck, and save what it looked like",
		Long: `Capture watches this host until it is stopped. When a verdict is raised it makes a
directory below --dir with

  moment.txt, moment.json  what watch showed
  before.jsonl.gz          five minutes before: plumb watch replay --from-file
  threads.txt              what the server's threads were doing, with kernel stacks
  host.tape.gz             all that plumb check reads: plumb check --tape

The same verdict about the same server is captured again after ten minutes at the
earliest, and --max-captures limits their total number. If less than 5 % of the
filesystem is free, nothing is captured, and Plumb says so. Nothing else is written,
and no capture is ever removed, except an unfinished one of a run that was killed.
Passwords are removed from the tape; statements have no literals. Look through a
capture before you send it.

` + shell.ReadExits,
		Example: `  plumb watch capture
  plumb watch capture --on lock/blocked,log/flush --max-captures 3`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runCapture(c.Context(), s, a, f) },
	}
	f.LiveFlags(c)
	captures().Var(c, &f.dir, "keep the captures in")
	c.Flags().StringSliceVar(&f.on, "on", nil, "only for these `VERDICTS`, such as lock/blocked")
	c.Flags().IntVar(&f.most, "max-captures", 10, "end after this many captures")
	shell.Offer(c, map[string]shell.Words{"on": verdicts})
	return c
}

func runCapture(ctx context.Context, s *shell.Shell, a feed.Adapters, f captureFlags) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f.most < 1 {
		return hint.Usage(fmt.Sprintf("--max-captures %d would capture nothing", f.most), "1 or more")
	}
	j, cat := feed.NewJudge(s)
	for _, id := range f.on {
		if !j.Judges(id) {
			return notOne(id)
		}
	}
	dir, err := f.place()
	if err != nil {
		return err
	}
	done, err := host.Claim(dir, tidy)
	if err != nil {
		return fmt.Errorf("make captures in %s: %w", dir, hint.Cause(err))
	}
	defer done()
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	k := &capturing{shell: s, adapters: a, flags: f, cat: cat, dir: dir, ctx: own, end: cancel, trigger: capture.Trigger{Only: f.on},
		room: func() error { return record.Roomy(dir) }}
	fmt.Fprintf(s.Err, "plumb watch capture: waits for a verdict; captures go to %s\n", shell.OneLine(dir))
	return errors.Join(feed.Live(s, a)(own, f.Source, k), k.failed)
}

// capturing is a watch.Sink and a [feed.Told].
type capturing struct {
	capture.Ring
	shell    *shell.Shell
	adapters feed.Adapters
	flags    captureFlags
	cat      *catalog.Catalog
	dir      string
	trigger  capture.Trigger
	room     func() error // is there enough for a capture?
	ctx      context.Context
	end      func()
	taken    int
	failed   error
}

// Moment implements [feed.Told]: it may take its time.
func (k *capturing) Moment(m watch.Moment) {
	v := k.trigger.Raised(m)
	if v == nil || k.ctx.Err() != nil {
		return
	}
	if err := k.room(); err != nil { // there may be room at the next verdict
		fmt.Fprintln(k.shell.Err, shell.OneLine(fmt.Sprintf("%s is not captured: %v", v.ID, err)))
		return
	}
	name, err := k.take(m, *v)
	if err != nil {
		k.failed = fmt.Errorf("capture %s: %w", v.ID, hint.Cause(err))
		k.end()
		return
	}
	fmt.Fprintf(k.shell.Out, "%s: %s\n", shell.OneLine(name), shell.OneLine(v.Title))
	if k.taken++; k.taken == k.flags.most {
		k.end()
	}
}

// take gathers and writes a capture. It has another name until it is complete.
func (k *capturing) take(m watch.Moment, v watch.Verdict) (name string, err error) {
	name = filepath.Join(k.dir, m.At.UTC().Format("2006-01-02T150405Z")+"-"+strings.ReplaceAll(v.ID, "/", "-"))
	made, err := os.MkdirTemp(k.dir, unfinished)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(made) // half a capture would mislead
		}
	}()
	ctx, cancel := context.WithTimeout(k.ctx, captureTime)
	defer cancel()
	live, g, err := k.flags.Source.Live(k.adapters.Dialers)
	if err != nil {
		return "", err
	}
	defer live.Close()
	items := k.Items()
	threads := threads(ctx, live, items, v.Server) // first, as it changes the fastest
	doc, err := json.MarshalIndent(view.Document(m, k.cat), "", "  ")
	if err != nil {
		return "", err
	}
	for file, write := range map[string]func(io.Writer) error{
		threadsFile: text(threads),
		textFile:    text(view.Text(m, k.cat, shell.Screen(io.Discard))),
		jsonFile:    text(string(doc) + "\n"),
		beforeFile: shell.Packed(func(w io.Writer) error {
			return record.WriteLines(w, m.Hostname, func(do func(record.Item) error) error { return each(items, do) })
		}),
		tapeFile: shell.Packed(func(w io.Writer) error { return k.tape(ctx, live, g, w) }),
	} {
		if err := writeNew(filepath.Join(made, file), write); err != nil {
			return "", err
		}
	}
	return settle(made, name)
}

// threads describes what the threads of a server do, or says why that is not known.
func threads(ctx context.Context, h host.Reader, items []record.Item, server stack.Ref) string {
	var all []string
	for _, p := range processes(items, server) {
		pid, err := strconv.Atoi(p.Ref.Name)
		if err != nil {
			continue
		}
		text, err := capture.Threads(ctx, h, pid)
		if err != nil {
			text = err.Error() + "\n"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "no process of " + server.String() + " is on this host\n"
	}
	return strings.Join(all, "\n")
}

// processes returns the processes of a server in the newest picture of the host.
func processes(items []record.Item, server stack.Ref) []*stack.Thing {
	for _, i := range slices.Backward(items) {
		if i.Picture == nil {
			continue
		}
		if db := i.Picture.Find(server); db != nil {
			all, _ := i.Picture.Follow(db, "process")
			return all
		}
	}
	return nil
}

// tape records this host on a tape, as plumb capture does.
func (k *capturing) tape(ctx context.Context, live *host.Live, g dsn.Given, to io.Writer) error {
	look, err := feed.Looker(k.shell, k.adapters, g, k.flags.Timeout)
	if err != nil {
		return err
	}
	t, err := check.Record(ctx, live, look)
	if err != nil {
		return err
	}
	return tape.Write(to, t)
}

func each(items []record.Item, do func(record.Item) error) error {
	for _, i := range items {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// writeNew writes a new file that only its owner can read.
func writeNew(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Sync(), f.Close())
}
