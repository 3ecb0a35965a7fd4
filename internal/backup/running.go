package backup

import (
	"cmp"
	"context"
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
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/dice"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/tree"
	"plumb/internal/journal"
)

// running is the record of a backup that has not ended: one file for each job and its stores.
type running struct {
	b    *Backup
	to   *store.Fan
	file string
	head head
	mu   sync.Mutex
	mute bool // nothing is written down any more
	log  journal.Log
	sent map[place]stream.Sent // by runs before this one
	less map[string]bool       // stores that were left out: what was sent since they do not have
	said map[string]bool       // words of the claims, likewise
	twin error                 // an ErrTwin, when it was met
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
	// Workers is how many objects were on their way at once, at the most.
	Workers int `json:"workers"`
	// Lock is for how long the store was to lock what was sent.
	Lock time.Duration `json:"lock_ns,omitempty"`
}

const (
	kindBegan   = "began"
	kindSent    = "sent"
	kindLess    = "less"
	kindWorkers = "workers"
	kindBeat    = "beat"
)

// errLess is why a store does not get a backup that an earlier run began.
var errLess = errors.New("an earlier run of this backup continued without it, and does not send again what it has sent since")

// begin resumes the backup that an earlier run of the job began, or begins one. Only one process at a time works on a job.
func (b *Backup) begin(ctx context.Context, to *store.Fan, job string) (r *running, goesOn bool, end func(), err error) {
	sum := sha256.Sum256([]byte(b.where() + "\n" + job))
	file := path.Join(b.Dir, "running", hex.EncodeToString(sum[:8])+".log")
	unlock, err := host.LockOnce(ctx, b.Do, file+".lock")
	if err != nil {
		return nil, false, nil, host.HeldBy(err, fmt.Sprintf("another Plumb is backing %s up to %s", Told(job), b.where()), "wait until it has ended")
	}
	if err := b.forget(ctx); err != nil {
		b.warn("remove the records of killed runs", err)
	}
	r = &running{b: b, to: to, file: file, sent: map[place]stream.Sent{}, less: map[string]bool{}, said: map[string]bool{}}
	goesOn, err = r.read(ctx)
	if err == nil && goesOn && !(r.same(job) && r.narrow()) { // what is there is left for prune
		goesOn = false
		err = b.Do.Remove(ctx, file)
	}
	if err == nil && goesOn {
		err = r.widen(ctx)
	} else if err == nil {
		err = r.start(ctx, to, job)
	}
	if err != nil {
		unlock()
		return nil, false, nil, err
	}
	return r, goesOn, unlock, nil
}

// widen notes that from now on more objects are sent at once than in earlier runs: a later run must then check as many.
func (r *running) widen(ctx context.Context) error {
	workers := cmp.Or(r.b.Workers, stream.Workers)
	if workers <= r.head.Workers {
		return nil
	}
	r.head.Workers = workers
	return r.note(ctx, kindWorkers, workers)
}

// same tells whether this run would send the same: for the same recipients, in chunks of the same size, and locked as long.
func (r *running) same(job string) bool {
	h := r.head
	return h.Job == Told(job) && h.Store == r.b.where() && slices.Equal(h.To, r.b.Words) && h.Chunk == r.b.Chunk && h.Lock == r.b.Lock
}

// narrow leaves out the stores that earlier runs left out. It is false if no store remains, and then leaves out none.
func (r *running) narrow() bool {
	var out []int
	others := false
	for i, s := range r.b.Stores() {
		if r.less[s.URL()] {
			out = append(out, i)
		} else {
			others = others || r.to.Lost(i) == nil
		}
	}
	if others {
		for _, i := range out {
			r.to.Lose(i, errLess)
		}
	}
	return others
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
		return false, hint.With(fmt.Errorf("read what was sent before: %s: %w", r.file, err), "remove the file to start the backup over")
	}
	for i, one := range r.log.Records {
		switch {
		case i == 0 && one.Kind == kindBegan:
			err = json.Unmarshal(one.Body, &r.head)
		case one.Kind == kindSent:
			var s stream.Sent
			err = json.Unmarshal(one.Body, &s)
			r.sent[place{s.Stream, s.Chunk}] = s
		case one.Kind == kindLess:
			var url string
			err = json.Unmarshal(one.Body, &url)
			r.less[url] = true
		case one.Kind == kindBeat:
			var word string
			err = json.Unmarshal(one.Body, &word)
			r.said[word] = true
		case one.Kind == kindWorkers:
			err = json.Unmarshal(one.Body, &r.head.Workers)
		default:
			err = fmt.Errorf("it has a record %q", one.Kind)
		}
		if err != nil {
			return false, hint.With(fmt.Errorf("read what was sent before: %s: %w", r.file, err), "remove the file to start the backup over")
		}
	}
	return manifest.IsID(r.head.ID), nil // only torn lines: it died before it did anything
}

