package watch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// logApart has the server's log on the disk, sda, and its data on another that does nothing.
func logApart() *stack.Stack {
	s := picture()
	logs := stack.Ref{Kind: "filesystem", Name: "/log"}
	s.Find(db).Link("redo", logs)
	other := stack.Ref{Kind: "block", Name: "sdb"}
	data := s.Find(stack.Ref{Kind: "filesystem", Name: "/data"})
	data.Links["block"], data.Links["disks"] = []stack.Ref{other}, []stack.Ref{other}
	var o stack.Observation
	o.New("block", "sdb").Set("layer", stack.Text("disk"), "test")
	f := o.New("filesystem", "/log")
	f.Set("fstype", stack.Text("ext4"), "test")
	f.Link("block", disk)
	f.Link("disks", disk)
	f.Link("dataset")
	s.Add("test", o)
	return s
}

// calmDisk adds what a second disk, sdb, does: 300 reads a second of 0.2 ms.
func (m *made) calmDisk() {
	var out []series.Batch
	for _, b := range m.batches {
		out = append(out, b)
		if b.Source != "block" {
			continue
		}
		n := b.At.Sub(start).Seconds() * 300
		c := series.Batch{Source: "block sdb", Every: time.Second, At: b.At}
		for name, v := range map[string]float64{"reads": n, "read_ms": n * 0.2, "read_bytes": n * 16384, "queue_ms": n * 0.2, "writes": 0, "write_ms": 0, "written_bytes": 0, "in_flight": 0} {
			c.Set(stack.Ref{Kind: "block", Name: "sdb"}, name, v)
		}
		out = append(out, c)
	}
	m.batches = out
}

// TestTheLogHasItsOwnDisk: a disk on which only the log is, that is saturated or hangs, is what the server waits for. That it is fast is no
// reason to say that its reads are too many: nobody reads there.
func TestTheLogHasItsOwnDisk(t *testing.T) {
	commits := map[series.Class]float64{series.ClassLog: 10, series.ClassCPU: 2}
	saturated, fine, hung := full, calm, full
	saturated.sessions, saturated.writes = commits, false
	fine.sessions = map[series.Class]float64{series.ClassRead: 10}
	hung.sessions, hung.reads, hung.each = commits, 0, 0
	for name, c := range map[string]struct {
		then load
		want string
		not  []string
	}{
		"saturated": {saturated, "device/saturated", nil},
		"hangs":     {hung, "device/hung", nil},
		"fast":      {fine, "", []string{"device/saturated", "device/hung"}},
	} {
		m := &made{}
		m.add(calm)
		m.add(c.then)
		m.hang(c.then)
		m.calmDisk()
		got := m.feed(judge(), logApart())
		v := find(got, c.want)
		if c.want != "" && (v == nil || !slices.Contains(v.Things, disk)) {
			t.Errorf("%s: raised %q, want %s of the log's disk", name, ids(got), c.want)
		}
		for _, id := range c.not {
			if find(got, id) != nil {
				t.Errorf("%s: raised %s", name, id)
			}
		}
		if v := find(got, "device/latency"); v != nil && slices.Contains(v.Things, disk) {
			t.Errorf("%s: there are too many reads of the log's disk", name)
		}
	}
}

// TestWhereTheLogIsIsNotKnown: then no device is ruled out, and what is known of the data's still counts.
func TestWhereTheLogIsIsNotKnown(t *testing.T) {
	p := picture()
	p.Gaps = append(p.Gaps, stack.Gap{Of: db, Facts: []string{"redo", "wal"}, Probe: "test", Why: "the paths in force are not known"})
	m := &made{}
	m.add(calm)
	u := unknownOf(m.feed(judge(), p), "device/hung")
	if u == nil || !slices.ContainsFunc(u.Missing, func(m rule.Missing) bool { return strings.Contains(m.Why, "paths in force") }) {
		t.Errorf("device/hung is ruled out: %+v", u)
	}
	if u != nil && slices.ContainsFunc(u.Missing, func(m rule.Missing) bool { return strings.Contains(m.Of.Name, "wal") }) {
		t.Errorf("this server has no WAL: %+v", u.Missing)
	}
	m.add(full)
	if got := m.feed(judge(), p); find(got, "device/saturated") == nil {
		t.Errorf("loaded: %q", ids(got))
	}
}
