package sampler

import (
	"context"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// counting is a server that has the length of the history list in its status, in its metrics, or nowhere.
type counting struct {
	host.Reader
	status  string
	metrics []string
	denied  bool
}

func (s counting) Query(_ context.Context, _ host.Target, query string) (out host.Rows, err error) {
	cells := []string{"8.4.3", "", "16384", "1", ""}
	name := historyCounter
	switch query {
	case consumersQuery:
		return out, nil
	case statusQuery:
		if s.status == "" {
			return out, nil
		}
		cells = []string{name, s.status}
	case historyQuery:
		if s.denied {
			return out, host.ErrDenied
		}
		if cells = s.metrics; cells == nil {
			return out, nil
		}
	}
	row := make([]*string, len(cells))
	for i := range cells {
		row[i] = &cells[i]
	}
	return host.Rows{Columns: []string{"Variable_name", "Value"}, Values: [][]*string{row}}, nil
}

// MySQL has the length of its history list in another place than MariaDB and Percona Server; where nobody has it, that is a gap.
func TestHistoryOfEachServer(t *testing.T) {
	for name, c := range map[string]struct {
		server                counting
		status, metrics, gaps int
	}{
		"in the status":         {counting{status: "17", metrics: []string{"99"}}, 1, 0, 0},
		"in the metrics":        {counting{metrics: []string{"99"}}, 0, 1, 0},
		"the counter is off":    {counting{}, 0, 0, 1},
		"not allowed":           {counting{denied: true}, 0, 0, 1},
		"what is no number":     {counting{metrics: []string{"many"}}, 0, 0, 0},
		"what no list can have": {counting{metrics: []string{"-1"}}, 0, 0, 0},
	} {
		v := &Server{Asked: sample.Asked{Ref: stack.Ref{Kind: kind, Name: "3306"}, Find: func(context.Context, host.Reader) (host.Target, error) { return host.Target{}, nil }}}
		var early, status, metrics series.Batch
		if err := v.history(t.Context(), c.server, &early); err != nil || len(early.Readings)+len(early.Gaps) > 0 {
			t.Errorf("%s: before the status was read: %+v, %v", name, early, err)
		}
		if err := v.status(t.Context(), c.server, &status); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := v.history(t.Context(), c.server, &metrics); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, inStatus := samplertest.Value(status, historyLength)
		_, inMetrics := samplertest.Value(metrics, historyLength)
		if inStatus != (c.status > 0) || inMetrics != (c.metrics > 0) || len(metrics.Gaps) != c.gaps {
			t.Errorf("%s: in the status %v, in the metrics %v, gaps %v", name, inStatus, inMetrics, metrics.Gaps)
		}
	}
}
