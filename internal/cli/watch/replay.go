package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/units"
	recordview "plumb/internal/view/record"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// replayFlags are the flags of watch replay.
type replayFlags struct {
	place
	at      string
	before  time.Duration
	against string
	sort    string
	file    string
	json    bool
}

// replayCommand makes the command plumb watch replay.
func replayCommand(s *shell.Shell) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay",
		Short: "show what limited each server at a recorded moment",
		Long: `Replay judges the minutes before a recorded moment again, and shows what plumb
watch --once would have shown then. The same recording gives the same answer.

--at takes a time (03:12 is the most recent one), a date and time, and an offset or
UTC, as plumb watch shows it; without one it is in this machine's time zone. An
hour that occurred twice, when clocks were set back, needs its offset. If the clock
itself was set back over a time, each is shown. Without --at it lists the verdicts
that were raised, and the gaps in the recording.

--against compares the statements of the minutes before the moment (--before) with
those of the same minutes before another one: which cost more, and whether there
are more calls or each takes longer.

Of data older than two days only ten-second values are kept, and beyond two weeks
one value a minute, so much less can be concluded.

` + shell.ReadExits,
		Example: `  plumb watch replay
  plumb watch replay --at 03:12
  plumb watch replay --at "2026-10-25 02:30 +0100" --json
  plumb watch replay --at 03:12 --against 02:12 --sort growth
  plumb watch replay --from-file incident.jsonl --at 03:12`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReplay(c.Context(), s, f) },
	}
	f.flag(c, "the recording is in")
	fl := c.Flags()
	fl.StringVar(&f.at, "at", "", "the `TIME` to show, such as 03:12 or \"2026-10-25 02:30 +0100\"")
	fl.DurationVar(&f.before, "before", usualBefore, "also judge this long before the moment: a longer time shows more of the verdicts raised earlier")
	fl.StringVar(&f.against, "against", "", "compare the statements with those before this other `TIME`")
	sortFlag(c, &f.sort)
	fl.StringVar(&f.file, "from-file", "", "read `FILE`, which plumb watch export --format jsonl or plumb watch capture wrote, instead of a recording; - for standard input")
	shell.JSONFlag(c, &f.json, "; goes with --at")
	return c
}

const (
	usualBefore = 10 * time.Minute
	mostBefore  = 24 * time.Hour
	afterwards  = 15 * time.Second // how much must be read after the moment until its window is closed
	stale       = 2 * time.Minute  // a moment that is further away is another one
)

