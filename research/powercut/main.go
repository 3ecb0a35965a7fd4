// Command powercut asks what a database keeps when the power goes: of the
// commits that it acknowledged, of its tables, of its ability to start. It
// boots a virtual machine, puts a server on a filesystem there under load,
// cuts the power, boots again and looks.
//
//	go run -C research ./powercut -list                       the rows of the table
//	go run -C research ./powercut -times 20                   runs what the results lack
//	go run -C research ./powercut -rows 'mariadb-zfs*' -kind replayed -times 5 -for 1h
//	go run -C research ./powercut -table                      prints the table as Markdown
//	go run -C research ./powercut -replay LOG -base IMAGE -image NEW -seed 7
//
// The last replays any log of QEMU's blklogwrites or Linux' dm-log-writes by
// hand. README.md says how a trial goes and what it proves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"plumb/test/sandbox"
)

// order is what the command line says.
type order struct {
	rows, kind, results, plumb, dir, where string
	times, cuts                            int
	seed                                   uint64
	drive, limit                           time.Duration
	list, table                            bool
	log, base, image, watch, twins         string
	end                                    int
}

func main() {
	var o order
	flag.BoolVar(&o.list, "list", false, "list the rows")
	flag.BoolVar(&o.table, "table", false, "print the table of the results there are")
	flag.StringVar(&o.rows, "rows", "", "only rows whose name has this pattern, such as mariadb-zfs*")
	flag.StringVar(&o.kind, "kind", "", "killed, replayed or aimed; the first two otherwise")
	flag.IntVar(&o.times, "times", 20, "trials of each row and kind")
	flag.IntVar(&o.cuts, "cuts", 5, "cuts of each log that is replayed")
	flag.DurationVar(&o.drive, "drive", 0, "how long a load runs whose log is replayed; 0 for 45s in a machine, 25s on this host")
	flag.StringVar(&o.where, "where", "", "host or vm: where rows run; ext4 and xfs are on this host otherwise, if that can be")
	flag.DurationVar(&o.limit, "for", 0, "begin no session after this time; 0 for no limit")
	flag.StringVar(&o.results, "results", "../.cache/powercut/results.jsonl", "file of the results; goes on where it ends")
	flag.StringVar(&o.dir, "dir", "../.cache/powercut", "directory for images and logs; some 5 GB")
	flag.StringVar(&o.plumb, "plumb", "../plumb", "the plumb binary, a static one")
	flag.Uint64Var(&o.seed, "seed", 1, "of everything that is drawn")
	flag.StringVar(&o.log, "replay", "", "replay this log")
	flag.StringVar(&o.base, "base", "", "with -replay: what the disk held when the log began")
	flag.StringVar(&o.image, "image", "", "with -replay: the new image")
	flag.StringVar(&o.twins, "twins", "", "count pages and their copies of this log")
	flag.IntVar(&o.end, "end", -1, "with -replay: cut after so many entries; -1 for all")
	flag.StringVar(&o.watch, "watch", "", "in the guest: say how this ledger grows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func (o order) do(ctx context.Context) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flag.Arg(0))
	}
	switch {
	case o.watch != "":
		return watch(o.watch, os.Stdout)
	case o.twins != "":
		return countTwins(o.twins, os.Stdout)
	case o.log != "":
		return o.replay(ctx)
	}
	list, err := chosen(o.rows)
	if err != nil {
		return err
	}
	if !o.table && !o.list && o.where != "vm" {
		fetchMySQL(list)
	}
	here := list
	if !o.table {
		if here, err = place(list, o.where, say); err != nil {
			return err
		}
	}
	if o.list {
		for _, r := range here {
			fmt.Printf("%-28s %s\n", r.name, r.title())
		}
		return nil
	}
	if !o.table {
		err = o.run(ctx, here)
	}
	all, readErr := readTrials(o.results)
	if readErr == nil {
		fmt.Print(table(tried(list, o.where, all), all))
	}
	return errors.Join(err, readErr)
}

