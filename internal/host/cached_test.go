package host

import (
	"context"
	"fmt"
	"testing"
)

func TestOnceAsksOnce(t *testing.T) {
	live, dir := newTestLive(t, LiveOptions{}), t.TempDir()
	o := NewCached(live)
	ctx := context.Background()
	read := func(ctx context.Context) string {
		data, err := o.ReadFile(ctx, dir+"/changing")
		return fmt.Sprintf("%s %s", data, kindOfOrNone(err))
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if got := read(canceled); got != " canceled" {
		t.Errorf("canceled: %s", got)
	}
	write(t, dir+"/changing", "1")
	if got := read(ctx); got != "1 " {
		t.Errorf("after one that gave up: %s", got)
	}
	write(t, dir+"/changing", "2")
	if got := read(ctx); got != "1 " {
		t.Errorf("again: %s", got)
	}
	if o = NewCached(live); read(ctx) != "2 " {
		t.Errorf("a new one: %s", read(ctx))
	}
}

func kindOfOrNone(err error) string {
	if err == nil {
		return ""
	}
	return KindOf(err)
}
