package feed

import (
	"context"
	"io"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// apartSink ends its watch with the first picture.
type apartSink struct {
	wants bool
	end   context.CancelFunc
}

func (s apartSink) Databases() bool                 { return s.wants }
func (s apartSink) Picture(time.Time, *stack.Stack) { s.end() }
func (apartSink) Batch(series.Batch)                {}

// Databases are read apart if one sink of several asks for it.
func TestASinkAsksForDatabases(t *testing.T) {
	for _, c := range []struct{ one, other, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		live, s, got, asked := host.NewLive(host.LiveOptions{}), shell.New(nil, io.Discard, io.Discard), false, false
		a := smallHost()
		a.Finders = func(_ dsn.Given, databases bool) []sample.Finder {
			asked, got = true, databases
			return nil
		}
		err := run(ctx, &s, a, opened{live: live, src: shell.Source{Timeout: 20 * time.Second}}, watch.Sink(apartSink{c.one, end}), watch.Sink(apartSink{c.other, end}))
		end()
		live.Close()
		if err != nil || !asked || got != c.want {
			t.Errorf("%+v: finders were asked %v for databases %v, %v", c, asked, got, err)
		}
	}
}
