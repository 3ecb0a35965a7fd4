package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
)

// Copying takes backups from one store to another as they lie: nothing is opened, so no key is needed. Every
// object is compared with what was signed before it is written, and the manifest is written last, if there is none. What is there
// as it was signed is not sent again.
type Copying struct {
	From    Vault
	To      store.Store
	Workers int
	Pace    *stream.Pace
	Lock    time.Duration
	Beat    time.Duration // how often it says in the target that it lives; 0: DefaultBeat
	Now     func() time.Time
	Doing   func(Progress)

	count *tally // over all backups
}

// Copied is a backup that another store has now too.
type Copied struct {
	ID      string `json:"id"`
	Objects int64  `json:"objects"`
	Sent    int64  `json:"sent_bytes"`    // in objects, by this run
	There   bool   `json:"already_there"` // it was there as a whole
	Pruned  bool   `json:"pruned"`        // a prune removes it there, so that it was not copied again
}

// Run copies backups in their order: those that others need come first.
func (c Copying) Run(ctx context.Context, all []manifest.Manifest) (done []Copied, err error) {
	err = c.claim(ctx)
	if err == nil && c.Lock > 0 {
		err = store.MayLock(ctx, c.To, c.Lock)
	}
	if err != nil {
		return nil, fmt.Errorf("copy backups to %s: %w", c.To.URL(), err)
	}
	var total int64
	for _, m := range all {
		total += m.Bytes()
	}
	c.count = newTally(c.Doing, total)
	for _, m := range all {
		one, err := c.one(ctx, m)
		if err != nil {
			return done, fmt.Errorf("copy backup %s to %s: %w", m.ID, c.To.URL(), err)
		}
		done = append(done, one)
	}
	for i := range done { // a prune that had marked it was told to leave it
		if done[i].Pruned && slices.ContainsFunc(all, func(m manifest.Manifest) bool { return slices.Contains(m.Bases(), done[i].ID) && !pruned(done, m.ID) }) {
			done[i].There, done[i].Pruned = true, false
		}
	}
	for i, one := range done { // what was sent just now was locked as it was sent
		if !one.There || c.Lock == 0 {
			continue
		}
		if err := c.relocking().all(ctx, all[i].All()); err != nil {
			return done, fmt.Errorf("lock backup %s in %s: %w", one.ID, c.To.URL(), err)
		}
	}
	return done, nil
}

func pruned(done []Copied, id string) bool {
	return slices.ContainsFunc(done, func(c Copied) bool { return c.ID == id && c.Pruned })
}

// claim makes the target the same host's as the source is: by the note that lies there, and those about its keys.
func (c Copying) claim(ctx context.Context) error {
	text, _, err := c.From.Store.Get(ctx, owner, make([]byte, 4096))
	if err != nil {
		return fmt.Errorf("find out whose backups are in %s: %w", c.From.Store.URL(), err)
	}
	there, err := owned(ctx, c.To, func() ([]byte, error) { return text, nil })
	if err != nil {
		return err
	}
	all, err := c.From.successions(ctx)
	if err != nil {
		return err
	}
	known, err := Vault{Store: c.To}.successions(ctx) // of a key that was given up while the source was away
	if err != nil {
		return err
	}
	if a, b := signer(text), signer(there); !kin(append(known, all...), a, b) {
		return hint.With(fmt.Errorf("its prefix belongs to another host: %s, not %s", b, a), "give each host a prefix of its own")
	}
	// What somebody else put there, such as the thief of a key that was given up, does not come along.
	all = slices.DeleteFunc(all, func(s succession) bool { return !c.From.believes(s.new) })
	return key{past: all}.publish(ctx, c.To)
}

func (c Copying) one(ctx context.Context, m manifest.Manifest) (Copied, error) {
	done := Copied{ID: m.ID}
	text, _, err := store.Read(ctx, c.From.Store, manifest.Name(m.ID), manifest.MaxSize)
	if err != nil {
		return done, err
	}
	if _, _, err := c.From.Open(text, m.ID); err != nil { // it may be another by now
		return done, errors.Join(errors.New("its manifest was replaced meanwhile"), err)
	}
	if done.There, done.Pruned, err = c.has(ctx, m, text); err != nil {
		return done, err
	}
	if done.There || done.Pruned {
		c.count.had(m.ID, m.Bytes())
		return done, nil
	}
	err = c.defended(ctx, m, text, &done)
	if errors.Is(err, ErrGivenUp) {
		if is, _, bad := c.has(ctx, m, text); is && bad == nil { // another copy has ended it
			done.There = true
			return done, nil
		}
		err = hint.With(err, "copy it under another prefix; this one can be used again 30 days after a prune of the target has removed its contents")
	}
	return done, err
}

// defended copies a backup, and has prune leave what it builds on and what was sent alone meanwhile.
func (c Copying) defended(ctx context.Context, m manifest.Manifest, text []byte, done *Copied) error {
	run, claims, end, err := c.alive(ctx, m)
	if err != nil {
		return err
	}
	defer end()
	err = c.all(run, claims, m, text, done)
	if cause := context.Cause(run); err != nil && ctx.Err() == nil && cause != nil {
		return cause
	}
	if err == nil {
		dropClaims(ctx, claims.to, m.ID)
	}
	return err
}

