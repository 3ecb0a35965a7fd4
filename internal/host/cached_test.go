package host

import (
	"context"
	"fmt"
	"strings"
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

// TestOnceHasALimit: what has no room is read each time, and the rest is still remembered.
func TestOnceHasALimit(t *testing.T) {
	live, dir := newTestLive(t, LiveOptions{}), t.TempDir()
	o := NewCached(live)
	o.room = 4000
	for _, name := range []string{"small", "large", "last"} {
		write(t, dir+"/"+name, strings.Repeat("1", map[bool]int{true: 4000, false: 10}[name == "large"]))
	}
	for _, version := range []string{"1", "2"} {
		for _, name := range []string{"small", "large", "last"} {
			data, err := o.ReadFile(t.Context(), dir+"/"+name)
			if want := map[string]string{"small": "1", "large": version, "last": "1"}[name]; err != nil || string(data[:1]) != want {
				t.Errorf("%s, written as %s: %.1s, want %s (%v)", name, version, data, want, err)
			}
			write(t, dir+"/"+name, strings.Repeat("2", len(data)))
		}
	}
	if o.room >= 4000-2*300 || o.room < 0 {
		t.Errorf("%d bytes of 4000 are left", o.room)
	}
	cell := strings.Repeat("x", 1000)
	for _, answer := range []any{[]byte(cell), cell, []string{cell}, Rows{Values: [][]*string{{nil, &cell}}}} {
		if n := weight(answer); n < 1000 || n > 2000 {
			t.Errorf("%T of 1000 bytes counts as %d", answer, n)
		}
	}
}

func kindOfOrNone(err error) string {
	if err == nil {
		return ""
	}
	return KindOf(err)
}
