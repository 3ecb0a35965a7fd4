package sampler

import (
	"context"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// told is a server that tells of its transactions what a real one cannot be made to tell at will.
type told struct {
	host.Reader
	transactions []string // nil: nothing
}

func (s told) Query(_ context.Context, _ host.Target, query string) (out host.Rows, err error) {
	cells := map[string][]string{traitsQuery: {"10.11.14-MariaDB", "", "16384", "0"}, transactionsQuery: s.transactions}[query]
	if cells == nil {
		return out, nil
	}
	row := make([]*string, len(cells))
	for i := range cells {
		row[i] = &cells[i]
	}
	out.Values = [][]*string{row}
	return out, nil
}

// TestTransactionsThatAreNotTold: what is not known is no zero, and no age is less than that.
func TestTransactionsThatAreNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		transactions []string
		known, gap   bool // the age of the oldest, and that it is not known
		failed       bool
	}{
		"one":                     {[]string{"1", "0", "12"}, true, false, false},
		"begun since":             {[]string{"1", "0", "-1"}, true, false, false},
		"the clock was set back":  {[]string{"1", "0", "-3600"}, false, true, false},
		"no row":                  {nil, false, false, true},
		"a row that is no number": {[]string{"1", "", "0"}, false, false, true},
	} {
		v := &Server{Asked: sample.Asked{Ref: stack.Ref{Kind: kind, Name: "3306"}, Find: func(context.Context, host.Reader) (host.Target, error) { return host.Target{}, nil }}}
		var b series.Batch
		err := v.sessions(t.Context(), told{transactions: c.transactions}, &b)
		known := slices.ContainsFunc(b.Readings, func(r series.Reading) bool { return r.Name == "longest_transaction" && r.Value >= 0 })
		gap := slices.ContainsFunc(b.Gaps, func(g series.Gap) bool { return g.Name == "longest_transaction" })
		if known != c.known || gap != c.gap || (err != nil) != c.failed {
			t.Errorf("%s: known %v, a gap %v, %v", name, known, gap, err)
		}
	}
}

// TestAppliersAreNoClients: what applies the changes of a source is not counted as a client that is active, whatever its command.
// A replica of MySQL 8.0 shows them as Query with "Replica has read all relay log; waiting for more updates".
func TestAppliersAreNoClients(t *testing.T) {
	for _, schema := range []bool{false, true} {
		want := "USER <> 'system user'"
		if schema {
			want = "'thread/sql/replica_sql', 'thread/sql/replica_worker')"
		}
		for name, query := range map[string]string{"active": activeQuery(traits{schema: schema}), "listed": listQuery(traits{schema: schema}, "(0)")} {
			if !strings.Contains(query, want) {
				t.Errorf("%s, performance schema %v: %s", name, schema, query)
			}
		}
	}
}
