package prune

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/protect/keep"
)

// past is a random history of a host: what it wrote, archived and backed up, and when somebody pruned. It knows by itself
// what can be restored from what.
type past struct {
	*logged
	t   *testing.T
	rnd *rand.Rand
	log []string // what happened, for who looks for a fault

	// PostgreSQL: the timelines, where each parted from which, and where the server stands.
	parent map[int]parting
	on     int
	at     uint64
	// MariaDB: the newest file of the series.
	file   int
	resets int
	// ever is all that was archived: of PostgreSQL by timeline and number, of MariaDB by series and number.
	ever map[piecePast]bool

	bases  map[string]basePast // by ID
	killed []string            // names of jobs
}

type piecePast struct {
	line string
	n    uint64
}

type parting struct {
	from int
	at   uint64 // the segment in which it parted
}

type basePast struct {
	timeline int    // 0 for MariaDB
	series   string // of MariaDB
	n        uint64 // segment or file
}

func newPast(t *testing.T, seed uint64) *past {
	p := &past{logged: newLogged(t), t: t, rnd: rand.New(rand.NewPCG(seed, 7)), parent: map[int]parting{1: {}}, on: 1, at: 1, file: 1, ever: map[piecePast]bool{}, bases: map[string]basePast{}}
	m := &memory{all: map[string]kept{}}
	p.cal.Store = m
	return p
}

func line(timeline int) string { return fmt.Sprint("timeline ", timeline) }

// segment archives the one in which PostgreSQL is, and goes on; now and then it is lost.
func (p *past) segment() {
	if p.rnd.IntN(25) > 0 {
		p.wal(p.t, p.on, p.at)
		p.ever[piecePast{line(p.on), p.at}] = true
	}
	p.at++
}

// promote has a new timeline part from the one or, after a restore of a base that is there, from an earlier place.
func (p *past) promote() {
	next := len(p.parent) + 1
	from, at := p.on, p.at
	if oldest, is := p.oldest(); is && p.rnd.IntN(2) == 0 && oldest.n < at {
		at -= min(at-oldest.n, uint64(p.rnd.IntN(4)))
		for from != oldest.timeline && at <= p.parent[from].at {
			from = p.parent[from].from
		}
	}
	p.parent[next] = parting{from, at}
	p.on, p.at = next, at
	p.keep(p.t, ofWAL(fmt.Sprintf("%08X.history", next), 40))
	p.note("timeline %d parts from %d at %d", next, from, at)
}

// oldest is the oldest base of PostgreSQL that is there and leads to where the server is.
func (p *past) oldest() (b basePast, is bool) {
	all, err := p.List(p.t.Context())
	must(p.t, err)
	for _, f := range all {
		one := p.bases[f.ID]
		leads := false
		for on := p.on; on > 0; on = p.parent[on].from {
			leads = leads || on == one.timeline
		}
		if leads && (!is || one.n < b.n) {
			b, is = one, true
		}
	}
	return b, is
}

// binlogs archives the file in which MariaDB is, and goes on; now and then the log is reset.
func (p *past) binlogs() {
	if p.rnd.IntN(12) == 0 && p.resets < 8 {
		p.resets++
		p.series, p.file = fmt.Sprintf("20261126T12000%dZ-00000001", p.resets), 1
	}
	p.binlog(p.t, p.file)
	p.ever[piecePast{p.series, uint64(p.file)}] = true
	p.file++
}

// takeBase takes a base where a server is. Some runs are killed, some begin again where another was killed, and beside some
// time passes and other things happen.
func (p *past) takeBase() {
	job, b := p.pg(p.on, p.at), basePast{timeline: p.on, n: p.at}
	if p.rnd.IntN(2) == 0 {
		n := p.file - 1
		if !p.ever[piecePast{p.series, uint64(n)}] {
			return
		}
		job, b = p.maria(n), basePast{series: p.series, n: uint64(n)}
	}
	if len(p.killed) > 0 && p.rnd.IntN(2) == 0 {
		job.Name, p.killed = p.killed[0], p.killed[1:]
	}
	switch p.rnd.IntN(5) {
	case 0:
		p.b.Store = dyingAfter(p.cal, int64(1+p.rnd.IntN(3)))
	case 1:
		p.b.Store = &hooked{Store: p.cal, before: func(name string) {
			if strings.HasSuffix(name, "/manifest") {
				for range 1 + p.rnd.IntN(8) {
					p.pass(time.Duration(p.rnd.IntN(40)) * time.Hour)
					p.cal.touch("/claim") // as the run does every ten minutes
					p.segment()
					p.binlogs()
					if p.rnd.IntN(2) == 0 {
						p.another()
					}
					p.prune1()
				}
			}
		}}
	}
	res, err := p.b.Run(p.t.Context(), job)
	p.b.Store = p.cal
	p.pass(time.Second)
	switch {
	case errors.Is(err, errDied):
		p.killed = append(p.killed, job.Name)
	case err != nil:
		p.t.Fatal(err)
	default:
		p.bases[res.ID] = b
		p.note("base %s at %+v", res.ID, b)
	}
}

