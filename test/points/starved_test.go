package points

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/test/sandbox"
)

// TestStarvedCopy wants that it is said when a copy's server died for want of memory: that is no fault of the point.
func TestStarvedCopy(t *testing.T) {
	sandbox.NeedTime(t, "fills the memory of a copy's server: make test-real")
	b := on(t, grounds[1], families[0], 1024)
	if _, err := group.Find(t.Context(), b.Do.(*host.LiveDoer)); errors.Is(err, group.ErrNone) {
		t.Skip("no control group is lent here")
	}
	p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
	must(t, err)
	c, err := b.maker.Make(t.Context(), p, instance.Options{Name: "starved", Purpose: protect.ForDrill, Number: 1, Memory: 256 << 20})
	must(t, err)
	defer func() { must(t, c.Remove(t.Context())) }()
	a, err := c.Start(t.Context(), time.Minute)
	must(t, err)
	defer a.Close()
	if why := errors.New("why"); c.Starved(t.Context(), why) != why {
		t.Error("it lives, and is said to have been killed")
	}
	err = a.Exec(t.Context(), "SET max_heap_table_size = 1 << 30",
		"CREATE TEMPORARY TABLE plumbtest.m (t CHAR(250)) ENGINE=MEMORY SELECT REPEAT('x', 250) AS t FROM information_schema.COLUMNS a, information_schema.COLUMNS b LIMIT 3000000")
	if err = c.Starved(t.Context(), err); err == nil || !errors.Is(err, instance.ErrStarved) || !strings.Contains(err.Error(), "needed more memory than its limit of 256M") {
		t.Errorf("it says %v", err)
	}
}