// alive says in the target that a backup is being copied there, and on which it builds, until end is called.
func (c Copying) alive(ctx context.Context, m manifest.Manifest) (limited context.Context, all *claims, end func(), err error) {
	all = &claims{to: store.NewFan(c.To), of: map[store.Store]*claim{c.To: {in: c.To, id: m.ID, needs: m.Bases(), shared: true, now: c.Now}}}
	limited, end, err = all.keep(ctx, false, c.Beat)
	return limited, all, end, err
}

// keepBases makes sure that the backups which this one builds on are in the target, and stay there.
func (c Copying) keepBases(ctx context.Context, m manifest.Manifest) error {
	to := c.From
	to.Store = c.To
	_, err := to.keepBases(ctx, m.Bases())
	return hint.With(err, "plumb backup copy without an ID, or --all, copies what a backup needs too")
}

// all copies what is not there, and makes the backup exist.
func (c Copying) all(ctx context.Context, claims *claims, m manifest.Manifest, text []byte, done *Copied) error {
	if err := c.keepBases(ctx, m); err != nil {
		return err
	}
	there, err := store.SizesOf(ctx, c.To, manifest.Folder(m.ID))
	if err != nil {
		return err
	}
	var sent, objects atomic.Int64
	for number, s := range m.Streams {
		if err := c.stream(ctx, m, number, there, &sent, &objects); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	done.Sent, done.Objects = sent.Load(), objects.Load()
	// After a beat prune waits longer than all that follows may take. If it takes longer still, there is a stone in the place of the manifest.
	if err := claims.beat(ctx); err != nil {
		return err
	}
	if _, err := whole(ctx, c.To, m); err != nil {
		return err
	}
	if err := c.keepBases(ctx, m); err != nil {
		return err
	}
	return c.commit(ctx, m, text)
}

// commit makes the backup exist in the target.
func (c Copying) commit(ctx context.Context, m manifest.Manifest, text []byte) error {
	o := locked(c.Lock, c.Now)
	o.New = true
	if _, err := c.To.Put(ctx, manifest.Name(m.ID), text, o); err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("write the manifest: %w", err)
	}
	is, pruned, err := c.has(ctx, m, text)
	switch {
	case pruned:
		return givenUp(m.ID, isThere)
	case err != nil || !is:
		return errors.Join(errors.New("the manifest that was written is not there"), err)
	}
	return nil
}

// has tells whether the target has the manifest, or the stone of a prune in its place. Another one of the same backup is
// a fault, or somebody's doing.
func (c Copying) has(ctx context.Context, m manifest.Manifest, text []byte) (is, pruned bool, err error) {
	there, _, err := store.Read(ctx, c.To, manifest.Name(m.ID), manifest.MaxStone)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, false, nil
	case err != nil:
		return false, false, err
	case manifest.IsStone(there):
		_, err := c.From.OpenStone(there, m.ID)
		return false, err == nil, hint.With(err, "--trust KEY of the host that prunes the target")
	case !bytes.Equal(there, text):
		return false, false, hint.With(errors.New("there is another manifest of it already"), "compare the two: plumb backup list --from shows who signed each")
	}
	return true, false, nil
}

// stream copies the objects of one stream: its lists, and the chunks that are not there as they were sent.
func (c Copying) stream(ctx context.Context, m manifest.Manifest, number int, there map[string]int64, sent, objects *atomic.Int64) error {
	s := m.Streams[number]
	from := &beside{Store: c.From.Store, to: c.To, has: map[string]manifest.Chunk{}, locked: c.locked}
	err := stream.Read(ctx, stream.Reading{Store: from, ID: m.ID, Stream: number, Of: s, Workers: c.Workers, Pace: c.Pace, Sealed: true,
		Seen: func(n int64, chunk manifest.Chunk) error {
			objects.Add(1)
			if name := manifest.ChunkName(m.ID, number, n); there[name] == chunk.Size {
				from.mayHave(name, chunk)
			}
			return nil
		},
		Only: func(int64) bool { return true },
		Object: func(ctx context.Context, n int64, listed manifest.Chunk, object []byte) error {
			name := manifest.ChunkName(m.ID, number, n)
			if from.had(name) {
				c.count.had(s.Name, listed.Plain)
				return nil
			}
			put := locked(c.Lock, c.Now)
			put.SHA256 = listed.SHA256
			_, err := c.To.Put(ctx, name, object, put)
			if err == nil {
				sent.Add(int64(len(object)))
				c.count.did(s.Name, listed.Plain)
			}
			return err
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

// locked tells whether the target keeps an object that it has for as long as is asked for.
func (c Copying) locked(ctx context.Context, name string) bool {
	return c.Lock == 0 || c.relocking().one(ctx, name) == nil
}

func (c Copying) relocking() relocking { return relocking{c.To, c.Lock, c.Workers, c.Now} }
