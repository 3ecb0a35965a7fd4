package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Run makes a backup, or goes on with one of the same job that was killed. With an error there is none, and what
// was sent stays, to go on with. Where only some stores have it, the result says which do not.
func (b *Backup) Run(ctx context.Context, job Job) (res Result, err error) {
	began := b.Now()
	defer func() {
		res.Took = b.Now().Sub(began)
		if err != nil {
			err = fmt.Errorf("back up %s to %s: %w", Told(job.Name), b.where(), err)
		}
	}()
	to, err := b.reached(ctx)
	if err != nil {
		return res, err
	}
	r, goesOn, end, err := b.begin(ctx, to, job.Name)
	if err != nil {
		return res, err
	}
	defer func() { res.Twin = r.twin; end() }()
	if goesOn {
		is, err := b.ended(ctx, r, to, &res)
		switch {
		case err != nil:
			return res, r.failed(ctx, err)
		case is && job.Point != "" && slices.Equal(job.needs(), res.Bases()):
			return res, b.closed(ctx, r, job, res)
		case is: // what a command gives now is another backup
			res, goesOn = Result{}, false
			if to, err = b.anew(ctx, r, job); err != nil {
				return res, err
			}
		}
	}
	run, c, still, err := b.alive(ctx, to, r, goesOn, job.needs())
	if errors.Is(err, ErrGivenUp) && goesOn { // what was sent is gone
		goesOn = false
		if to, err = b.anew(ctx, r, job); err == nil {
			run, c, still, err = b.alive(ctx, to, r, false, job.needs())
		}
	}
	if err != nil {
		return res, err
	}
	defer still()
	res.GoesOn = goesOn
	if err := b.all(run, r, c, job, &res); err != nil {
		if cause := context.Cause(run); ctx.Err() == nil && cause != nil {
			err = cause
		}
		return res, r.failed(ctx, err)
	}
	dropClaims(ctx, c.to, res.ID)
	return res, b.closed(ctx, r, job, res)
}

// anew begins a backup of which an earlier run had begun another.
func (b *Backup) anew(ctx context.Context, r *running, job Job) (to *store.Fan, err error) {
	if to, err = b.reached(ctx); err == nil {
		err = r.start(ctx, to, job.Name)
	}
	return to, err
}

// closed ends a run whose backup exists.
func (b *Backup) closed(ctx context.Context, r *running, job Job, res Result) error {
	if err := b.bookmark(ctx, job, len(res.Lost) == 0); err != nil {
		b.warn("have the next backup begin here when the point is pruned", err)
	}
	return r.done(ctx)
}

// warn reports an error without which the run goes on.
func (b *Backup) warn(what string, err error) {
	if b.Warn != nil && err != nil {
		b.Warn(what, err)
	}
}

// all makes a backup whose claims are there.
func (b *Backup) all(ctx context.Context, r *running, c *claims, job Job, res *Result) error {
	keep := func(s store.Store) error {
		_, err := b.keepBases(ctx, s, job.needs())
		return err
	}
	if err := c.to.Each(ctx, keep); err != nil {
		return err
	}
	res.Whole = job.Whole
	count := newTally(b.Doing, 0).about(b.estimated(ctx, job))
	res.Manifest = manifest.Manifest{Form: manifest.Form, ID: r.head.ID, Host: b.Host, Server: job.Server, Point: job.Point, Facts: job.Facts, Began: b.Now().UTC().Truncate(time.Second), Plumb: b.Plumb}
	for i, source := range job.Sources {
		s, err := b.send(ctx, r, c.to, i, source, res, count)
		if err != nil {
			return fmt.Errorf("%s: %w", source.Name, err)
		}
		res.Streams = append(res.Streams, s)
	}
	// After a beat prune waits longer than all that follows may take. If it takes longer still, there is a stone in the place of the manifest.
	if err := c.beatUnlessRecent(ctx, b.Beat); err != nil {
		return err
	}
	if res.GoesOn {
		if err := b.settled(ctx, r, c.to, res.Manifest); err != nil {
			return err
		}
	}
	return b.finish(ctx, c.to, res)
}

