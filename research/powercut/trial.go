package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plumb/research/powercut/writelog"
)

// trial is one power cut and what it left.
type trial struct {
	Row  string `json:"row"`
	Hash string `json:"hash"` // of the row: trials of another set-up are not counted with it
	Kind kind   `json:"kind"`
	// Versions are those of the host for a row that ran there; "" in a machine.
	Versions string  `json:"versions,omitempty"`
	Session  int     `json:"session"` // cuts of one log share a session
	Cut      int     `json:"cut"`
	Seed     uint64  `json:"seed"`
	What     string  `json:"what"`            // how it was cut, in words
	Error    string  `json:"error,omitempty"` // why it says nothing; outcome is empty then
	Seconds  float64 `json:"seconds"`
	When     string  `json:"when"` // RFC 3339
	Outcome  outcome `json:"outcome"`
	// Exposure is of the whole log, and stands in the first cut of a session.
	Exposure *exposure `json:"exposure,omitempty"`
}

// session does the trials of one session and hands each to keep: one of a
// killed machine, several of a replayed log.
func (b *bench) session(ctx context.Context, r row, k kind, number, most int, keep func(trial) error) error {
	t := trial{Row: r.name, Hash: r.hash(), Kind: k, Versions: r.versions, Session: number, Seed: b.draw(r.name, k, number)}
	began := time.Now()
	after := b.length(r, k, t.Seed)
	s, err := b.serve(ctx, r, k, after)
	if ctx.Err() != nil {
		return ctx.Err() // an interrupted trial is none
	}
	if err != nil {
		t.Error = err.Error()
		return errors.Join(keep(t.at(began)), err)
	}
	defer s.close()
	if k != killed {
		return b.replays(ctx, r, s, t, min(b.cuts, most), keep)
	}
	t.What = fmt.Sprintf("killed %.1f s after the first commit", after.Seconds())
	t.Outcome, err = b.verify(ctx, r, s.disk(), s.book(), 0)
	return b.hand(ctx, t, began, err, keep)
}

// length is how long the load of a session runs.
func (b *bench) length(r row, k kind, seed uint64) time.Duration {
	drive, longest := b.drive, b.longest
	if r.release == onHost {
		drive, longest = b.driveHere, b.longestHere
	}
	if k != killed {
		return drive
	}
	return b.shortest + time.Duration(rand.New(rand.NewPCG(seed, 1)).Int64N(int64(longest-b.shortest)))
}

// hand keeps a trial, unless it was interrupted.
func (b *bench) hand(ctx context.Context, t trial, began time.Time, err error, keep func(trial) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.Error, t.Outcome = err.Error(), outcome{}
	}
	return errors.Join(keep(t.at(began)), err)
}

func (t trial) at(began time.Time) trial {
	t.When, t.Seconds = time.Now().UTC().Format(time.RFC3339), time.Since(began).Seconds()
	return t
}

// replays cuts the power of one session at so many places of its log.
func (b *bench) replays(ctx context.Context, r row, s *session, t trial, cuts int, keep func(trial) error) error {
	l, log, err := openLog(s.log())
	if log == nil {
		return err
	}
	defer log.Close()
	if err == nil {
		_, _, err = span(s.marks, l)
	}
	var e *exposure
	var both []twins
	if err == nil && r.engine != "postgres" {
		e, both, err = findTwins(l, log)
	}
	if err == nil && t.Kind == aimed && len(both) == 0 {
		return fmt.Errorf("%w: no page lay in the cache with its copy: %+v", errSkipped, e)
	}
	if err != nil {
		t.Error = err.Error()
		return errors.Join(keep(t.at(time.Now())), err)
	}
	for i := range cuts {
		began := time.Now()
		t := t
		t.Cut, t.Seed = i, b.draw(r.name, t.Kind, t.Session, i)
		if i == 0 {
			t.Exposure = e
		}
		err := b.replay(ctx, r, s, l, log, both, &t)
		if err := b.hand(ctx, t, began, err, keep); err != nil {
			return err
		}
	}
	return nil
}

