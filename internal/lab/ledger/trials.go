package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger/body"
)

// Begin notes a trial before it starts. The experiment must be defined. To begin
// the same trial again with the same record is no error.
func (l *Ledger) Begin(ctx context.Context, r experiment.Record) error {
	doing := "begin the trial " + r.ID
	if r.ID == "" {
		return l.fail(doing, errors.New("it has no id"))
	}
	text, err := body.Encode(r)
	if err != nil {
		return l.fail(doing, err)
	}
	return l.fail(doing, l.insist(ctx, func(ctx context.Context) error { return l.begin(ctx, r, string(text)) }))
}

func (l *Ledger) begin(ctx context.Context, r experiment.Record, text string) error {
	_, err := l.db.ExecContext(ctx, l.dialect.args(`INSERT INTO trial
		(id, experiment, block, position, arm, attempt, state, began, marks, remarks, program, plumb, record)
		VALUES (?, ?, ?, ?, ?, ?, 'begun', ?, '', '', ?, ?, ?)`),
		r.ID, r.Experiment, r.Block, r.Position, plain(r.Arm), r.Attempt, stamp(r.Began), known(r.Program), plain(r.Plumb), text)
	if err == nil {
		return nil
	}
	state, kept, asked := l.trial(ctx, r.ID)
	if asked == nil && state == "begun" && kept == text {
		return nil
	}
	if asked == nil {
		return errors.New("a trial with this id is there already")
	}
	if _, undefined := l.text(ctx, l.db, r.Experiment); errors.Is(undefined, sql.ErrNoRows) {
		return fmt.Errorf("its experiment %s is not defined", r.Experiment)
	}
	return err
}

// trial gives the state and the record of a trial; sql.ErrNoRows when it is not there.
func (l *Ledger) trial(ctx context.Context, id string) (state, text string, err error) {
	err = l.db.QueryRowContext(ctx, l.dialect.args(`SELECT state, record FROM trial WHERE id = ?`), id).Scan(&state, &text)
	return state, text, err
}

// Finish notes what a trial that was begun has left. A finished trial is never
// changed again; to finish it again with the same record is no error. A record
// whose metric is no number is kept with a mark, so that it does not count.
func (l *Ledger) Finish(ctx context.Context, r experiment.Record) error {
	doing := "finish the trial " + r.ID
	if !finite(r.Metric) && r.Valid() {
		r.Marks = nil // not the caller's
		r.Mark(experiment.MarkFailed, "the metric is not a number: %v", r.Metric)
	}
	text, err := body.Encode(r)
	if err != nil {
		return l.fail(doing, err)
	}
	return l.fail(doing, l.insist(ctx, func(ctx context.Context) error { return l.finish(ctx, r, string(text)) }))
}

func (l *Ledger) finish(ctx context.Context, r experiment.Record, text string) error {
	metric, rate, low, high := number(r.Metric), number(r.Rate.Value), number(r.Rate.Low), number(r.Rate.High)
	if r.Rate.N == 0 { // nothing was measured
		metric, rate, low, high = nil, nil, nil, nil
	}
	done, err := l.db.ExecContext(ctx, l.dialect.args(`UPDATE trial SET block = ?, position = ?, arm = ?, attempt = ?, state = 'finished',
		began = ?, ended = ?, valid = ?, marks = ?, remarks = ?, metric = ?, rate = ?, rate_low = ?, rate_high = ?, program = ?, plumb = ?, record = ?
		WHERE id = ? AND experiment = ? AND state = 'begun'`),
		r.Block, r.Position, plain(r.Arm), r.Attempt, stamp(r.Began), stamp(r.Ended), r.Valid(), kinds(r.Marks), kinds(r.Remarks),
		metric, rate, low, high, known(r.Program), plain(r.Plumb), text, r.ID, r.Experiment)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	state, kept, err := l.trial(ctx, r.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errors.New("it was not begun")
	case err != nil:
		return err
	case state == "begun":
		return fmt.Errorf("it was begun for another experiment than %s", r.Experiment)
	case kept == text: // a commit whose acknowledgement was lost
		return nil
	}
	return errors.New("it is finished already, and finished trials are not changed")
}

// Records gives the trials of an experiment in the order in which they began.
// One that was not finished has the mark cut-off: its lab was killed, or is
// still at it.
func (l *Ledger) Records(ctx context.Context, hash string) ([]experiment.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all, err := l.records(ctx, hash)
	return all, l.fail("read the trials of "+hash, err)
}

func (l *Ledger) records(ctx context.Context, hash string) (all []experiment.Record, err error) {
	rows, err := l.db.QueryContext(ctx, l.dialect.args(`SELECT id, state, record FROM trial WHERE experiment = ? ORDER BY place`), hash)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, state string
		var text []byte
		if err := rows.Scan(&id, &state, &text); err != nil {
			return nil, err
		}
		r, err := body.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", id, err)
		}
		if state != "finished" {
			r.Mark(experiment.MarkCut, "it was not finished: its lab was killed, or is still running it")
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// number is a number as an argument; NULL when it is none.
func number(f float64) any {
	if !finite(f) {
		return nil
	}
	return f
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// known is a text as an argument; NULL when it is empty.
func known(s string) any {
	if s == "" {
		return nil
	}
	return plain(s)
}

func kinds(marks []experiment.Mark) string {
	var all []string
	for _, m := range marks {
		all = append(all, plain(m.Kind))
	}
	return strings.Join(all, ",")
}