// another takes a base while one is being taken: it begins later, and is there before.
func (p *past) another() {
	beside := p.b
	beside.Store = p.cal
	b := basePast{timeline: p.on, n: p.at}
	res, err := beside.Run(p.t.Context(), p.pg(p.on, p.at))
	must(p.t, err)
	p.pass(time.Second)
	p.bases[res.ID] = b
	p.note("base %s at %+v, beside another", res.ID, b)
}

func (p *past) note(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

// prune1 prunes with random rules, and is killed now and then at any of its steps.
func (p *past) prune1() {
	o := Options{Rules: keep.Rules{Last: 1 + p.rnd.IntN(4)}}
	plan, err := p.Plan(p.t.Context(), o)
	must(p.t, err)
	if len(plan.Servers) > 0 { // whoever looked says that it is all right
		for _, f := range plan.Servers[0].Fates {
			if f.Goes {
				o.AllRight++
			}
		}
		plan, err = p.Plan(p.t.Context(), o)
		must(p.t, err)
	}
	p.Store = p.cal
	if p.rnd.IntN(3) == 0 {
		p.Store = &mortal{Store: p.cal, left: 1 + p.rnd.IntN(120), done: p.rnd.IntN(2) == 0}
	}
	done, err := p.Carry(p.t.Context(), plan, o)
	if _, dead := p.Store.(*mortal); err != nil && !(dead && errors.Is(err, errDied)) {
		p.t.Fatal(err)
	}
	p.Store = p.cal
	if err != nil {
		p.pass(16 * time.Minute) // until the lease is over
	}
	p.note("prune %+v: marked %q, removed %q, %+v, %v", o, done.Marked, done.Removed, done.Logs, err)
	p.check()
}

// takeBack takes a backup back, if that still can be.
func (p *past) takeBack() {
	for _, id := range slices.Sorted(maps.Keys(p.bases)) {
		if p.rnd.IntN(4) == 0 && p.TakeBack(p.t.Context(), id) == nil {
			p.note("%s is taken back", id)
		}
	}
	p.check()
}

// now is what is archived.
func (p *past) now() map[piecePast]bool {
	all, err := archive.Shelf{Store: p.cal}.List(p.t.Context(), "")
	must(p.t, err)
	parts := map[piecePast]int{}
	there := map[piecePast]bool{}
	for _, one := range all {
		var timeline int
		var high, low, n uint64
		if one.Server == "mysql" {
			_, _ = fmt.Sscanf(one.File, "binlog.%d", &n)
			k := piecePast{one.Series, n}
			if parts[k]++; parts[k] == 2 {
				there[k] = true
			}
		} else if _, err := fmt.Sscanf(one.File, "%08X%08X%08X", &timeline, &high, &low); err == nil && len(one.File) == 24 {
			there[piecePast{line(timeline), low}] = true
		}
	}
	return there
}

// reach is how far the log of a base goes without a hole, for each way that leads from it.
func (p *past) reach(b basePast, there map[piecePast]bool) map[string]uint64 {
	out := map[string]uint64{}
	if b.timeline == 0 {
		for n := b.n; there[piecePast{b.series, n}]; n++ {
			out[b.series] = n
		}
		return out
	}
	for to := range p.parent {
		way := []int{to}
		for one := to; one != 1; one = p.parent[one].from {
			way = append(way, p.parent[one].from)
		}
		if i := slices.Index(way, b.timeline); i < 0 || i > 0 && p.parent[way[i-1]].at < b.n {
			continue // it does not come from there
		}
		for n := b.n; ; n++ {
			is := slices.ContainsFunc(way, func(of int) bool {
				ends := uint64(1 << 40)
				if i := slices.Index(way, of); i > 0 {
					ends = p.parent[way[i-1]].at
				}
				return p.parent[of].at <= n && n <= ends && there[piecePast{line(of), n}]
			})
			if !is {
				break
			}
			out[line(to)] = n
		}
	}
	return out
}

// check compares what can be reached from each base that is there with what could be if nothing had ever been pruned.
func (p *past) check() {
	there := p.now()
	all, err := p.List(p.t.Context())
	must(p.t, err)
	for _, f := range all {
		must(p.t, f.Err)
		b, known := p.bases[f.ID]
		if !known {
			continue
		}
		if got, want := p.reach(b, there), p.reach(b, p.ever); !maps.Equal(got, want) {
			p.t.Fatalf("from base %s at %+v the log reached %v, and reaches %v:\n%s", f.ID, b, want, got, strings.Join(p.log, "\n"))
		}
	}
}

// needless counts what lies before all bases that are there.
func (p *past) needless() (out []string) {
	all, err := p.List(p.t.Context())
	must(p.t, err)
	var wals, files []basePast
	for _, f := range all {
		if b := p.bases[f.ID]; b.timeline > 0 {
			wals = append(wals, b)
		} else {
			files = append(files, b)
		}
	}
	there := p.now()
	newest := uint64(0)
	for k := range there {
		if strings.HasPrefix(k.line, "timeline") {
			newest = max(newest, k.n)
		}
	}
	for k := range there {
		if timeline := 0; strings.HasPrefix(k.line, "timeline") {
			_, _ = fmt.Sscanf(k.line, "timeline %d", &timeline)
			begun := slices.ContainsFunc(wals, func(b basePast) bool {
				return slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(k piecePast) bool { return strings.HasPrefix(k.line, "timeline") && k.n == b.n })
			})
			older := !slices.ContainsFunc(wals, func(b basePast) bool { return b.n <= k.n })
			known := slices.ContainsFunc(wals, func(b basePast) bool { return b.timeline >= timeline })
			if begun && older && known && k.n < newest {
				out = append(out, fmt.Sprintf("%+v", k))
			}
		} else if len(files) > 0 {
			// A base names a file, and not the series: it may be any of that name.
			mayBe := func(of piecePast) bool {
				return there[of] && slices.ContainsFunc(files, func(b basePast) bool { return b.n == of.n })
			}
			any, before := false, false
			for of := range there {
				if !strings.HasPrefix(of.line, "timeline") && mayBe(of) {
					any = true
					before = before || cmp.Or(cmp.Compare(of.line, k.line), cmp.Compare(of.n, k.n)) <= 0
				}
			}
			if any && !before {
				out = append(out, fmt.Sprintf("%+v", k))
			}
		}
	}
	return out
}

