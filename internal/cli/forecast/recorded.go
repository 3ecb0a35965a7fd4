package forecast

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
	"plumb/knowledge"
)

// fromRecording reads what a recording tells of each day: of its last minutes,
// or, if those lack something, of all of it.
func (f source) fromRecording(ctx context.Context) (all []known, err error) {
	err = shell.ReadRecording(ctx, f.dir, func(r *record.Reader) (err error) {
		all, err = readDays(ctx, r, f.until)
		return err
	})
	return all, err
}

// How much is read before the end of each day.
var looks = []time.Duration{5 * time.Minute, 24 * time.Hour}

func readDays(ctx context.Context, r *record.Reader, until func(time.Time) time.Time) ([]known, error) {
	from, to, err := r.Span(ctx)
	if err != nil {
		return nil, err
	}
	to = until(to)
	words, err := catalog.Load(knowledge.FS)
	if err != nil {
		return nil, err
	}
	g := gathered{of: map[series.ID]*known{}, last: map[series.ID]float64{}, facts: map[string]stack.Value{}, words: words}
	for day := from.Truncate(24 * time.Hour); !from.IsZero() && day.Before(to); day = day.Add(24 * time.Hour) {
		end := day.Add(24 * time.Hour)
		if end.After(to) {
			end = to.Add(time.Nanosecond)
		}
		g.today = map[series.ID]forecast.Day{}
		for _, look := range looks {
			begin := end.Add(-look)
			if begin.Before(day) {
				begin = day
			}
			if err := r.Each(ctx, begin, end, g.item); err != nil {
				return nil, err
			}
			if len(g.today) > 0 && !g.lacks(day, from) {
				break
			}
		}
		g.close()
	}
	return g.all(), nil
}

// gathered is what has been read so far.
type gathered struct {
	of      map[series.ID]*known
	order   []series.ID
	today   map[series.ID]forecast.Day
	last    map[series.ID]float64   // of all readings, for limits
	facts   map[string]stack.Value  // of the last picture
	words   *catalog.Catalog        // how their values are written
	lies    map[series.ID]stack.Ref // on which filesystem what servers keep lies, by the last picture; the zero one: on several
	seen    time.Time               // when that was taken
	changed []noted
}

// noted is a change of a thing that was recorded.
type noted struct {
	of   stack.Ref
	fact string
	space.Change
}

func (g *gathered) item(i record.Item) error {
	switch {
	case i.Picture != nil:
		g.picture(i.At, i.Picture)
	case i.Batch != nil:
		for _, r := range i.Batch.Readings {
			id := series.ID{Of: r.Of, Name: r.Name}
			if isSpace(id) || isLimit(id) {
				g.last[id] = r.Value
			}
			if isSpace(id) {
				g.today[id] = forecast.Day{Date: i.At, Value: r.Value}
			}
		}
	}
	return nil
}

// lacks tells whether something that was read in the week before a day is not read on it yet, as a server that is stopped
// each night. What is new can be such a one too: so of one day in a week, beginning with the first, all is looked at.
func (g *gathered) lacks(day, first time.Time) bool {
	if int(day.Sub(first.Truncate(24*time.Hour))/(24*time.Hour))%7 == 0 {
		return true
	}
	for id, k := range g.of {
		if _, is := g.today[id]; !is && day.Sub(k.series.Days[len(k.series.Days)-1].Date) < 8*24*time.Hour {
			return true
		}
	}
	return false
}

// close ends a day, and makes its readings.
func (g *gathered) close() {
	for id, d := range g.today {
		k := g.of[id]
		if k == nil {
			k = &known{series: forecast.Series{Quantity: forecast.Quantity{Of: id.Of.String(), Name: id.Name, Unit: "bytes"}}, bounded: isBounded(id)}
			g.of[id], g.order = k, append(g.order, id)
		}
		k.series.Days = append(k.series.Days, d)
		if l := g.limit(id); l != nil && forecast.IsFull(d.Value, l.Bytes) {
			k.full = append(k.full, d.Date.UTC().Truncate(24*time.Hour))
		}
	}
}

func (g *gathered) all() (list []known) {
	slices.SortFunc(g.order, func(a, b series.ID) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Of.String(), b.Of.String()), strings.Compare(a.Name, b.Name))
	})
	for _, id := range g.order {
		k := g.of[id]
		k.series = forecast.Daily(k.series.Quantity, k.series.Days)
		k.limit, k.keeps = g.limit(id), g.keeps(id)
		for _, c := range g.changed {
			if c.of == id.Of && decides(c.fact, id.Name) {
				k.changes = append(k.changes, c.Change)
			}
		}
		list = append(list, *k)
	}
	return list
}

// isSpace tells whether a quantity is space, and so is forecast.
func isSpace(id series.ID) bool {
	switch id.Of.Kind {
	case "filesystem", "dataset":
		return id.Name == "used" || id.Name == "usedbysnapshots"
	case "pool":
		return id.Name == "allocated"
	}
	return strings.HasPrefix(id.Name, "space_") && !strings.HasSuffix(id.Name, "_logical")
}

