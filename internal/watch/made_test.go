package watch_test

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// The host of these tests is made: what they ask is what the judge makes of
// numbers that are known. Real servers are in test/watch.

var (
	start = time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)
	db    = stack.Ref{Kind: "mysql", Name: "3306"}
	host  = stack.Ref{Kind: "host", Name: "host"}
	disk  = stack.Ref{Kind: "block", Name: "sda"}
	proc  = stack.Ref{Kind: "process", Name: "17"}
	group = stack.Ref{Kind: "cgroup", Name: "/db"}
)

// known is read once: it is not changed.
var known = sync.OnceValues(func() (*catalog.Catalog, []*rule.Limit) {
	cat, err := catalog.Windows(knowledge.FS)
	limits, err2 := verdict.Load(knowledge.FS, cat)
	if err != nil || err2 != nil {
		panic(errors.Join(err, err2))
	}
	return cat, limits
})

func judge() *watch.Judge { return watch.NewJudge(known()) }

// picture is a host with one server on one disk.
func picture() *stack.Stack {
	s := &stack.Stack{}
	var o stack.Observation
	h := o.New("host", "host")
	h.Set("hostname", stack.Text("db1"), "test")
	h.Set("cpus", stack.Int(4), "test")
	h.Set("page_size", stack.Int(4096), "test")
	server := o.New("mysql", "3306")
	server.Set("flavor", stack.Text("mariadb"), "test")
	server.Set("version", stack.Text("10.11.14"), "test")
	server.Set("max_connections", stack.Int(151), "test")
	server.Set("threads_connected", stack.Int(150), "test") // a gauge of the picture: minutes old
	server.Link("process", proc)
	o.New("process", "17").Link("cgroup", group)
	o.New("cgroup", "/db").Set("cpu_limit", stack.Float(2), "test")
	fs := stack.Ref{Kind: "filesystem", Name: "/data"}
	server.Link("data", fs)
	server.Link("storage", fs)
	f := o.New("filesystem", "/data")
	f.Set("fstype", stack.Text("ext4"), "test")
	f.Set("mountpoint", stack.Text("/data"), "test")
	f.Link("block", disk)
	f.Link("disks", disk)
	f.Link("dataset")
	o.New("block", "sda").Set("layer", stack.Text("disk"), "test")
	s.Add("test", o)
	return s
}

// load is what the server and the disk do in each second of a stretch.
type load struct {
	seconds  int
	reads    float64 // a second
	each     float64 // milliseconds a read takes
	size     float64 // bytes of a read; 0 for 16 KiB
	sessions map[series.Class]float64
	psi      float64
	list     []series.Session
	readings map[series.ID]float64 // gauges besides
	mute     bool                  // the sessions are not read
	writes   bool                  // the requests are writes
	working  float64               // of four processors
}

// made makes batches of loads, one after another.
type made struct {
	at                                     time.Time
	reads, readBytes, readMS, queueMS, psi float64
	writes, writtenBytes, writeMS, idleMS  float64
	batches                                []series.Batch
}

func (m *made) add(l load) {
	if m.at.IsZero() {
		m.at = start
	}
	for range l.seconds {
		m.at = m.at.Add(time.Second)
		m.request(l)
		m.queueMS, m.psi, m.idleMS = m.queueMS+l.reads*l.each, m.psi+l.psi*1e6, m.idleMS+(4-l.working)*1000
		b := series.Batch{Source: "block", Every: time.Second, At: m.at.Add(10 * time.Millisecond)}
		for name, v := range map[string]float64{"reads": m.reads, "read_ms": m.readMS, "read_bytes": m.readBytes, "queue_ms": m.queueMS,
			"writes": m.writes, "write_ms": m.writeMS, "written_bytes": m.writtenBytes, "in_flight": l.reads * l.each / 1000} {
			b.Set(disk, name, v)
		}
		k := series.Batch{Source: "kernel", Every: time.Second, At: m.at.Add(20 * time.Millisecond)}
		k.Set(host, "psi_io_some_us", m.psi)
		k.Set(host, "psi_cpu_some_us", 0)
		k.Set(host, "tasks_running", 1)
		k.Set(host, "pages_dirtied", 0)
		k.Set(host, "pages_written", 0)
		k.Set(host, "cpu_idle_ms", m.idleMS)
		k.Set(host, "cpu_iowait_ms", 0)
		for id, v := range l.readings {
			k.Set(id.Of, id.Name, v)
		}
		s := series.Batch{Source: "mysql:3306 sessions", Every: time.Second, At: m.at.Add(30 * time.Millisecond), Sessions: l.list}
		if l.mute {
			s.Gaps = []series.Gap{{Of: db, Name: "sessions_active", Why: "access denied", Hint: "GRANT PROCESS"}}
		} else {
			active := 0.0
			for _, class := range series.Classes {
				s.Set(db, "sessions_"+string(class), l.sessions[class])
				active += l.sessions[class]
			}
			s.Set(db, "sessions_active", active)
		}
		m.batches = append(m.batches, b, k, s)
	}
}

// request counts the requests of a second.
func (m *made) request(l load) {
	bytes := l.reads * cmp.Or(l.size, 16384)
	if l.writes {
		m.writes, m.writtenBytes, m.writeMS = m.writes+l.reads, m.writtenBytes+bytes, m.writeMS+l.reads*l.each
		return
	}
	m.reads, m.readBytes, m.readMS = m.reads+l.reads, m.readBytes+bytes, m.readMS+l.reads*l.each
}

// counting adds a counter that grows by so much a second.
func (m *made) counting(of stack.Ref, name string, perSecond float64) {
	for i := range m.batches {
		if b := &m.batches[i]; b.Source == "kernel" {
			b.Set(of, name, b.At.Sub(start).Seconds()*perSecond)
		}
	}
}

// run feeds a judge, and gives what it says at the end.
func (m *made) run(j *watch.Judge) watch.Moment {
	j.Picture(start, picture())
	for _, b := range m.batches {
		j.Batch(b)
	}
	return j.Moment(j.Known())
}

func ids(m watch.Moment) (out []string) {
	for _, v := range m.Verdicts {
		out = append(out, v.ID)
	}
	return out
}

func find(m watch.Moment, id string) *watch.Verdict {
	for i := range m.Verdicts {
		if m.Verdicts[i].ID == id {
			return &m.Verdicts[i]
		}
	}
	return nil
}

func unknownOf(m watch.Moment, id string) *watch.UnknownVerdict {
	for _, s := range m.Servers {
		for i := range s.Unknown {
			if s.Unknown[i].ID == id {
				return &s.Unknown[i]
			}
		}
	}
	return nil
}

// calm teaches what the disk does unloaded: 300 reads a second of 0.2 ms.
var calm = load{seconds: 60, reads: 300, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 2}}

// full is the same disk with twelve at a time: 3,000 reads of 4 ms.
var full = load{seconds: 40, reads: 3000, each: 4, sessions: map[series.Class]float64{series.ClassRead: 10, series.ClassCPU: 2}, psi: 0.8}