// TestLogsOfRandomPasts lets hosts have random pasts. At each moment all that could be restored from a base that is there,
// or is taken back, still can be; and when it is quiet, two prunes leave nothing that is older.
func TestLogsOfRandomPasts(t *testing.T) {
	pasts := 8
	if n, err := strconv.Atoi(os.Getenv("PLUMB_PASTS")); err == nil && n > 0 {
		pasts = n
	} else if testing.Short() {
		pasts = 4
	}
	var removed, killed, holes int
	for seed := range pasts {
		p := newPast(t, uint64(seed))
		for range 50 {
			switch p.rnd.IntN(10) {
			case 0, 1:
				p.segment()
			case 2, 3:
				p.binlogs()
			case 4:
				p.takeBase()
			case 5, 8:
				p.pass(time.Duration(p.rnd.IntN(50)) * time.Hour)
				p.prune1()
			case 6:
				p.takeBack()
			case 7:
				if p.rnd.IntN(2) == 0 {
					p.promote()
				}
			default:
				p.pass(time.Duration(p.rnd.IntN(50)) * time.Hour)
			}
		}
		for range 2 {
			p.pass(80 * time.Hour) // of what was killed nothing is heard any more
			p.quiet()
		}
		p.quietCheck()
		removed += len(p.ever) - len(p.now())
		killed += strings.Count(strings.Join(p.log, " "), "died")
		holes += p.holes()
	}
	t.Logf("%d pieces removed, %d prunes killed, %d holes", removed, killed, holes)
	if pasts >= 8 && (removed < 2*pasts || killed < pasts/4 || holes == 0) {
		t.Errorf("%d pieces were removed, %d prunes killed, %d holes met", removed, killed, holes)
	}
}

// quiet prunes without harm.
func (p *past) quiet() {
	o := Options{Rules: keep.Rules{Last: 2}, AllRight: 0}
	plan, err := p.Plan(p.t.Context(), o)
	must(p.t, err)
	if len(plan.Servers) > 0 {
		for _, f := range plan.Servers[0].Fates {
			if f.Goes {
				o.AllRight++
			}
		}
	}
	plan, err = p.Plan(p.t.Context(), o)
	must(p.t, err)
	_, err = p.Carry(p.t.Context(), plan, o)
	must(p.t, err)
	p.check()
}

func (p *past) quietCheck() {
	if left := p.needless(); len(left) > 0 {
		p.t.Fatalf("nobody needs %q:\n%s", left, strings.Join(p.log, "\n"))
	}
}

// holes counts the segments that were lost.
func (p *past) holes() (n int) {
	for k := range p.ever {
		if next := (piecePast{k.line, k.n + 1}); strings.HasPrefix(k.line, "timeline") && !p.ever[next] && p.ever[piecePast{k.line, k.n + 2}] {
			n++
		}
	}
	return n
}
