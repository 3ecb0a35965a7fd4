package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"plumb/internal/tape"
)

// Taped replays a tape: the same call gives the same answer, errors included.
// A call that was recorded several times gives its answers in that order, and
// then the last one for ever. A call that is not there gives ErrNotOnTape. It
// is safe for concurrent use.
type Taped struct {
	about About

	mu    sync.Mutex
	calls map[string]*recorded
}

type recorded struct {
	answers []tape.Entry
	next    int
}

var _ Reader = (*Taped)(nil)

// NewTaped makes the reader of a tape. The tape must not be changed later.
func NewTaped(t *tape.Tape) (*Taped, error) {
	taped := &Taped{calls: make(map[string]*recorded, len(t.Entries))}
	if len(t.About) > 0 {
		if err := json.Unmarshal(t.About, &taped.about); err != nil {
			return nil, fmt.Errorf("read who was taped: %w", err)
		}
	}
	for _, e := range t.Entries {
		key := callKey(e.Op, fromTexts(e.Of)...)
		if taped.calls[key] == nil {
			taped.calls[key] = &recorded{}
		}
		taped.calls[key].answers = append(taped.calls[key].answers, e)
	}
	return taped, nil
}

// About implements Reader: it tells of the host that was taped.
func (p *Taped) About() About { return p.about }

// answer gives the next answer to a call, with the error it holds.
func (p *Taped) answer(ctx context.Context, op string, of ...string) (e tape.Entry, err error) {
	if err := ctx.Err(); err != nil {
		return e, answered(fmt.Errorf("%s %s: %w", op, tape.String(tape.Texts(of...)), err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.calls[callKey(op, onBehalf(ctx, of...)...)]
	if r == nil { // older tapes do not tell for whom
		r = p.calls[callKey(op, of...)]
	}
	if r == nil {
		return e, answered(fmt.Errorf("%s %s: %w", op, tape.String(tape.Texts(of...)), ErrNotOnTape))
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
	return kindError{text: fmt.Sprintf("%s %s: the tape holds another kind of answer: %v", e.Op, tape.String(e.Of), broken)}
}

// ReadFile implements Reader.
func (p *Taped) ReadFile(ctx context.Context, name string) ([]byte, error) {
	e, err := p.answer(ctx, opFile, name)
	return bytesOf(e), err
}

// Glob implements Reader.
func (p *Taped) Glob(ctx context.Context, pattern string) ([]string, error) {
	e, err := p.answer(ctx, opGlob, pattern)
	var found []tape.Text
	err = value(e, &found, err)
	return fromTexts(found), err
}

// Stat implements Reader.
func (p *Taped) Stat(ctx context.Context, name string) (Stat, error) {
	e, err := p.answer(ctx, opStat, name)
	var s wireStat
	err = value(e, &s, err)
	return s.stat(), err
}

// Readlink implements Reader.
func (p *Taped) Readlink(ctx context.Context, name string) (string, error) {
	e, err := p.answer(ctx, opLink, name)
	return string(bytesOf(e)), err
}

// Statfs implements Reader.
func (p *Taped) Statfs(ctx context.Context, name string) (Statfs, error) {
	e, err := p.answer(ctx, opStatfs, name)
	var s Statfs
	err = value(e, &s, err)
	return s, err
}

// Output implements Reader.
func (p *Taped) Output(ctx context.Context, argv ...string) ([]byte, error) {
	e, err := p.answer(ctx, opRun, argv...)
	return bytesOf(e), err
}

// Query implements Reader. Only the target's name counts.
func (p *Taped) Query(ctx context.Context, t Target, query string) (Rows, error) {
	e, err := p.answer(ctx, opQuery, t.Name, query)
	if e.Value == nil {
		return Rows{}, err
	}
	table, broken := tape.DecodeTable(e.Value)
	if broken != nil {
		return Rows{}, wrongAnswer(e, broken)
	}
	return rowsOf(table), err
}

func bytesOf(e tape.Entry) []byte {
	if e.Text == nil {
		return nil
	}
	return []byte(*e.Text)
}
