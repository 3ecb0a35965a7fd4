package watch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/view/metrics"
	"plumb/internal/watch"
)

// One page has the verdicts, however long it takes to look for the servers.
func TestOnePageHasTheVerdicts(t *testing.T) {
	cat, _ := known()
	e := metrics.New(metrics.Options{Catalog: cat, MostSeries: 100, Version: "test"})
	go func() {
		time.Sleep(300 * time.Millisecond)
		e.Moment(watch.Moment{At: time.Now()})
	}()
	var out, errs bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &errs)
	if err := printOnce(t.Context(), &s, e, time.Millisecond); !errors.Is(err, errPrinted) || !strings.Contains(out.String(), "\nplumb_moment_timestamp_seconds ") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// What is counted for each database is read only for those who show it: the names of postgres_exporter have it.
func TestDatabasesAreReadWhereTheyAreShown(t *testing.T) {
	for exporters, want := range map[string]bool{"": false, "node": false, "node,mysqld": false, "postgres": true, "node,postgres": true} {
		got, called := false, false
		from := func(_ context.Context, _ shell.Source, sinks ...watch.Sink) error {
			called = true
			for _, s := range sinks {
				a, is := s.(feed.Apart)
				got = got || is && a.Databases()
			}
			return nil
		}
		var out bytes.Buffer
		s := shell.New(strings.NewReader(""), &out, &out)
		c := metricsCommand(&s, feed.Adapters{}, from)
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{"--once", "--compat=" + exporters})
		_ = c.ExecuteContext(t.Context()) // it was interrupted
		if !called || got != want {
			t.Errorf("--compat=%s: called %v, reads databases: %v", exporters, called, got)
		}
	}
}
