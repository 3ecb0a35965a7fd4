package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
)

// Copying takes backups from one store to another as they lie: nothing is opened, so no key is needed. Every
// object is compared with what was signed before it is written, and the manifest is written last, if there is none. What is there
// of an earlier run is not sent again.
type Copying struct {
	From    Vault
	To      store.Store
	Workers int
	Pace    *stream.Pace
	Lock    time.Duration
	Now     func() time.Time
	Doing   func(Progress)
}

// Copied is a backup that another store has now too.
type Copied struct {
	ID      string `json:"id"`
	Objects int64  `json:"objects"`
	Sent    int64  `json:"sent_bytes"`    // in objects, by this run
	There   bool   `json:"there_already"` // it was there as a whole
}

// Run copies backups in their order: those that others need come first.
func (c Copying) Run(ctx context.Context, all []manifest.Manifest) (done []Copied, err error) {
	if err := c.claim(ctx); err != nil {
		return nil, fmt.Errorf("copy backups to %s: %w", c.To.URL(), err)
	}
	for _, m := range all {
		one, err := c.one(ctx, m)
		if err != nil {
			return done, fmt.Errorf("copy backup %s to %s: %w", m.ID, c.To.URL(), err)
		}
		done = append(done, one)
	}
	return done, nil
}

// claim makes the target the same host's as the source is: by the note that lies there, and those about its keys.
func (c Copying) claim(ctx context.Context) error {
	text, _, err := c.From.Store.Get(ctx, owner, make([]byte, 4096))
	if err != nil {
		return fmt.Errorf("look whose backups those in %s are: %w", c.From.Store.URL(), err)
	}
	there, err := owned(ctx, c.To, func() ([]byte, error) { return text, nil })
	if err != nil {
		return err
	}
	if a, b := signer(text), signer(there); a != b {
		return hint.With(fmt.Errorf("its prefix is another host's: %s, and not %s", b, a), "give each host a prefix of its own")
	}
	return c.successions(ctx)
}

func (c Copying) successions(ctx context.Context) error {
	all, err := c.From.successions(ctx)
	if err != nil {
		return err
	}
	return key{past: all}.publish(ctx, c.To)
}

func (c Copying) one(ctx context.Context, m manifest.Manifest) (Copied, error) {
	done := Copied{ID: m.ID}
	text, _, err := c.From.Store.Get(ctx, manifest.Name(m.ID), make([]byte, manifest.MaxSize))
	if err != nil {
		return done, err
	}
	if _, _, err := c.From.Open(text, m.ID); err != nil { // it may be another by now
		return done, errors.Join(errors.New("its manifest was replaced meanwhile"), err)
	}
	if done.There, err = c.has(ctx, m, text); err != nil || done.There {
		return done, err
	}
	there, err := sizes(ctx, c.To, m.ID)
	if err != nil {
		return done, err
	}
	var sent, objects atomic.Int64
	for number, s := range m.Streams {
		if err := c.stream(ctx, m, number, there, &sent, &objects); err != nil {
			return done, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	done.Sent, done.Objects = sent.Load(), objects.Load()
	// A copy that takes longer than prune waits for a run of which it knows nothing may have lost what it sent first.
	if _, err := whole(ctx, c.To, m); err != nil {
		return done, err
	}
	o := locked(c.Lock, c.Now)
	o.New = true
	if _, err = c.To.Put(ctx, manifest.Name(m.ID), text, o); err != nil && !errors.Is(err, store.ErrExists) {
		return done, fmt.Errorf("write the manifest: %w", err)
	}
	if is, err := c.has(ctx, m, text); err != nil || !is {
		return done, errors.Join(errors.New("the manifest that was written is not there"), err)
	}
	return done, nil
}

// has tells whether the target has the manifest. Another one of the same backup is a fault, or somebody's doing.
func (c Copying) has(ctx context.Context, m manifest.Manifest, text []byte) (bool, error) {
	there, _, err := c.To.Get(ctx, manifest.Name(m.ID), make([]byte, manifest.MaxSize))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(there, text):
		return false, hint.With(errors.New("there is another manifest of it already"), "compare the two: plumb backup list --from shows who signed each")
	}
	return true, nil
}

// stream copies the objects of one stream: its lists, and the chunks that are not there with their size.
func (c Copying) stream(ctx context.Context, m manifest.Manifest, number int, there map[string]int64, sent, objects *atomic.Int64) error {
	s := m.Streams[number]
	name := func(n int64) string { return manifest.ChunkName(m.ID, number, n) }
	missing := map[int64]bool{} // asked and answered by one goroutine
	err := stream.Read(ctx, stream.Reading{Store: c.From.Store, ID: m.ID, Stream: number, Of: s, Workers: c.Workers, Sealed: true,
		Seen: func(n int64, chunk manifest.Chunk) error {
			objects.Add(1)
			missing[n] = there[name(n)] != chunk.Size
			return nil
		},
		Only: func(n int64) bool {
			defer delete(missing, n)
			return missing[n]
		},
		Object: func(ctx context.Context, n int64, object []byte) error {
			if err := c.Pace.Wait(ctx, len(object)); err != nil {
				return err
			}
			_, err := c.To.Put(ctx, name(n), object, locked(c.Lock, c.Now))
			sent.Add(int64(len(object)))
			return err
		},
		Doing: func(n int64) {
			if c.Doing != nil {
				c.Doing(Progress{Stream: s.Name, Bytes: n, Sent: sent.Load(), Size: s.Bytes})
			}
		}}, nil)
	if err != nil {
		return err
	}
	for i := range s.Parts {
		list := manifest.PartName(m.ID, number, i)
		text, _, err := c.From.Store.Get(ctx, list, make([]byte, manifest.MaxPart))
		if err == nil {
			_, err = s.ReadPart(i, text)
		}
		if err == nil {
			_, err = c.To.Put(ctx, list, text, locked(c.Lock, c.Now))
		}
		if err != nil {
			return fmt.Errorf("list %d of its chunks: %w", i, err)
		}
	}
	return nil
}
