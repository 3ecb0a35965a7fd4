package provision

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/provision/cache"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// CacheAddition says which device a pool gets, and how that is taken back.
func CacheAddition(a cache.Addition, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, fmt.Sprintf("Pool %s gets a %s: %s, %s.", a.Pool, a.Class, a.Disk.Spec.Path, units.Bytes(a.Disk.Size)))
	if a.Disk.Erases() {
		o.Para(page.Yellow, 0, fmt.Sprintf("What is on it is lost: %s.", strings.Join(a.Disk.On, ", ")))
	} else {
		o.Para(page.Normal, 0, fmt.Sprintf("It is proven to be empty (%s read), and is checked again immediately before.", units.Bytes(a.Disk.Read)))
	}
	for _, n := range a.Notes {
		o.Hang(page.Normal, "  - ", n)
	}
	return o.String()
}

// CacheWarming says what will be read, under which parameters.
func CacheWarming(w cache.Warming, d change.Draft, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, fmt.Sprintf("Every file below %s is read once (%s), for at most %s.", strings.Join(w.Dirs, ", "), units.Bytes(w.Data), units.Short(w.Plan.For)))
	for _, s := range d.Steps {
		o.Hang(page.Normal, "  ", fmt.Sprintf("%s: %s, now %s: %s", s.Knob.Name, catalog.Show(s.Want.Fact, s.To), catalog.Show(s.Want.Fact, s.Now), s.Because))
	}
	for _, r := range d.Refused {
		o.Hang(page.Dim, "  ", fmt.Sprintf("%s is left as it is: %s", r.Knob.Name, r.Reason))
	}
	for _, n := range w.Notes {
		o.Para(page.Yellow, 0, strings.ToUpper(n[:1])+n[1:]+".")
	}
	if len(d.Steps) > 0 {
		o.Para(page.Normal, 0, "The parameters are restored when everything is read, when the time is over, and when Plumb is killed.")
	}
	return o.String()
}

// CacheJudgement says what the cache devices serve, and what has moved since an earlier look.
func CacheJudgement(now cache.Figures, earlier []cache.Window, screen page.Screen) string {
	o := page.NewPage(screen)
	share := func(label string, e stats.Estimate, none string) {
		if e.N == 0 {
			o.Hang(page.Normal, label, "not known: "+none)
			return
		}
		o.Hang(page.Normal, label, fmt.Sprintf("%s [%s, %s]", units.Percent(e.Value), units.Percent(max(e.Low, 0)), units.Percent(min(e.High, 1))))
	}
	if now.Fed.N > 0 { // there are counters
		share("served by the cache devices, of what missed the ARC: ", now.Cache, "nothing missed the ARC, so there was nothing to serve")
		share("went to the data disks, of all reads:                ", now.Disk, "nothing was read")
		o.Hang(page.Normal, "the cache devices are fed:                           ", units.Bytes(int64(now.Fed.Value))+"/s")
	}
	if now.Durable.N > 0 {
		o.Hang(page.Normal, "half of the durable writes of 4 KiB took at most:    ", fmt.Sprintf("%s [%s, %s]", seconds(now.Durable.Value), seconds(max(now.Durable.Low, 0)), seconds(now.Durable.High)))
	}
	if earlier == nil {
		return o.String()
	}
	before := cache.Measure(earlier)
	if now.Durable.N > 0 {
		durableMoved(o, before.Durable, now.Durable)
	}
	if now.Disk.N == 0 && before.Disk.N == 0 {
		return o.String()
	}
	moved, known := cache.Moved(before.Disk, now.Disk)
	points := func(v float64) string { return fmt.Sprintf("%+.1f", 100*v) }
	interval := fmt.Sprintf("%s points [%s, %s]", points(moved.Value), points(moved.Low), points(moved.High))
	switch {
	case !known:
		o.Para(page.Yellow, 0, "Whether the share that goes to the data disks has changed is not known: too little was read before or now.")
	case moved.High < 0:
		o.Para(page.Bold, 0, "Fewer reads go to the data disks than before: "+interval+". This compares the load of now with the load of then; if the load has changed, that may be the reason.")
	case moved.Low > 0:
		o.Para(page.Bold, 0, "More reads go to the data disks than before: "+interval+".")
	default:
		o.Para(page.Normal, 0, "There is no difference beyond chance in the share that goes to the data disks: "+interval+".")
	}
	return o.String()
}

