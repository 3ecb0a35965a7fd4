package sampler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// crowded is a server with as many indexes as are looked at, each on a column of its
// own that nothing has read; of some of the columns it is known that a foreign key
// needs them. A real one takes long to make.
type crowded struct {
	host.Reader
	foreign int
}

func (c crowded) Query(_ context.Context, _ host.Target, query string) (host.Rows, error) {
	var out host.Rows
	add := func(cells ...string) {
		row := make([]*string, len(cells))
		for i := range cells {
			row[i] = &cells[i]
		}
		out.Values = append(out.Values, row)
	}
	each := func(n int, more ...string) {
		for i := range n {
			add(append([]string{"shop", fmt.Sprint("t", i)}, more...)...)
		}
	}
	switch {
	case query == traitsQuery:
		add("10.11.14-MariaDB", "", "16384", "1")
	case query == instrumentQuery:
		add("YES", "100")
	case query == indexesQuery():
		each(mostIndexes, "needed", "1", "BTREE", "w()", "1")
	case query == foreignQuery():
		each(c.foreign, "w")
	case query == unreadQuery():
		each(mostIndexes, "needed")
	}
	return out, nil
}

// TestMoreIndexesThanAreLookedAt: it is said, and where not all foreign keys are
// known, no index is called one that can be done without.
func TestMoreIndexesThanAreLookedAt(t *testing.T) {
	for foreign, want := range map[int]struct {
		unread int
		says   string
	}{
		mostIndexes - 1: {1, "only 9000 of them are looked at"},
		mostIndexes:     {0, "only 9000 columns of foreign keys are looked at"},
	} {
		v := &Server{Asked: sample.Asked{Ref: stack.Ref{Kind: kind, Name: "3306"}, Find: func(context.Context, host.Reader) (host.Target, error) { return host.Target{}, nil }}}
		all, err := v.Indexes(t.Context(), crowded{foreign: foreign})
		if len(all) != want.unread || err == nil || !strings.Contains(err.Error(), want.says) {
			t.Errorf("with %d foreign keys: %d indexes, %v", foreign, len(all), err)
		}
	}
}

// TestListsOfColumnsThatAreCut: group_concat_max_len can be any number of bytes, and what is left of a list is not the index.
func TestListsOfColumnsThatAreCut(t *testing.T) {
	var rows host.Rows
	for list, columns := range map[string]string{"a(),b()": "2", "a()": "2", "a(),b": "2", "a(),b(1": "3", "?()": "1", "c,d()": "1", "": "1"} {
		row := make([]*string, 7)
		for i, cell := range []string{"shop", "t", list, "1", "BTREE", list, columns} {
			row[i] = &cell
		}
		rows.Values = append(rows.Values, row)
	}
	if all := readIndexes(rows); len(all) != 1 || all[0].name != "a(),b()" || len(all[0].columns) != 2 {
		t.Errorf("%+v", all)
	}
}
