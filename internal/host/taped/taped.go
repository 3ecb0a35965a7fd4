// Package taped is a host on a tape: a Recorder keeps what another reader
// answers, and a Reader replays it, errors included.
package taped

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"plumb/internal/host"
	"plumb/internal/tape"
)

// Reader replays a tape: the same call gives the same answer, errors included.
// A call that was recorded several times gives its answers in that order, and
// then the last one for ever. A call that is not there gives
// host.ErrNotOnTape. It is safe for concurrent use.
type Reader struct {
	about host.About

	mu    sync.Mutex
	calls map[string]*recorded
}

type recorded struct {
	answers []tape.Entry
	next    int
}

var _ host.Reader = (*Reader)(nil)

// New makes the reader of a tape. The tape must not be changed later.
func New(t *tape.Tape) (*Reader, error) {
	r := &Reader{calls: make(map[string]*recorded, len(t.Entries))}
	if len(t.About) > 0 {
		if err := json.Unmarshal(t.About, &r.about); err != nil {
			return nil, fmt.Errorf("read who was taped: %w", err)
		}
	}
	for _, e := range t.Entries {
		key := host.Call{Op: e.Op, Of: fromTexts(e.Of)}.Key()
		if r.calls[key] == nil {
			r.calls[key] = &recorded{}
		}
		r.calls[key].answers = append(r.calls[key].answers, e)
	}
	return r, nil
}

// About implements host.Reader: it tells of the host that was taped.
func (p *Reader) About() host.About { return p.about }

// answer gives the next answer to a call, with the error it holds.
func (p *Reader) answer(ctx context.Context, op string, of ...string) (e tape.Entry, err error) {
	if err := ctx.Err(); err != nil {
		return e, host.Answered(fmt.Errorf("%s %s: %w", op, tape.String(tape.Texts(of...)), err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.calls[host.CallFor(ctx, op, of...).Key()]
	if r == nil { // older tapes do not tell for whom
		r = p.calls[host.Call{Op: op, Of: of}.Key()]
	}
	if r == nil {
		return e, host.Answered(fmt.Errorf("%s %s: %w", op, tape.String(tape.Texts(of...)), host.ErrNotOnTape))
	}
	e = r.answers[r.next]
	if r.next+1 < len(r.answers) {
		r.next++
	}
	return e, errorOfEntry(e)
}

// value decodes the structure of an answer into v, if it has one.
func value(e tape.Entry, v any, err error) error {
	if e.Value == nil {
		return err
	}
	if broken := json.Unmarshal(e.Value, v); broken != nil {
		return wrongAnswer(e, broken)
	}
	return err
}

func wrongAnswer(e tape.Entry, broken error) error {
	return host.ErrorOf("", fmt.Sprintf("%s %s: the tape holds another kind of answer: %v", e.Op, tape.String(e.Of), broken))
}

// ReadFile implements host.Reader.
func (p *Reader) ReadFile(ctx context.Context, name string) ([]byte, error) {
	e, err := p.answer(ctx, host.OpFile, name)
	return bytesOf(e), err
}

// Glob implements host.Reader.
func (p *Reader) Glob(ctx context.Context, pattern string) ([]string, error) {
	e, err := p.answer(ctx, host.OpGlob, pattern)
	var found []tape.Text
	err = value(e, &found, err)
	return fromTexts(found), err
}

// Stat implements host.Reader.
func (p *Reader) Stat(ctx context.Context, name string) (host.Stat, error) {
	e, err := p.answer(ctx, host.OpStat, name)
	var s wireStat
	err = value(e, &s, err)
	return s.stat(), err
}

// Readlink implements host.Reader.
func (p *Reader) Readlink(ctx context.Context, name string) (string, error) {
	e, err := p.answer(ctx, host.OpLink, name)
	return string(bytesOf(e)), err
}

// Statfs implements host.Reader.
func (p *Reader) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	e, err := p.answer(ctx, host.OpStatfs, name)
	var s host.Statfs
	err = value(e, &s, err)
	return s, err
}

// Output implements host.Reader.
func (p *Reader) Output(ctx context.Context, argv ...string) ([]byte, error) {
	e, err := p.answer(ctx, host.OpRun, argv...)
	return bytesOf(e), err
}

// Query implements host.Reader. Only the target's name counts.
func (p *Reader) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	e, err := p.answer(ctx, host.OpQuery, t.Name, query)
	if e.Value == nil {
		return host.Rows{}, err
	}
	table, broken := tape.DecodeTable(e.Value)
	if broken != nil {
		return host.Rows{}, wrongAnswer(e, broken)
	}
	return rowsOf(table), err
}

func bytesOf(e tape.Entry) []byte {
	if e.Text == nil {
		return nil
	}
	return []byte(*e.Text)
}