func seconds(v float64) string { return units.Latency(time.Duration(v * float64(time.Second))) }

// durableMoved says whether durable writes take longer or shorter than before.
func durableMoved(o *page.Page, before, now stats.Estimate) {
	moved, known := cache.Moved(before, now)
	interval := fmt.Sprintf("by %s [%s, %s]", seconds(math.Abs(moved.Value)), seconds(min(math.Abs(moved.Low), math.Abs(moved.High))), seconds(max(math.Abs(moved.Low), math.Abs(moved.High))))
	switch {
	case !known:
		o.Para(page.Yellow, 0, "Whether durable writes take more or less time than before is not known: too little was written before or now.")
	case moved.High < 0:
		o.Para(page.Bold, 0, "Durable writes are faster than before, "+interval+". The time of day may be the reason: plumb provision cache compare alternates.")
	case moved.Low > 0:
		o.Para(page.Bold, 0, "Durable writes are slower than before, "+interval+". The time of day may be the reason: plumb provision cache compare alternates.")
	default:
		o.Para(page.Normal, 0, "There is no difference beyond chance in how long durable writes take.")
	}
}

// CacheTurns says in which turns a log device will be compared.
func CacheTurns(pool, device string, order []bool, every time.Duration, screen page.Screen) string {
	o := page.NewPage(screen)
	ways := 0
	for i, with := range order {
		if i > 0 && with != order[i-1] {
			ways++
		}
	}
	o.Para(page.Bold, 0, fmt.Sprintf("Pool %s writes its log with %s and without it, in %d turns of %s.", pool, device, len(order), units.Span(every)))
	o.Hang(page.Normal, "  - ", fmt.Sprintf("the device is removed %s and added again as often, each a change in the journal", units.Count(ways/2, "time")))
	o.Hang(page.Normal, "  - ", "while it is removed, all durable writes go to the data disks")
	return o.String()
}

// CacheCompared says what a log device brings.
func CacheCompared(turns []cache.Turn, c stats.Comparison, screen page.Screen) string {
	o := page.NewPage(screen)
	for _, t := range turns {
		label := "  without  "
		if t.With {
			label = "  with     "
		}
		o.Hang(page.Normal, label, fmt.Sprintf("%s, 99 of 100 within %s, %s", seconds(t.Median), seconds(t.P99), units.Count(int(t.Writes), "write")))
	}
	e := c.Effect
	switch {
	case !units.Ranged(e):
		o.Para(page.Yellow, 0, "Its effect is not known: "+units.Differs(e)+" of one pair, and no interval.")
	case e.High < 0:
		o.Para(page.Bold, 0, "With the log device durable writes are faster: their median is "+units.Differs(e)+".")
	case e.Low > 0:
		o.Para(page.Bold, 0, "With the log device durable writes are slower: their median is "+units.Differs(e)+".")
	default:
		o.Para(page.Normal, 0, "There is no difference beyond chance: with it the median is "+units.Differs(e)+".")
	}
	o.Para(page.Normal, 0, fmt.Sprintf("One writer was timed, %s in pairs of neighbours; for more at a time, plumb load fsync.", units.Count(len(turns), "turn")))
	return o.String()
}

// CacheUnit writes a unit of systemd that runs commands at each start of the machine: add gives a pool its cache device again,
// and warm reads what shall be in it.
func CacheUnit(pool, device string, add, warm []string) (string, error) {
	for _, w := range slices.Concat([]string{pool, device}, add, warm) {
		if strings.ContainsAny(w, "\n\"'\\ %$") {
			return "", fmt.Errorf("a unit cannot name %q", w)
		}
	}
	start := "ExecStart=" + strings.Join(warm, " ")
	if len(warm) == 0 {
		start = "# --warm DATASET, or plumb provision cache warm by hand, fills it."
	}
	return fmt.Sprintf(`# /etc/systemd/system/plumb-cache-%s.service
[Unit]
Description=Give pool %[1]s its cache device again, and warm it
After=zfs-import.target zfs-mount.service
ConditionPathExists=%[2]s

[Service]
Type=oneshot
ExecStart=%[3]s
%[4]s
Nice=10
IOSchedulingClass=idle

[Install]
WantedBy=multi-user.target
`, pool, device, strings.Join(add, " "), start), nil
}