func (f replayFlags) validate() error {
	if f.before < time.Minute || f.before > mostBefore {
		return hint.Usage(fmt.Sprintf("--before %s is out of range", units.Short(f.before)), "1m to 24h")
	}
	if f.file != "" && f.dir != "" {
		return hint.Usage("--from-file and --dir cannot be combined", "give one of them")
	}
	if err := sortable(f.sort); err != nil {
		return err
	}
	if f.at == "" && (f.json || f.file != "" || f.against != "") {
		return hint.Usage("no moment is given", "--at 03:12 gives one")
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
	other, err := f.other(at)
	if err != nil {
		return err
	}
	j, cat := feed.NewJudge(s)
	p := &player{judge: j, at: at, file: f.file, against: other}
	if f.file != "" {
		err = p.playFile(ctx, f.file, s.In)
	} else {
		err = f.recorded(ctx, func(r *record.Reader) error { return p.play(ctx, r, f.before) })
	}
	if err != nil {
		return err
	}
	if err := p.found(); err != nil {
		return err
	}
	notes, err := p.against.compare(p.moment, watch.Order(f.sort))
	if err != nil {
		return err
	}
	for _, note := range append(p.notes(), notes...) {
		fmt.Fprintln(s.Err, "note: "+note)
	}
	text, all := "", append(p.earlier, *p.moment)
	for i := range all {
		all[i].List(watch.Order(f.sort))
		text += view.Text(all[i], cat, shell.Screen(s.Out))
	}
	return s.Answer(f.json, view.Document(all[len(all)-1], cat), text)
}

// other returns what the statements are compared with; nil when no flag asks for that.
func (f replayFlags) other(at time.Time) (*against, error) {
	if f.against == "" {
		return nil, nil
	}
	then, err := parseMoment("against", f.against, time.Now(), time.Local)
	if err != nil {
		return nil, err
	}
	return newAgainst(at, then, f.before)
}

// player passes what is recorded to a judge, and keeps its verdicts of the moment.
type player struct {
	judge   *watch.Judge
	at      time.Time
	moment  *watch.Moment
	earlier []watch.Moment       // what it said of that time before the clock was set back over it
	over    bool                 // nothing more is said of that time, unless the clock is set back
	beyond  map[string]time.Time // the last batch of each source after the moment
	known   time.Time
	lost    *record.Lost // what was last lost at that time
	coarse  time.Time    // of the last batch of which only some values are left
	anew    bool         // what was learned by then is damaged
	span    [2]time.Time // the first and last time that is recorded; zero when not known
	file    string       // that is read instead of a recording
	against *against     // what statements are compared with
}

// mostPasses limits how often the same moment is looked for, in case the clock was set back again and again.
const mostPasses = 10

// notes returns what a reader of the moment must know.
func (p *player) notes() (all []string) {
	if p.at.Sub(p.coarse) < stale {
		all = append(all, "only some values of this time are left: what happens within seconds cannot be seen")
	}
	if p.anew {
		all = append(all, "what was learned about the devices by then is damaged, and is learned again from here: less can be concluded")
	}
	if n := len(p.earlier); n > 0 {
		all = append(all, fmt.Sprintf("the clock was set back over this time, which came %d times: all are shown, in the order in which they came; JSON has the last", n+1))
	}
	return all
}

// play replays a recording from a place in it where it is recorded what watch had
// learned by then.
func (p *player) play(ctx context.Context, r *record.Reader, before time.Duration) error {
	from := p.at.Add(-before)
	known, since, err := r.Learned(ctx, from)
	if p.anew = record.Damaged(err); err != nil && !p.anew {
		return err
	}
	if !since.IsZero() && from.Sub(since) < learnedEach {
		from = since
	}
	p.judge.Learned(known)
	if err := p.against.read(ctx, r); err != nil {
		return err
	}
	if p.span[0], p.span[1], err = r.Span(ctx); err != nil {
		return err
	}
	return r.Each(ctx, from, p.at.Add(afterwards), p.item)
}

func (p *player) playFile(ctx context.Context, name string, in io.Reader) error {
	if name != "-" {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return hint.Usage("--from-file "+name+" is a directory", "before.jsonl.gz in it, if it is a capture; --dir if it is a recording")
		}
		f, err := shell.Open(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		defer f.Close()
		in = f
	}
	err := record.ReadLines(in, func(i record.Item) error {
		if i.Batch != nil {
			if p.span[0].IsZero() {
				p.span[0] = i.At
			}
			p.span[1] = i.At
		}
		return cmp.Or(ctx.Err(), p.item(i))
	})
	whole := p.over && p.moment != nil // an error then is about what comes after the moment
	if err != nil && (ctx.Err() != nil || !whole) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// item takes the next item of the recording.
func (p *player) item(i record.Item) error {
	p.against.take(i)
	switch {
	case i.Lost != nil:
		if !i.Lost.Since.After(p.at) && !i.Lost.Until.Before(p.at.Add(-stale)) {
			p.lost = i.Lost
		}
	case i.Picture != nil:
		p.judge.Picture(i.At, i.Picture)
	default:
		if p.turnedBack(*i.Batch) {
			p.again()
		}
		p.over = p.over || i.At.After(p.at.Add(afterwards))
		if !p.over {
			if len(i.Least) > 0 { // not all have some: a counter has none
				p.coarse = i.At
			}
			p.batch(*i.Batch)
		}
	}
	return nil
}

// batch passes a batch to the judge.
func (p *player) batch(b series.Batch) {
	p.judge.Batch(b)
	known := p.judge.Known()
	if known.Equal(p.known) {
		return
	}
	p.known, p.over = known, known.After(p.at)
	if !p.over && p.at.Sub(known) < stale {
		m := p.judge.Moment(known)
		p.moment = &m
	}
}

// setBack is by how much a source's time must go back to mean that the clock was set.
const setBack = 3 * time.Second

// turnedBack tells whether the clock was set back over the moment: a source that was
// after it is before it again.
func (p *player) turnedBack(b series.Batch) bool {
	if p.beyond == nil {
		p.beyond = map[string]time.Time{}
	}
	if b.At.After(p.at) {
		p.beyond[b.Source] = b.At
		return false
	}
	last, was := p.beyond[b.Source]
	return was && last.Sub(b.At) >= setBack
}

// again starts anew, for another time when the clock showed the moment.
func (p *player) again() {
	clear(p.beyond)
	p.over = false
	if p.moment != nil && len(p.earlier) < mostPasses {
		p.earlier, p.moment = append(p.earlier, *p.moment), nil
	}
}

// found is an error that says why there is no moment to show; nil if there is one.
func (p *player) found() error {
	if n := len(p.earlier); n > 0 && p.moment == nil {
		p.moment, p.earlier = &p.earlier[n-1], p.earlier[:n-1]
	}
	if p.moment != nil {
		return nil
	}
	if p.file != "" {
		return nothing("of "+shown(p.at)+" in "+p.file, "its part of a recording", p.lost, p.span, "plumb watch export --format jsonl writes another part")
	}
	return nothing("of "+shown(p.at), "the recording", p.lost, p.span, "plumb watch replay lists what is recorded")
}

// shown writes a moment in the time zone of the machine, in a form that the command line takes.
func shown(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -0700") }

// nothing is the error for a time of which nothing is recorded. It says why if that is known, and for
// which times there is something.
func nothing(of, what string, lost *record.Lost, span [2]time.Time, todo string) error {
	text := "nothing is recorded " + of
	if lost != nil {
		text += fmt.Sprintf(": from %s to %s %s", shown(lost.Since), shown(lost.Until), lost.Why)
	}
	if !span[0].IsZero() {
		text += fmt.Sprintf("; %s goes from %s to %s", what, shown(span[0]), shown(span[1]))
	}
	return hint.With(errors.New(text), todo)
}

// list prints what a recording holds.
func list(ctx context.Context, s *shell.Shell, r *record.Reader) error {
	from, to, err := r.Span(ctx)
	if err != nil {
		return err
	}
	if from.IsZero() {
		return hint.With(errors.New("nothing is recorded yet"), "the recorder writes every half minute: try again then")
	}
	h := recordview.Holds{From: from, To: to}
	var damaged []record.Lost
	if h.Verdicts, damaged, err = r.Spans(ctx, from, to.Add(time.Hour)); err != nil {
		return err
	}
	if h.Lost, err = r.Lost(ctx, from, to); err != nil {
		return err
	}
	h.Lost = append(h.Lost, damaged...)
	slices.SortStableFunc(h.Lost, func(a, b record.Lost) int { return a.Since.Compare(b.Since) })
	return s.Print(h.Text(time.Local))
}