// Stores returns all stores the backup goes to.
func (b *Backup) Stores() []store.Store { return append([]store.Store{b.Store}, b.Also...) }

// reached gives the stores that answer, in which only this host writes, and which can lock objects if that is asked for.
func (b *Backup) reached(ctx context.Context) (*store.Fan, error) {
	to := store.NewFan(b.Stores()...)
	err := to.Each(ctx, func(s store.Store) error {
		if err := b.claim(ctx, s); err != nil || b.Lock == 0 {
			return err
		}
		return store.MayLock(ctx, s, b.Lock)
	})
	if err != nil || b.Lock == 0 {
		return to, err
	}
	for i, s := range b.Stores() { // one after the other: who is warned need not be ready for several at once
		if to.Lost(i) == nil {
			b.short(ctx, s)
		}
	}
	return to, nil
}

// where names the stores.
func (b *Backup) where() string { return store.URLs(b.Stores()) }

// finish makes the backup exist in every store that has all of its objects.
func (b *Backup) finish(ctx context.Context, to *store.Fan, res *Result) error {
	var objects atomic.Int64 // the same in each that has all
	err := to.Each(ctx, func(s store.Store) error {
		n, err := whole(ctx, s, res.Manifest)
		if err == nil {
			objects.Store(n)
		}
		return err
	})
	if err != nil {
		return err
	}
	res.Objects = objects.Load()
	if err := to.Each(ctx, func(s store.Store) error { return b.lasting(ctx, s, res.Manifest, res.GoesOn) }); err != nil {
		return err
	}
	res.Ended = b.Now().UTC().Truncate(time.Second)
	// The key is read after Ended is set: if it is given up meanwhile, the backup still ended before that, and is believed.
	if b.Sign, b.Public, err = HostKey(ctx, b.Do, b.Dir, b.Host); err != nil {
		return err
	}
	text, err := manifest.Sign(res.Manifest, b.Sign)
	if err != nil {
		return err
	}
	if err := to.Each(ctx, func(s store.Store) error { return b.commit(ctx, s, res.Manifest, text) }); err != nil {
		return err
	}
	res.Lost = b.lost(to)
	return nil
}

// lost lists the stores that the backup did not reach, with the reason.
func (b *Backup) lost(to *store.Fan) (all []Lost) {
	for i, s := range b.Stores() {
		if err := to.Lost(i); err != nil {
			all = append(all, Lost{s.URL(), err})
		}
	}
	return all
}

// send runs a producer, and sends what it gives.
func (b *Backup) send(ctx context.Context, r *running, to *store.Fan, number int, source Source, res *Result, count *tally) (manifest.Stream, error) {
	key, err := r.key()
	if err != nil {
		return manifest.Stream{}, err
	}
	w, err := stream.NewWriter(ctx, stream.Writing{Store: to, ID: r.head.ID, Stream: number, To: b.To, Key: key, Memory: r, Chunk: b.Chunk, Workers: b.Workers,
		Pace: b.Pace, Put: locked(b.Lock, b.Now), Doing: func(of manifest.Chunk, sent bool) {
			if !sent {
				res.Skipped += of.Plain
				count.had(source.Name, of.Plain)
				return
			}
			res.Sent += of.Size
			count.did(source.Name, of.Plain)
		}})
	if err != nil {
		return manifest.Stream{}, err
	}
	seen := &watched{w, source.Watch}
	s, err := w.Finish(b.produce(ctx, source, source.through(seen)))
	found := seen.found(maps.Clone(res.Facts))
	if err != nil {
		return s, err
	}
	res.Facts = found
	s.Name, s.Kind, s.GUID, s.Base, s.Raw = source.Name, source.Kind, source.GUID, source.Base, source.Raw
	if source.Sieve != nil {
		s.GUID = source.Sieve.Of.String()
	}
	return s, nil
}

