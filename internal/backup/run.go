package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Run makes a backup, or goes on with one of the same job that was killed. With an error there is none, and what
// was sent stays, to go on with.
func (b *Backup) Run(ctx context.Context, job Job) (res Result, err error) {
	began := b.Now()
	defer func() {
		res.Took = b.Now().Sub(began)
		if err != nil {
			err = fmt.Errorf("back %s up to %s: %w", job.Name, b.Store.URL(), err)
		}
	}()
	if err := b.claim(ctx); err != nil {
		return res, err
	}
	r, goesOn, end, err := b.begin(ctx, job.Name)
	if err != nil {
		return res, err
	}
	defer end()
	res.GoesOn = goesOn
	res.Manifest = manifest.Manifest{Form: manifest.Form, ID: r.head.ID, Host: b.Host, Server: job.Server, Point: job.Point, Facts: job.Facts, Began: began.UTC().Truncate(time.Second), Plumb: b.Plumb}
	for i, source := range job.Sources {
		s, err := b.send(ctx, r, i, source, &res)
		if err != nil {
			return res, fmt.Errorf("%s: %w", source.Name, err)
		}
		res.Streams = append(res.Streams, s)
	}
	if err := b.whole(ctx, &res); err != nil {
		return res, err
	}
	res.Ended = b.Now().UTC().Truncate(time.Second)
	if err := b.commit(ctx, res.Manifest); err != nil {
		return res, err
	}
	return res, r.done(ctx)
}

// send runs a producer, and sends what it gives.
func (b *Backup) send(ctx context.Context, r *running, number int, source Source, res *Result) (manifest.Stream, error) {
	key, err := r.key()
	if err != nil {
		return manifest.Stream{}, err
	}
	var sent, skipped int64
	w, err := stream.NewWriter(ctx, stream.Writing{Store: b.Store, ID: r.head.ID, Stream: number, To: b.To, Key: key, Memory: r, Chunk: b.Chunk, Workers: b.Workers,
		Pace: b.Pace, Put: b.put(), Doing: func(bytes, out, before int64) {
			sent, skipped = out, before
			if b.Doing != nil {
				b.Doing(Progress{Stream: source.Name, Bytes: bytes, Sent: res.Sent + out, Skipped: res.Skipped + before})
			}
		}})
	if err != nil {
		return manifest.Stream{}, err
	}
	seen := &watched{w, source.Watch}
	s, err := w.Finish(b.produce(ctx, source, seen))
	found := seen.found(maps.Clone(res.Facts))
	if err != nil {
		return s, err
	}
	res.Facts = found
	res.Sent, res.Skipped = res.Sent+sent, res.Skipped+skipped
	s.Name, s.Kind, s.GUID, s.Base, s.Raw = source.Name, source.Kind, source.GUID, source.Base, source.Raw
	return s, nil
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
		err = hint.With(errors.New("it gave nothing"), "a backup of nothing is taken for a mistake")
	}
	return err
}

func (b *Backup) put() store.Put {
	if b.Lock == 0 {
		return store.Put{}
	}
	return store.Put{Until: b.Now().Add(b.Lock)}
}

// whole lists what the store has: that it said that it keeps an object is one thing.
func (b *Backup) whole(ctx context.Context, res *Result) error {
	there, err := sizes(ctx, b.Store, res.ID)
	if err != nil {
		return err
	}
	for n, s := range res.Streams {
		err := stream.Read(ctx, stream.Reading{Store: b.Store, ID: res.ID, Stream: n, Of: s, Workers: 1, Sealed: true,
			Only: func(int64) bool { return false },
			Seen: func(at int64, c manifest.Chunk) error {
				name := manifest.ChunkName(res.ID, n, at)
				if size, is := there[name]; !is || size != c.Size {
					return hint.With(fmt.Errorf("the store has %d bytes of %s, and said that it kept %d", size, name, c.Size), "something else removes objects below this prefix, or the store loses them")
				}
				res.Objects++
				return nil
			}}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// sizes lists the objects that the store has of a backup, in bytes.
func sizes(ctx context.Context, s store.Store, id string) (map[string]int64, error) {
	there := map[string]int64{}
	return there, s.List(ctx, manifest.Folder(id), func(i store.Info) error {
		there[i.Name] = i.Size
		return nil
	})
}

// commit makes the backup exist.
func (b *Backup) commit(ctx context.Context, m manifest.Manifest) error {
	text, err := manifest.Sign(m, b.Sign)
	if err != nil {
		return err
	}
	o := b.put()
	o.New = true
	_, err = b.Store.Put(ctx, manifest.Name(m.ID), text, o)
	if errors.Is(err, store.ErrExists) {
		err = nil // of a run that was killed just afterwards, or of a try that was thought to have failed; the next line tells
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	there, err := b.read(ctx, m.ID)
	if err == nil && (there.ID != m.ID || len(there.Streams) != len(m.Streams)) {
		err = errors.New("another is there")
	}
	if err != nil {
		return fmt.Errorf("read the manifest back: %w", err)
	}
	return nil
}
