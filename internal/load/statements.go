package load

import "errors"

// What begins and ends a transaction in every dialect.
var (
	textBegin    = []byte("BEGIN")
	textCommit   = []byte("COMMIT")
	textRollback = []byte("ROLLBACK")
)

// Statements sends those of one operation. Once one has failed nothing more is
// sent and nothing read: Err says why, and is looked at when all is done.
type Statements struct {
	Session Session
	Tally   *Tally
	Err     error
}

// Reset begins another operation.
func (q *Statements) Reset(t *Tally) { q.Tally, q.Err = t, nil }

// Run runs a prepared statement.
func (q *Statements) Run(statement int, args []Arg) {
	if q.Err == nil {
		q.sent(q.Session.Run(statement, args))
	}
}

// Text sends a statement as it is.
func (q *Statements) Text(query []byte) {
	if q.Err == nil {
		q.sent(q.Session.Text(query))
	}
}

// sent counts a statement as sysbench does: an UPDATE of no row is neither a
// read nor a write.
func (q *Statements) sent(err error) {
	switch {
	case err != nil:
		q.Err = err
	case q.Session.HadRows():
		q.Tally.Reads++
	case q.Session.Affected() > 0:
		q.Tally.Writes++
	default:
		q.Tally.Other++
	}
}

// Begin begins a transaction.
func (q *Statements) Begin() { q.Text(textBegin) }

// Commit commits it.
func (q *Statements) Commit() { q.Text(textCommit) }

// Rollback ends it on purpose.
func (q *Statements) Rollback() { q.Text(textRollback) }

// Undo ends the transaction of an operation that failed, so that it can be
// begun again, and gives the failure.
func (q *Statements) Undo() error {
	err := q.Err
	if f, ok := errors.AsType[*Failure](err); ok && f.Class == Lost {
		return err
	}
	q.Err = nil
	if q.Rollback(); q.Err != nil {
		return q.Err // the session is of no more use
	}
	return err
}

// Fail ends the operation; the first reason is the one that is told.
func (q *Statements) Fail(err error) {
	if q.Err == nil {
		q.Err = err
	}
}

// Next moves to the next row of the answer, if there is one.
func (q *Statements) Next() bool { return q.Err == nil && q.Session.Next() }

// Int gives a column of the row as a whole number.
func (q *Statements) Int(column int) int64 {
	if q.Err != nil {
		return 0
	}
	return q.Session.Int(column)
}

// Bytes gives a column of the row as text.
func (q *Statements) Bytes(column int) []byte {
	if q.Err != nil {
		return nil
	}
	return q.Session.Bytes(column)
}