// through puts the sieve of a source before a writer.
func (s Source) through(w io.Writer) io.Writer {
	if s.Sieve == nil {
		return w
	}
	s.Sieve.Out = w
	return s.Sieve
}

// produce has a producer write.
func (b *Backup) produce(ctx context.Context, source Source, w io.Writer) error {
	if source.Text != nil {
		_, err := w.Write(source.Text)
		return err
	}
	// Nothing goes out of it while the store is not there: that is waited for as long as it may last.
	flow, err := b.Do.Pipe(ctx, host.Pipe{Argv: source.Argv, Out: w, Progress: quiet})
	if err == nil && flow.Out == 0 {
		err = hint.With(errors.New("it gave nothing"), "check the command: an empty backup is refused, because it is probably a mistake")
	}
	if err == nil && source.Sieve != nil {
		err = source.Sieve.Close()
	}
	if errors.Is(err, btrfs.ErrOther) {
		err = hint.With(err, "somebody wrote to a snapshot of a point, or made a subvolume that was received writable: --full sends what needs no other, unless it is the point's own (plumb snapshot takes another)")
	}
	return err
}

// locked says of an object that it is not to be removed for some time; 0: it may be at once.
func locked(lock time.Duration, now func() time.Time) store.Put {
	if lock == 0 {
		return store.Put{}
	}
	return store.Put{Until: now().Add(lock)}
}

// whole is an error unless the store has every object of a backup, in its size. It counts them.
func whole(ctx context.Context, in store.Store, m manifest.Manifest) (objects int64, err error) {
	var there store.Sizes
	var unlisted error
	var both sync.WaitGroup
	both.Go(func() { there, unlisted = store.SizesOf(ctx, in, manifest.Folder(m.ID)) }) // on a long line each waits for an answer
	listed, err := chunks(ctx, in, m)
	both.Wait()
	if err = cmp.Or(err, unlisted); err != nil {
		return 0, err
	}
	for n, chunks := range listed {
		for at, size := range chunks {
			if err := there.Kept(manifest.ChunkName(m.ID, n, int64(at)), size); err != nil {
				return 0, hint.With(err, "something else removes objects below this prefix, or the store loses them")
			}
			objects++
		}
	}
	return objects, nil
}

// chunks reads the lists of a backup back: of each stream the sizes of its chunks as objects.
func chunks(ctx context.Context, in store.Store, m manifest.Manifest) ([][]int64, error) {
	all := make([][]int64, len(m.Streams))
	for n, s := range m.Streams {
		err := stream.Read(ctx, stream.Reading{Store: in, ID: m.ID, Stream: n, Of: s, Workers: 1, Sealed: true,
			Only: func(int64) bool { return false },
			Seen: func(_ int64, c manifest.Chunk) error {
				all[n] = append(all[n], c.Size)
				return nil
			}}, nil)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// commit makes the backup exist in a store, by its manifest as it was signed.
func (b *Backup) commit(ctx context.Context, in store.Store, m manifest.Manifest, text []byte) error {
	o := locked(b.Lock, b.Now)
	o.New = true
	_, err := in.Put(ctx, manifest.Name(m.ID), text, o)
	if errors.Is(err, store.ErrExists) {
		err = nil // of a run that was killed just afterwards, or of a try that was thought to have failed; the next line tells
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	there, err := b.read(ctx, in, m.ID)
	if errors.Is(err, signed.ErrRemoved) {
		return givenUp(m.ID, isDead)
	}
	if err == nil && (there.ID != m.ID || !reflect.DeepEqual(there.Streams, m.Streams)) {
		err = errors.New("another is there")
	}
	if err != nil {
		return fmt.Errorf("read the manifest back: %w", err)
	}
	return nil
}