func (r *running) start(ctx context.Context, to *store.Fan, job string) error {
	id, there, err := r.b.id(ctx, to, dice.Hex(4))
	if err == nil {
		r.twin, err = r.b.begins(ctx, id, there)
	}
	if err != nil {
		return err
	}
	r.b.warn("the backup is made anyway", r.twin)
	r.to, r.log, r.sent, r.less, r.said = to, journal.Log{}, map[place]stream.Sent{}, map[string]bool{}, map[string]bool{}
	r.head = head{ID: id, Job: Told(job), Store: r.b.where(), Key: dice.Hex(32), To: r.b.Words, Chunk: r.b.Chunk, Workers: cmp.Or(r.b.Workers, stream.Workers), Lock: r.b.Lock}
	if err := r.b.Do.Remove(ctx, r.file); err != nil {
		return err
	}
	return r.note(ctx, kindBegan, r.head)
}

// note writes something down.
func (r *running) note(ctx context.Context, kind string, body any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(ctx, kind, body)
}

// append writes something down, while there is room.
func (r *running) append(ctx context.Context, kind string, body any) error {
	if r.mute {
		return nil
	}
	text, err := r.log.Append(r.b.Now(), kind, body)
	if err != nil {
		return err
	}
	if err := r.b.Do.Append(ctx, r.file, text); err != nil {
		r.log.Drop()
		return r.full(ctx, fmt.Errorf("record what was sent: %w", err))
	}
	return nil
}

// full handles an error of writing the record. If the disk is full the run goes on without a record, because the data matter more. The
// record is removed then: a later run that resumed from it would not know which objects are replaced from now on.
func (r *running) full(ctx context.Context, err error) error {
	if !tree.Full(err) {
		return err
	}
	if bad := r.b.Do.Remove(ctx, r.file); bad != nil {
		return errors.Join(err, bad)
	}
	r.mute = true
	r.b.warn("this backup cannot be continued if it is killed", err)
	return nil
}

// Sent implements stream.Memory.
func (r *running) Sent(number int, chunk int64) (stream.Sent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, is := r.sent[place{number, chunk}]
	return s, is
}

// Note implements stream.Memory. That the run goes on without a store is written down before the first object that this one does not
// get: in its place there can be one of an earlier run, of the same size.
func (r *running) Note(ctx context.Context, s stream.Sent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, url := range r.leaves() {
		if err := r.append(ctx, kindLess, url); err != nil {
			return err
		}
		r.less[url] = true
	}
	return r.append(ctx, kindSent, s)
}

// leaves gives the stores that this run has lost since the last note, unless it has lost all of them and ends.
func (r *running) leaves() (urls []string) {
	left := false
	for i, s := range r.b.Stores() {
		if r.to.Lost(i) == nil {
			left = true
		} else if !r.less[s.URL()] {
			urls = append(urls, s.URL())
		}
	}
	if !left {
		return nil
	}
	return urls
}

// failed completes the error of a run, and removes its record if no later run could resume it.
func (r *running) failed(ctx context.Context, err error) error {
	if errors.Is(err, ErrGivenUp) || errors.Is(err, errLate) || errors.Is(err, store.ErrUnkept) {
		what := "the same command starts it over"
		if why := hint.Of(err); why != "" {
			what = why + "; " + what
		}
		err = hint.With(errors.Join(err, r.done(ctx)), what)
	}
	return err
}

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
