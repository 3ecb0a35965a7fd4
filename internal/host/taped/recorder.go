package taped

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"plumb/internal/host"
	"plumb/internal/host/redact"
	"plumb/internal/tape"
)

// maxRecorded bounds what a recorder keeps, well below the limit of a tape.
const maxRecorded = tape.MaxMemory / 2

// Recorder passes calls on to another reader and keeps every answer for a
// tape. Secrets are taken out of what it records and of what it gives, which
// costs nothing where its reader did so already. It is safe for concurrent
// use.
type Recorder struct {
	r     host.Reader
	about host.About // as it was when the recording began

	mu      sync.Mutex
	calls   map[string][]tape.Entry
	bytes   int
	entries int
	failure error // the first answer that could not be recorded
}

var _ host.Reader = (*Recorder)(nil)

// NewRecorder records what r answers.
func NewRecorder(r host.Reader) *Recorder {
	return &Recorder{r: r, about: r.About(), calls: map[string][]tape.Entry{}}
}

// Tape gives what was recorded so far.
func (rec *Recorder) Tape() (*tape.Tape, error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.failure != nil {
		return nil, rec.failure
	}
	about, err := json.Marshal(rec.about)
	if err != nil {
		return nil, fmt.Errorf("record who was read: %w", err)
	}
	t := &tape.Tape{About: about}
	for _, answers := range rec.calls {
		t.Entries = append(t.Entries, withoutRepeats(answers)...)
	}
	slices.SortStableFunc(t.Entries, tape.Entry.Compare)
	return t, nil
}

// withoutRepeats drops answers at the end that equal the one before, because
// a tape repeats its last answer for ever.
func withoutRepeats(answers []tape.Entry) []tape.Entry {
	for len(answers) > 1 && reflect.DeepEqual(answers[len(answers)-1], answers[len(answers)-2]) {
		answers = answers[:len(answers)-1]
	}
	return answers
}

// keep records one answer.
func (rec *Recorder) keep(c host.Call, answer any, err error) {
	e, failed := newEntry(c, answer, err)
	key := c.Key()
	size := tape.EntryBytes + len(key) + len(e.Value) + len(e.Says)
	if e.Text != nil {
		size += len(*e.Text)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if failed != nil && rec.failure == nil {
		rec.failure = failed
	}
	if rec.bytes += size; rec.bytes > maxRecorded {
		e.Text, e.Value = nil, nil
		e.Error, e.Says = host.KindOf(host.ErrTooLarge), "not recorded: the recording is over its limit"
	}
	if rec.entries++; rec.entries > tape.MaxEntries {
		rec.failure = cmp.Or(rec.failure, fmt.Errorf("record: more than %d answers", tape.MaxEntries))
		return
	}
	rec.calls[key] = append(rec.calls[key], e)
}

// About implements host.Reader.
func (rec *Recorder) About() host.About { return rec.about }

// ReadFile implements host.Reader.
func (rec *Recorder) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := rec.r.ReadFile(ctx, name)
	if data != nil {
		data = redact.File(name, data)
	}
	err = host.Answered(err)
	rec.keep(host.CallFor(ctx, host.OpFile, name), textOf(data), err)
	return data, err
}

// Glob implements host.Reader.
func (rec *Recorder) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := rec.r.Glob(ctx, pattern)
	err = host.Answered(err)
	rec.keep(host.CallFor(ctx, host.OpGlob, pattern), tape.Texts(found...), err)
	return found, err
}

// Stat implements host.Reader.
func (rec *Recorder) Stat(ctx context.Context, name string) (host.Stat, error) {
	s, err := rec.r.Stat(ctx, name)
	err = host.Answered(err)
	rec.keep(host.CallFor(ctx, host.OpStat, name), ifNone(err, wireOfStat(s)), err)
	return s, err
}

// Readlink implements host.Reader.
func (rec *Recorder) Readlink(ctx context.Context, name string) (string, error) {
	to, err := rec.r.Readlink(ctx, name)
	err = host.Answered(err)
	rec.keep(host.CallFor(ctx, host.OpLink, name), ifNone(err, textOf([]byte(to))), err)
	return to, err
}

// Statfs implements host.Reader.
func (rec *Recorder) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	s, err := rec.r.Statfs(ctx, name)
	err = host.Answered(err)
	rec.keep(host.CallFor(ctx, host.OpStatfs, name), ifNone(err, s), err)
	return s, err
}

// Output implements host.Reader.
func (rec *Recorder) Output(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := rec.r.Output(ctx, argv...)
	if out != nil {
		out = redact.Output(argv, out)
	}
	err = host.Answered(err)
	rec.keep(host.Call{Op: host.OpRun, Of: argv}, textOf(out), err)
	return out, err
}

// Query implements host.Reader.
func (rec *Recorder) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	rows, err := rec.r.Query(ctx, t, query)
	rows = host.RedactRows(rows)
	err = host.Answered(err)
	var answer any
	if err == nil || rows.Columns != nil {
		answer = tableOf(rows)
	}
	rec.keep(host.Call{Op: host.OpQuery, Of: []string{t.Name, query}}, answer, err)
	return rows, err
}

// ifNone gives an answer that came without an error.
func ifNone(err error, answer any) any {
	if err != nil {
		return nil
	}
	return answer
}
