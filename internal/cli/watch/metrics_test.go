package watch

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/watch"
)

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
