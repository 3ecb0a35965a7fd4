package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dialect is what differs between the databases. All other SQL is common to
// them and written with ? for arguments.
type dialect struct {
	numbered bool                  // arguments are $1, $2
	place    string                // type of a key that counts up
	moment   string                // type of a time
	json     string                // type that keeps a JSON text as it is
	exists   string                // asks whether the table "ledger" is there
	before   []string              // what a transaction that migrates begins with, such as making others wait
	more     []string              // tables this database has besides
	explain  func(err error) error // adds hints
	passing  func(err error) bool  // the same may succeed a moment later
}

// args puts the database's own names of arguments into a statement. A question
// mark must not appear in it otherwise.
func (d dialect) args(query string) string {
	if !d.numbered {
		return query
	}
	parts := strings.Split(query, "?")
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(p)
	}
	return b.String()
}

// timeForm sorts as text, and both databases read it.
const timeForm = "2006-01-02T15:04:05.000Z"

// stamp is a time as an argument; the zero time is NULL.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(timeForm)
}

// moment reads a time from either database; NULL is the zero time.
type moment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *moment) Scan(v any) (err error) {
	switch v := v.(type) {
	case nil:
		m.Time = time.Time{}
	case time.Time:
		m.Time = v.UTC()
	case []byte:
		m.Time, err = time.Parse(time.RFC3339Nano, string(v))
	case string:
		m.Time, err = time.Parse(time.RFC3339Nano, v)
	default:
		err = fmt.Errorf("read a time: it is a %T", v)
	}
	return err
}

// plain makes a text that every database takes in a column: PostgreSQL refuses
// what is not UTF-8, and NUL. The record itself keeps more of it.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