func isLimit(id series.ID) bool {
	return slices.Contains([]string{"free", "available", "size"}, id.Name) && slices.Contains([]string{"filesystem", "dataset", "pool"}, id.Of.Kind)
}

// isBounded tells whether something is kept only for a time.
func isBounded(id series.ID) bool {
	return slices.Contains([]string{"usedbysnapshots", "space_redo", "space_wal", "space_journal", "space_undo", "space_binlog", "space_relaylog", "space_temporary"}, id.Name)
}

// rank is the order in which things are listed: those that can be full first.
func rank(id series.ID) int {
	if i := slices.Index([]string{"filesystem", "dataset", "pool"}, id.Of.Kind); i >= 0 {
		return i
	}
	return 3
}

// limit is the size at which a thing is full, in its last reading.
func (g *gathered) limit(id series.ID) *space.Limit {
	of := func(thing stack.Ref, name string) (float64, bool) {
		v, is := g.last[series.ID{Of: thing, Name: name}]
		return v, is
	}
	value := func(name string) (float64, bool) { return of(id.Of, name) }
	used := g.last[id]
	switch {
	case id.Of.Kind == "filesystem":
		if free, is := value("free"); is {
			return &space.Limit{Bytes: used + free, Why: "what is in use and available; what the filesystem keeps back for root is not"}
		}
	case id.Of.Kind == "dataset" && id.Name == "used":
		if free, is := value("available"); is {
			return &space.Limit{Bytes: used + free, Why: "what it uses and has available, within quotas and what the pool keeps back"}
		}
	case id.Of.Kind == "dataset":
		if free, is := value("available"); is {
			return &space.Limit{Bytes: used + free, Why: "what snapshots take and the dataset has available, if nothing else in it grows"}
		}
	case id.Of.Kind == "pool":
		if size, is := value("size"); is {
			return &space.Limit{Bytes: size - space.Slop(size), Why: "the size of the pool without the slop space that it keeps back"}
		}
	default:
		if free, is := of(g.lies[id], "free"); is {
			return &space.Limit{Bytes: used + free, Why: "what it takes and " + g.lies[id].String() + " has available, if nothing else there grows"}
		}
	}
	return nil
}

// placed notes on which filesystem what servers keep lies. What lies on several
// has no one place that can be full.
func (g *gathered) placed(roles []stack.Role) {
	g.lies = map[series.ID]stack.Ref{}
	for _, r := range roles {
		id := series.ID{Of: r.DB, Name: "space_" + r.Name}
		if before, is := g.lies[id]; is && before != r.Filesystem {
			r.Filesystem = stack.Ref{}
		}
		g.lies[id] = r.Filesystem
	}
}

// after which facts of a thing its past is that of another one.
var deciding = []string{"version", "compression", "recordsize"}

// retaining are the settings by which servers keep what leaves again. Where one is
// changed, the past is that of another rate or time of keeping.
var retaining = map[string][]string{
	"space_binlog": {"binlog_expire_logs_seconds", "binlog_expire_logs_auto_purge", "expire_logs_days"},
	"space_wal":    {"max_wal_size", "wal_keep_size", "wal_keep_segments", "max_slot_wal_keep_size"},
	"space_redo":   {"innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group"},
}

// watched lists all facts whose changes are noted.
func watched() []string {
	all := slices.Clone(deciding)
	for _, name := range slices.Sorted(maps.Keys(retaining)) {
		all = append(all, retaining[name]...)
	}
	return all
}

// decides tells whether a change of a fact means that the past of a quantity says nothing about its future.
func decides(fact, quantity string) bool {
	return slices.Contains(deciding, fact) || slices.Contains(retaining[quantity], fact)
}

// shown writes the value of a fact with its unit.
func (g *gathered) shown(of stack.Ref, name string, v stack.Value) string {
	return catalog.Show(g.words.Fact(of.Kind, name), v)
}

// keeps says which settings decide how long something is kept, in the last picture.
func (g *gathered) keeps(id series.ID) string {
	var list []string
	for _, name := range retaining[id.Name] {
		if v, is := g.facts[id.Of.String()+" "+name]; is {
			list = append(list, name+" = "+g.shown(id.Of, name, v))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "it is kept as the server is set: " + strings.Join(list, ", ")
}

func (g *gathered) picture(at time.Time, s *stack.Stack) {
	if !at.After(g.seen) { // it belongs to a day that is looked at again
		return
	}
	g.seen = at
	g.placed(s.Roles)
	facts := watched()
	for _, t := range s.Things {
		for _, name := range facts {
			v, is := t.Get(name)
			if !is {
				continue // that it is not known is no change
			}
			key := t.Ref.String() + " " + name
			if before, is := g.facts[key]; is && before.String() != v.String() {
				g.changed = append(g.changed, noted{t.Ref, name, space.Change{At: at, What: fmt.Sprintf("%s %s became %s", name, g.shown(t.Ref, name, before), g.shown(t.Ref, name, v))}})
			}
			g.facts[key] = v
		}
	}
}
