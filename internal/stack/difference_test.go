package stack

import (
	"encoding/json"
	"testing"
	"time"
)

// clock is a catalogue of one server's facts.
type clock struct{}

func (clock) OverTime(_, fact string) OverTime {
	switch fact {
	case "reads", "sectors":
		return Counter
	case "uptime", "dirty":
		return Gauge
	case "per_hour":
		return Average
	}
	return State
}

func (clock) Since(_, fact string) (string, bool) {
	if fact == "reads" {
		return "uptime", false
	}
	return "", false
}

// seen is a server that has been up for some seconds, and what else was read.
func seen(at int, up int64, facts map[string]Value) *Stack {
	s := &Stack{TakenAt: time.Date(2026, 11, 23, 3, 0, at, 0, time.UTC)}
	var o Observation
	t := o.New("mysql", "3306")
	t.Set("uptime", Int(up), "status")
	for name, v := range facts {
		t.Set(name, v, "status")
	}
	s.Add("test", o)
	return s
}

func TestCountersBecomeRates(t *testing.T) {
	for _, c := range []struct {
		name           string
		fact           string
		before, after  int64
		upThen, upNow  int64
		by, per        float64
		anew, known    bool
		elapsedSeconds int
	}{
		{name: "goes on", fact: "reads", before: 1000, after: 4000, upThen: 500, upNow: 560, elapsedSeconds: 60, by: 3000, per: 50, known: true},
		{name: "stood", fact: "reads", before: 1000, after: 1000, upThen: 500, upNow: 560, elapsedSeconds: 60, by: 0, per: 0, known: true},
		{name: "began anew", fact: "reads", before: 1000, after: 400, upThen: 500, upNow: 20, elapsedSeconds: 60, by: 400, per: 20, known: true, anew: true},
		{name: "began anew and came further", fact: "reads", before: 1000, after: 4000, upThen: 5000, upNow: 40, elapsedSeconds: 60, by: 4000, per: 100, known: true, anew: true},
		{name: "two young servers", fact: "reads", before: 10, after: 4000, upThen: 30, upNow: 40, elapsedSeconds: 60, by: 4000, per: 100, known: true, anew: true},
		{name: "clocks that differ a little", fact: "reads", before: 1000, after: 4000, upThen: 500, upNow: 551, elapsedSeconds: 60, by: 3000, per: 50, known: true},
		{name: "went back with no word of when", fact: "sectors", before: 1000, after: 400, upThen: 500, upNow: 560, elapsedSeconds: 60, anew: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Since(seen(0, c.upThen, map[string]Value{c.fact: Int(c.before)}), seen(c.elapsedSeconds, c.upNow, map[string]Value{c.fact: Int(c.after)}), clock{})
			if err != nil {
				t.Fatal(err)
			}
			got := d.Changes[0]
			if got.Name != c.fact || got.Anew != c.anew || (got.By != nil) != c.known || (got.PerSecond != nil) != c.known {
				t.Fatalf("got %+v", got)
			}
			if c.known && (*got.By != c.by || *got.PerSecond != c.per) {
				t.Errorf("grew by %g, %g a second; want %g and %g", *got.By, *got.PerSecond, c.by, c.per)
			}
		})
	}
}

// What was read once only, and what says nothing of the time between, is not
// in a difference: nothing is taken for zero.
func TestDifferenceLeavesOutWhatIsNotKnown(t *testing.T) {
	d, err := Since(
		seen(0, 5, map[string]Value{"reads": Int(1), "dirty": Int(10), "per_hour": Float(1), "mode": Text("a"), "same": Int(1), "gone": Int(1)}),
		seen(60, 65, map[string]Value{"sectors": Int(1), "dirty": Int(4), "per_hour": Float(2), "mode": {}, "same": Int(1)}), clock{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(d.Changes)
	want := `[{"of":"mysql:3306","name":"dirty","over_time":"gauge","before":10,"after":4,"by":-6},` +
		`{"of":"mysql:3306","name":"mode","over_time":"state","before":"a","after":null},` +
		`{"of":"mysql:3306","name":"uptime","over_time":"gauge","before":5,"after":65,"by":60}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDifferenceOfWhatIsNoPair(t *testing.T) {
	if _, err := Since(seen(5, 5, nil), seen(5, 5, nil), clock{}); err == nil {
		t.Error("a difference over no time")
	}
	one, two := seen(0, 5, nil), seen(5, 10, nil)
	for s, name := range map[*Stack]string{one: "db1", two: "db2"} {
		var o Observation
		o.New("host", "host").Set("hostname", Text(name), "uname")
		s.Add("kernel", o)
	}
	if _, err := Since(one, two, clock{}); err == nil || err.Error() != "these are two hosts: db1 and db2" {
		t.Errorf("got %v", err)
	}
	began := seen(9, 14, nil)
	var o Observation
	o.New("mysql", "3307")
	began.Add("test", o)
	d, err := Since(seen(0, 5, nil), began, clock{})
	back, err2 := Since(seen(0, 5, nil), seen(1, 6, nil), clock{})
	if err != nil || err2 != nil || len(d.Began) != 1 || d.Began[0].Name != "3307" || len(back.Ended) != 0 {
		t.Errorf("got %+v, %v", d, err)
	}
}
