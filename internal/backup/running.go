package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/tree"
	"plumb/internal/journal"
)

// running is a backup that has not ended, as it is written down: one file for each job and store.
type running struct {
	b    *Backup
	file string
	head head
	mu   sync.Mutex
	mute bool // nothing is written down any more
	log  journal.Log
	sent map[place]stream.Sent // by runs before this one
}

type place struct {
	stream int
	chunk  int64
}

// head is the first record.
type head struct {
	ID    string   `json:"id"`
	Job   string   `json:"job"` // without what is secret in it: the file's name tells two apart
	Store string   `json:"store"`
	Key   string   `json:"key"` // of the marks of chunks, hexadecimal
	To    []string `json:"to"`
	Chunk int      `json:"chunk"`
	// Workers is how many objects were on their way at once.
	Workers int `json:"workers"`
}

const (
	kindBegan = "began"
	kindSent  = "sent"
)

// begin takes up a backup that an earlier run began, or begins one. Only one at a time does.
func (b *Backup) begin(ctx context.Context, to *store.Fan, job string) (r *running, goesOn bool, end func(), err error) {
	sum := sha256.Sum256([]byte(b.where() + "\n" + job))
	file := path.Join(b.Dir, "running", hex.EncodeToString(sum[:8])+".log")
	unlock, err := b.Do.Lock(ctx, file+".lock")
	if errors.Is(err, host.ErrLocked) {
		err = hint.With(fmt.Errorf("another Plumb is backing %s up to %s", Told(job), b.where()), "wait until it has ended")
	}
	if err != nil {
		return nil, false, nil, err
	}
	r = &running{b: b, file: file, sent: map[place]stream.Sent{}}
	goesOn, err = r.read(ctx)
	if err == nil && goesOn && !r.same(job) { // sealed for others, or in other pieces: what is there is left for prune
		goesOn = false
		err = b.Do.Remove(ctx, file)
	}
	if err == nil && !goesOn {
		err = r.start(ctx, to, job)
	}
	if err != nil {
		unlock()
		return nil, false, nil, err
	}
	return r, goesOn, unlock, nil
}

func (r *running) same(job string) bool {
	h := r.head
	return h.Job == Told(job) && h.Store == r.b.where() && slices.Equal(h.To, r.b.Words) && h.Chunk == r.b.Chunk
}

func (r *running) read(ctx context.Context) (there bool, err error) {
	text, err := r.b.Do.Raw(ctx, r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		r.log, err = journal.Read(text)
	}
	if err != nil {
		return false, hint.With(fmt.Errorf("read what was sent before: %s: %w", r.file, err), "remove the file to begin the backup anew")
	}
	for i, one := range r.log.Records {
		switch {
		case i == 0 && one.Kind == kindBegan:
			err = json.Unmarshal(one.Body, &r.head)
		case one.Kind == kindSent:
			var s stream.Sent
			err = json.Unmarshal(one.Body, &s)
			r.sent[place{s.Stream, s.Chunk}] = s
		default:
			err = fmt.Errorf("it has a record %q", one.Kind)
		}
		if err != nil {
			return false, hint.With(fmt.Errorf("read what was sent before: %s: %w", r.file, err), "remove the file to begin the backup anew")
		}
	}
	return manifest.IsID(r.head.ID), nil // only torn lines: it died before it did anything
}

func (r *running) start(ctx context.Context, to *store.Fan, job string) error {
	word := make([]byte, 4+32)
	if _, err := rand.Read(word); err != nil {
		return err
	}
	id, err := r.b.id(ctx, to, hex.EncodeToString(word[:4]))
	if err != nil {
		return err
	}
	r.log, r.sent = journal.Log{}, map[place]stream.Sent{}
	r.head = head{ID: id, Job: Told(job), Store: r.b.where(), Key: hex.EncodeToString(word[4:]), To: r.b.Words, Chunk: r.b.Chunk, Workers: cmp.Or(r.b.Workers, stream.Workers)}
	if err := r.b.Do.Remove(ctx, r.file); err != nil {
		return err
	}
	return r.note(ctx, kindBegan, r.head)
}

// note writes something down, while there is room.
func (r *running) note(ctx context.Context, kind string, body any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mute {
		return nil
	}
	text, err := r.log.Append(r.b.Now(), kind, body)
	if err != nil {
		return err
	}
	if err := r.b.Do.Append(ctx, r.file, text); err != nil {
		r.log.Drop()
		return r.full(ctx, fmt.Errorf("write down what was sent: %w", err))
	}
	return nil
}

// full has a run go on that finds no room to write down what it sends: it is the data that must get away. What is written down goes
// too: a run that went on by it would not know of what is replaced from now on.
func (r *running) full(ctx context.Context, err error) error {
	if !tree.Full(err) {
		return err
	}
	if bad := r.b.Do.Remove(ctx, r.file); bad != nil {
		return errors.Join(err, bad)
	}
	r.mute = true
	r.b.warn("this backup cannot be gone on with if it is killed", err)
	return nil
}

// Sent implements stream.Memory.
func (r *running) Sent(number int, chunk int64) (stream.Sent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, is := r.sent[place{number, chunk}]
	return s, is
}

// Note implements stream.Memory.
func (r *running) Note(ctx context.Context, s stream.Sent) error { return r.note(ctx, kindSent, s) }

// done forgets it.
func (r *running) done(ctx context.Context) error { return r.b.Do.Remove(ctx, r.file) }

// key of the marks of chunks.
func (r *running) key() ([]byte, error) {
	k, err := hex.DecodeString(r.head.Key)
	if err != nil || len(k) < 16 || strings.TrimSpace(r.head.Key) == "" {
		return nil, fmt.Errorf("%s has no key", r.file)
	}
	return k, nil
}
