package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	recordview "plumb/internal/view/record"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// replayFlags are the flags of watch replay.
type replayFlags struct {
	place
	at     string
	before time.Duration
	file   string
	json   bool
}

// Replay makes the command plumb watch replay.
func Replay(s *shell.Shell) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay",
		Short: "show what limited each server at a recorded moment",
		Long: `Replay judges the minutes before a recorded moment again, and shows what plumb
watch --once would have shown then. The same recording gives the same answer.

--at takes a time (03:12 is the most recent one), a date and time, and an offset or
UTC; without one it is in this machine's time zone. An hour that occurred twice,
when clocks were set back, needs its offset. Without --at it lists the verdicts
that were raised, and the gaps in the recording.

Of data older than two days only ten-second values are kept, and beyond two weeks
one value a minute, so much less can be concluded.

` + shell.ReadExits,
		Example: `  plumb watch replay
  plumb watch replay --at 03:12
  plumb watch replay --at "2026-10-25 02:30 +0100" --json
  plumb watch replay --from-file incident.jsonl --at 03:12`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReplay(c.Context(), s, f) },
	}
	f.flag(c)
	fl := c.Flags()
	fl.StringVar(&f.at, "at", "", "the `TIME` to show, such as 03:12 or \"2026-10-25 02:30 +0100\"")
	fl.DurationVar(&f.before, "before", usualBefore, "judge this much before it again: the longer, the more is known about verdicts raised earlier")
	fl.StringVar(&f.file, "from-file", "", "read `FILE`, which plumb watch export --format jsonl or plumb watch capture wrote, instead of a recording; - for standard input")
	fl.BoolVar(&f.json, "json", false, "print JSON v1 (plumb schema describes it); goes with --at")
	return c
}

const (
	usualBefore = 10 * time.Minute
	mostBefore  = 24 * time.Hour
	afterwards  = 15 * time.Second // of batches are needed until a window is closed
	stale       = 2 * time.Minute  // a moment that is further away is another one
)

func (f replayFlags) validate() error {
	if f.before < time.Minute || f.before > mostBefore {
		return hint.Usage(fmt.Sprintf("--before %s is out of range", f.before), "1m to 24h")
	}
	if f.file != "" && f.dir != "" {
		return hint.Usage("--from-file and --dir name two recordings", "give one of them")
	}
	if f.at == "" && (f.json || f.file != "") {
		return hint.Usage("no moment is named", "--at 03:12 names one")
	}
	return nil
}

func runReplay(ctx context.Context, s *shell.Shell, f replayFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.at == "" {
		return f.recorded(ctx, func(r *record.Reader) error { return list(ctx, s, r) })
	}
	at, err := parseMoment("at", f.at, time.Now(), time.Local)
	if err != nil {
		return err
	}
	j, cat := feed.NewJudge(s)
	p := &player{judge: j, at: at}
	if f.file != "" {
		err = p.playFile(f.file, s.In)
	} else {
		err = f.recorded(ctx, func(r *record.Reader) error { return p.play(ctx, r, f.before) })
	}
	if err != nil {
		return err
	}
	if err := p.found(); err != nil {
		return err
	}
	if p.coarse {
		fmt.Fprintln(s.Err, "note: of this time only some values are left: what shows itself within seconds cannot be told")
	}
	return s.Answer(f.json, view.Document(*p.moment, cat), view.Text(*p.moment, cat, shell.Screen(s.Out)))
}

// player gives a judge what is recorded, and keeps what it says of the moment.
type player struct {
	judge  *watch.Judge
	at     time.Time
	moment *watch.Moment
	known  time.Time
	lost   *record.Lost // the last one at that time
	coarse bool
	span   [2]time.Time // that is recorded; zero: not known
}

// errOver ends reading.
var errOver = errors.New("the moment is over")

// play replays a recording from a moment at which it is known what watch had
// learned.
func (p *player) play(ctx context.Context, r *record.Reader, before time.Duration) error {
	from := p.at.Add(-before)
	known, since, err := r.Learned(ctx, from)
	if err != nil {
		return err
	}
	if !since.IsZero() && from.Sub(since) < learnedEach {
		from = since
	}
	p.judge.Learned(known)
	if p.span[0], p.span[1], err = r.Span(ctx); err != nil {
		return err
	}
	err = r.Each(ctx, from, p.at.Add(afterwards), p.item)
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

func (p *player) playFile(name string, in io.Reader) error {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if err := record.ReadLines(in, p.item); err != nil && !errors.Is(err, errOver) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// item takes the next of the recording.
func (p *player) item(i record.Item) error {
	switch {
	case i.Lost != nil:
		if !i.Lost.Since.After(p.at) && !i.Lost.Until.Before(p.at.Add(-stale)) {
			p.lost = i.Lost
		}
	case i.Picture != nil:
		p.judge.Picture(i.At, i.Picture)
	case i.At.After(p.at.Add(afterwards)):
		return errOver
	default:
		p.coarse = len(i.Least) > 0
		p.judge.Batch(*i.Batch)
		known := p.judge.Known()
		if known.Equal(p.known) {
			return nil
		}
		p.known = known
		if known.After(p.at) {
			return errOver
		}
		if p.at.Sub(known) < stale {
			m := p.judge.Moment(known)
			p.moment = &m
		}
	}
	return nil
}

// found says why there is no moment to show.
func (p *player) found() error {
	if p.moment != nil {
		return nil
	}
	const form = "2006-01-02 15:04:05 -0700"
	err := fmt.Errorf("nothing is recorded of %s", p.at.Local().Format(form))
	switch {
	case p.lost != nil:
		err = fmt.Errorf("%w: from %s to %s %s", err, p.lost.Since.Local().Format(form), p.lost.Until.Local().Format(form), p.lost.Why)
	case !p.span[0].IsZero():
		err = fmt.Errorf("%w, but from %s to %s", err, p.span[0].Local().Format(form), p.span[1].Local().Format(form))
	}
	return hint.With(err, "plumb watch replay lists what is recorded")
}

// list tells what a recording holds.
func list(ctx context.Context, s *shell.Shell, r *record.Reader) error {
	from, to, err := r.Span(ctx)
	if err != nil {
		return err
	}
	if from.IsZero() {
		return hint.With(errors.New("nothing is recorded yet"), "a recorder writes each half minute")
	}
	h := recordview.Holds{From: from, To: to}
	if h.Verdicts, err = r.Spans(ctx, from, to.Add(time.Hour)); err != nil {
		return err
	}
	if h.Lost, err = r.Lost(ctx, from, to); err != nil {
		return err
	}
	return s.Print(h.Text(time.Local))
}