// fetchMySQL gets the server that a row wants and no package of this host has.
// Why that cannot be is said when the row is placed.
func fetchMySQL(list []row) {
	if slices.ContainsFunc(list, row.onlyHere) {
		if _, _, err := sandbox.MySQLTree(); err != nil {
			say("fetch MySQL: %v", err)
		}
	}
}

// wanted are the kinds that -kind names.
func (o order) wanted() ([]kind, error) {
	if o.kind == "" {
		return kinds(), nil
	}
	if k := kind(o.kind); slices.Contains(append(kinds(), aimed), k) {
		return []kind{k}, nil
	}
	return nil, fmt.Errorf("-kind %s is none: want killed, replayed or aimed", o.kind)
}

// run does the sessions that the results lack. A row that cannot be done here,
// or fails three times in a row, is left with a word; the others go on.
func (o order) run(ctx context.Context, list []row) error {
	which, err := o.wanted()
	if err != nil {
		return err
	}
	if o.times < 1 || o.cuts < 1 || o.drive != 0 && o.drive < time.Second {
		return errors.New("-times, -cuts and -drive want more than that")
	}
	b, done, err := o.bench(ctx)
	if err != nil {
		return err
	}
	defer done()
	began := time.Now()
	var all error
	for _, r := range list {
		for _, k := range which {
			if o.limit > 0 && time.Since(began) > o.limit {
				b.say("the time is over; run it again to go on")
				return all
			}
			err := o.fill(ctx, b, r, k, began)
			if ctx.Err() != nil {
				return errors.Join(all, ctx.Err())
			}
			if err != nil {
				b.say("%s, %s: left: %v", r.name, k, err)
				all = errors.Join(all, err)
			}
		}
	}
	return all
}

// mostFailures ends a row whose sessions fail one after the other.
const mostFailures = 3

// fill does sessions until a row has its trials.
func (o order) fill(ctx context.Context, b *bench, r row, k kind, began time.Time) error {
	for failures := 0; ; {
		all, err := readTrials(o.results)
		if err != nil {
			return err
		}
		missing := o.times - len(counted(all, r, k))
		if missing <= 0 || o.limit > 0 && time.Since(began) > o.limit {
			return nil
		}
		if _, err := b.base(ctx, r); err != nil { // no trial was begun, so none failed
			return err
		}
		err = b.session(ctx, r, k, next(all, r, k), missing, func(t trial) error {
			b.say("%s, %s %d/%d: %s", r.name, k, t.Session, t.Cut, t.line())
			return appendTrial(o.results, t)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			failures = 0
		case errors.Is(err, errSkipped):
			return err
		default:
			if failures++; failures == mostFailures {
				return err
			}
		}
	}
}

// line is a trial for a person who watches.
func (t trial) line() string {
	o := t.Outcome
	switch {
	case t.Error != "":
		return "not carried out: " + t.Error
	case !o.Mounted:
		return "the storage did not open; " + t.What
	case !o.Started:
		return "the server did not start; " + t.What
	}
	text := fmt.Sprintf("%d of %d commits lost; %s", o.Lost, o.Acknowledged, t.What)
	if len(o.Bad) > 0 {
		text = fmt.Sprintf("BAD %v; %s", o.Bad, text)
	}
	return text
}

// say tells a person who watches.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// bench makes the place where trials are done. The binaries get the names that
// guests know them by.
func (o order) bench(ctx context.Context) (b *bench, done func(), err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Dir(o.results), 0o755)); err != nil {
		return nil, nil, err
	}
	work, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(work) }
	here, there := o.drive, o.drive
	if o.drive == 0 {
		here, there = 25*time.Second, 45*time.Second
	}
	b = &bench{machine: places{&host{work}, newHypervisor(say)}, say: say, images: dir, dir: work, plumb: filepath.Join(work, "plumb"), self: filepath.Join(work, "powercut"),
		seed: o.seed, drive: there, driveHere: here, cuts: o.cuts, shortest: 3 * time.Second, longest: 25 * time.Second, longestHere: 12 * time.Second}
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(copyImage(ctx, self, b.self), copyImage(ctx, o.plumb, b.plumb), os.Chmod(b.self, 0o755), os.Chmod(b.plumb, 0o755))
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}
