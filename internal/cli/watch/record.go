package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	view "plumb/internal/view/record"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// recordFlags are the flags of watch record.
type recordFlags struct {
	shell.Source
	place
	most value.Size
	emit string
}

// leastRecording is the smallest size limit that makes sense, in bytes.
const leastRecording = 32 << 20

func recordForms() []string { return []string{view.Systemd} }

// recordCommand makes the command plumb watch record.
func recordCommand(s *shell.Shell, from feed.Feed) *cobra.Command {
	f := recordFlags{most: record.MostBytes}
	c := &cobra.Command{
		Use:   "record",
		Short: "record what watch sees, so that any minute can be replayed",
		Long: `Record watches this host until it is stopped, and keeps what it sees: every second
for two days, ten-second values for two weeks, and minutes for 400 days, but not
more than --max-size. The oldest seconds are removed first. Texts of statements
are kept without their literals.

A disk that is full or hangs does not stop it: what it could not write is recorded
as a gap. If less than 5 % of the filesystem is free it writes nothing, and says
so. If it is killed, it loses less than a minute.

--emit systemd prints a unit that runs it as a user of its own, and the line that
creates that user; each file begins with its name.

` + shell.ReadExits,
		Example: `  plumb watch record
  plumb watch record --dir /srv/plumb --max-size 4G
  plumb watch record --emit systemd`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runRecord(c.Context(), s, from, f) },
	}
	f.LiveFlags(c)
	f.flag(c, "keep the recording in")
	c.Flags().Var(&f.most, "max-size", "maximum size of the recording, such as 512M or 4G")
	c.Flags().StringVar(&f.emit, "emit", "", "print a unit that runs it, in this `FORM`: "+hint.OneOf(recordForms()))
	shell.Offer(c, map[string]shell.Words{"emit": recordForms})
	return c
}

func runRecord(ctx context.Context, s *shell.Shell, from feed.Feed, f recordFlags) error {
	if f.most < leastRecording {
		return hint.Usage(fmt.Sprintf("--max-size %s is too little", f.most.String()), "32M at least; a day takes some 20 to 60 MB")
	}
	if f.emit != "" {
		return emitRecord(s, f.emit)
	}
	if err := f.Validate(); err != nil {
		return err
	}
	dir, err := f.directory()
	if err != nil {
		return err
	}
	j, cat := feed.NewJudge(s)
	w, err := record.Open(ctx, record.Options{Dir: dir, Plumb: shell.Version(), Host: shell.Hostname(), Cap: int64(f.most), Counter: counterIn(cat),
		Say: func(text string) { fmt.Fprintln(s.Err, shell.OneLine(text)) }})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "recording into %s\n", shell.OneLine(dir))
	j.Learned(w.Before())
	err = from(ctx, f.Source, &keeping{Writer: w, judge: j})
	if ctx.Err() != nil {
		err = nil // somebody ended it
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(err, w.Close(last))
}

func emitRecord(s *shell.Shell, form string) error {
	if form != view.Systemd {
		return hint.Usage(fmt.Sprintf("--emit %s is not known", form), "use "+hint.OneOf(recordForms()))
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	files, err := view.Unit(self)
	if err != nil {
		return err
	}
	return s.Print(files)
}

func counterIn(cat *catalog.Catalog) func(of stack.Ref, name string) bool {
	return func(of stack.Ref, name string) bool {
		f := cat.Fact(of.Kind, name)
		return f != nil && f.OverTime == stack.Counter
	}
}

// keeping is a sink that records samples, judges them, and records the verdicts.
type keeping struct {
	*record.Writer
	judge  *watch.Judge
	known  time.Time
	learnt time.Time
}

// learnedEach is how often what the judge has learned of the devices is recorded. A replay
// begins at such a moment.
const learnedEach = 10 * time.Minute

// Picture implements watch.Sink.
func (k *keeping) Picture(at time.Time, s *stack.Stack) {
	k.Writer.Picture(at, s)
	k.judge.Picture(at, s)
}

// Batch implements watch.Sink.
func (k *keeping) Batch(b series.Batch) {
	k.Writer.Batch(b)
	k.judge.Batch(b)
	known := k.judge.Known()
	if known.Equal(k.known) {
		return
	}
	k.known = known
	k.Spans(k.judge.Moment(known).Timeline)
	if turn := known.Truncate(learnedEach); !turn.Equal(k.learnt) {
		k.learnt = turn
		k.Writer.Learned(known, k.judge.Baselines())
	}
}