// openLog reads a log of writes, whose data stay in the file. There is no file
// when it could not be opened.
func openLog(name string) (*writelog.Log, *os.File, error) {
	log, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	st, err := log.Stat()
	if err != nil {
		return nil, log, err
	}
	l, err := writelog.Read(log, st.Size())
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return l, log, err
}

// replay makes the image of one cut and looks at it.
func (b *bench) replay(ctx context.Context, r row, s *session, l *writelog.Log, log *os.File, both []twins, t *trial) error {
	cut, records, err := drawCut(l, s.marks, t.Seed)
	if t.Kind == aimed {
		cut, records, err = aimCut(l, s.marks, both, t.Seed)
	}
	if err != nil {
		return err
	}
	t.What = fmt.Sprintf("%s; %d commits were acknowledged", cut, records)
	image := filepath.Join(s.dir, "replayed")
	defer os.Remove(image)
	if err := replayTo(ctx, l, log, s.base, image, cut); err != nil {
		return err
	}
	t.Outcome, err = b.verify(ctx, r, image, s.book(), records)
	return err
}

// drawCut draws where a log is cut, and says how many commits of the ledger
// must be there. Any entry is as likely as any other: the power is cut more
// often where more was written, which is where a cut hurts.
func drawCut(l *writelog.Log, marks []mark, seed uint64) (c writelog.Cut, records int64, err error) {
	from, to, err := span(marks, l)
	if err != nil {
		return c, 0, err
	}
	end := from + 1 + rand.New(rand.NewPCG(seed, 2)).IntN(to-from)
	if records = acknowledged(marks, l, end); records == 0 {
		return c, 0, errors.New("no commit was acknowledged before the cut") // span begins at one
	}
	c, err = l.Draw(end, seed)
	return c, records, err
}

// aimCut is drawCut for a page that lay in the cache with its copy.
func aimCut(l *writelog.Log, marks []mark, both []twins, seed uint64) (c writelog.Cut, records int64, err error) {
	from, _, err := span(marks, l)
	if err != nil {
		return c, 0, err
	}
	both = slices.DeleteFunc(slices.Clone(both), func(p twins) bool { return p.second < from })
	if len(both) == 0 {
		return c, 0, errors.New("no page lay in the cache with its copy after the first commits")
	}
	p := both[rand.New(rand.NewPCG(seed, 3)).IntN(len(both))]
	if records = acknowledged(marks, l, p.second+1); records == 0 {
		return c, 0, errors.New("no commit was acknowledged before the cut")
	}
	c, err = l.DrawTorn(p.second+1, seed, p.first, p.second)
	return c, records, err
}

// replayTo makes the image of a cut from the base and the log.
func replayTo(ctx context.Context, l *writelog.Log, log *os.File, base, image string, c writelog.Cut) error {
	if err := copyImage(ctx, base, image); err != nil {
		return err
	}
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		err = l.Replay(log, f, st.Size(), c)
	}
	return errors.Join(err, f.Close())
}

// replay makes the image of one cut of any log.
func (o order) replay(ctx context.Context) error {
	if o.base == "" || o.image == "" {
		return errors.New("-replay wants -base and -image too")
	}
	if _, err := os.Stat(o.image); err == nil {
		return fmt.Errorf("%s already exists", o.image)
	}
	l, log, err := openLog(o.log)
	defer log.Close() // also of none
	if err != nil {
		return err
	}
	fmt.Printf("%d entries, %d of them flushes, sectors of %d bytes\n", len(l.Entries), len(l.Flushes()), l.SectorSize)
	if l.Hole {
		fmt.Println("an entry is missing and others follow it: what they were cannot be known")
	}
	end := o.end
	if end < 0 {
		end = len(l.Entries)
	}
	c, err := l.Draw(end, o.seed)
	if err != nil {
		return err
	}
	fmt.Println(c)
	return replayTo(ctx, l, log, o.base, o.image, c)
}
