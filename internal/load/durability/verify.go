package durability

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
)

// Table is the name of the table that transactions note their number in.
const Table = "plumb_ledger"

// pageRows is how many rows Verify asks for at a time.
const pageRows = 50000

// Insert is the statement of every transaction, with
// [Ledger.Fill].
const Insert = "INSERT INTO " + Table + " (run, n) VALUES (?, ?)"

// CreateTable gives the statement that makes the table, if it is not there.
// The engine is that of load.Server.
func CreateTable(engine string) string {
	return "CREATE TABLE IF NOT EXISTS " + Table + " (run BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (run, n))" + product.DialectOf(engine).TableOptions
}

// Begin begins the ledger of a run and makes its table; nil without a path.
func Begin(ctx context.Context, s load.Server, path string, h Header) (*Ledger, error) {
	if path == "" {
		return nil, nil
	}
	admin, err := s.Admin(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if err := admin.Exec(ctx, CreateTable(s.Engine())); err != nil {
		return nil, err
	}
	book, err := Create(path, h)
	if errors.Is(err, fs.ErrExist) {
		return nil, hint.With(fmt.Errorf("begin the ledger %s: it already exists", path), "a ledger is never overwritten: give another name, or remove it")
	}
	return book, err
}

// Fill sets the two parameters of Insert for operation n. It allocates nothing.
func (b *Ledger) Fill(args []load.Arg, n int64) {
	args[0], args[1] = load.Int(b.Header.Run), load.Int(n)
}

// Outcome is what comparing a ledger with its table found.
type Outcome struct {
	Header       Header
	Acknowledged int64   // different operations in the ledger
	Found        int64   // of those, in the table
	Lost         int64   // acknowledged and not in the table: each a broken promise
	FirstLost    []int64 // the lowest ten
	Extra        int64   // in the table and not in the ledger: under way when something died, and committed
	Torn         int64   // bytes at the end of the ledger that are no whole record
	Damaged      int64   // records of the ledger that cannot be read, with good ones after them
}

// Verify compares a ledger with the table of a server. It asks for one page of
// rows at a time.
func Verify(ctx context.Context, db load.Admin, path string) (*Outcome, error) {
	n, err := Read(path)
	if err != nil {
		return nil, err
	}
	return n.verify(ctx, db)
}

func (n *Noted) verify(ctx context.Context, db load.Admin) (*Outcome, error) {
	v := &Outcome{Header: n.Header, Acknowledged: n.acks.count, Torn: n.Torn, Damaged: n.Damaged}
	for after := int64(-1); ; {
		rows, err := db.Query(ctx, fmt.Sprintf("SELECT n FROM %s WHERE run = %d AND n > %d ORDER BY n LIMIT %d", Table, n.Header.Run, after, pageRows))
		if err != nil {
			return nil, lostTable(fmt.Errorf("read the table %s: %w", Table, err))
		}
		for _, row := range rows.Values {
			number, ok := number(host.Cell(row, 0))
			if !ok || number <= after {
				return nil, fmt.Errorf("read the table %s: %w", Table, errRow)
			}
			after = number
			if !n.acks.take(number) {
				v.Extra++
			}
		}
		if len(rows.Values) == 0 || len(rows.Values) < pageRows && !rows.Cut {
			break
		}
	}
	v.Lost = n.acks.count
	v.Found = v.Acknowledged - v.Lost
	v.FirstLost = n.acks.first(10)
	return v, nil
}

// number is what a cell holds; NULL is none.
func number(cell *string) (int64, bool) {
	if cell == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(*cell, 10, 64)
	return n, err == nil && n >= 0
}

var errRow = errors.New("an answer that makes no sense")

func sortedKeys(m map[int64]*page) []int64 { return slices.Sorted(maps.Keys(m)) }

// lostTable says what a missing table means: the wrong database, or a table
// that did not survive, and then everything is lost.
func lostTable(err error) error {
	if f, ok := errors.AsType[*load.Failure](err); ok && (f.Code == "1146" || f.Code == "42P01") {
		return hint.With(err, "is this the database that the run used? If it is, the crash took the whole table")
	}
	return err
}
