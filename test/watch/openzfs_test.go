package watch

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	storagesampler "plumb/internal/storage/sampler"
	"plumb/internal/watch"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
	"plumb/test/captured"
)

// These are the files of two hosts with a MariaDB on OpenZFS 2.1 and 2.3, as their kernels wrote them. Each was
// recorded once: by how much a number grows is the test's. What a real OpenZFS counts while a limit is planted is
// asked in test/real/vm.

// moving is a recorded host whose files say what the test has let happen.
type moving struct {
	host.Reader
	files    map[string]string
	commands map[string]string
	room     int64 // what datasets may still take
}

func (m moving) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if text, ok := m.files[name]; ok {
		return []byte(text), nil
	}
	return m.Reader.ReadFile(ctx, name)
}

func (m moving) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if text, ok := m.commands[strings.Join(argv, " ")]; ok {
		return []byte(text), nil
	}
	if slices.Contains(argv, "used,available,referenced,usedbysnapshots,usedbydataset,usedbychildren,logicalused,logicalreferenced") {
		return fmt.Appendf(nil, "%s\tavailable\t%d\t-\n", argv[len(argv)-1], m.room), nil
	}
	return m.Reader.Output(ctx, argv...)
}

// zfsCase is what happens on the host for 40 s, after a quiet minute.
type zfsCase struct {
	arc, tx  map[string]float64 // what each counter grows by a second
	set      map[string]int64   // gauges of arcstats
	each     float64            // ms that a request of the disk takes
	class    series.Class       // what six sessions wait for
	misses   float64            // of the server's own cache, a second
	metadata bool               // the dataset has primarycache=metadata
	scrub    string             // what zpool status says of the last scan
	want     string
	below    string // what brings it about, and so stands first
	never    []string
	several  bool   // another pool is imported
	unknown  string // a verdict that nobody can tell
	room     int64  // what the dataset may still take
	dirty    int64  // in the newest group that was written
}

const (
	kstats = "/proc/spl/kstat/zfs/"
	// As print_scan_scrub_resilver_status of OpenZFS writes it: no scan was recorded.
	scrubs  = "scrub in progress since Sat Nov 21 21:57:00 2026\n\t1.20G scanned at 120M/s, 900M issued at 90M/s, 2.10G total\n\t0B repaired, 42.00% done, 00:00:13 to go"
	scanned = "scrub repaired 0B in 00:00:20 with 0 errors on Sat Nov 21 21:57:20 2026"
)

var zfsCases = map[string]zfsCase{
	"disk": {tx: map[string]float64{"dmu_tx_dirty_delay": 200}, each: 10, class: series.ClassWrite, want: "zfs/throttle-disk", below: "device/saturated",
		never: []string{"zfs/throttle-arc", "zfs/throttle-parameter"}},
	"disk_twin":      {tx: map[string]float64{"dmu_tx_assigned": 900}, each: 10, class: series.ClassWrite, want: "device/saturated", never: throttles},
	"parameter":      {tx: map[string]float64{"dmu_tx_dirty_delay": 200}, each: 0.6, class: series.ClassWrite, want: "zfs/throttle-parameter", never: []string{"zfs/throttle-arc", "zfs/throttle-disk"}},
	"parameter_twin": {tx: map[string]float64{"dmu_tx_assigned": 900}, each: 0.6, class: series.ClassWrite, never: throttles},
	"another_pool":   {tx: map[string]float64{"dmu_tx_dirty_delay": 200}, each: 0.6, class: series.ClassWrite, several: true, never: throttles},
	"arc": {tx: map[string]float64{"dmu_tx_dirty_throttle": 20}, set: map[string]int64{"c": 128 << 20}, each: 0.6, class: series.ClassWrite, want: "zfs/throttle-arc",
		never: []string{"zfs/throttle-disk", "zfs/throttle-parameter"}},
	"arc_disk": {tx: map[string]float64{"dmu_tx_dirty_throttle": 20}, set: map[string]int64{"c": 128 << 20}, each: 10, class: series.ClassWrite, want: "zfs/throttle-arc",
		below: "device/saturated"},
	"arc_twin":          {tx: map[string]float64{"dmu_tx_assigned": 900}, set: map[string]int64{"c": 128 << 20}, each: 0.6, class: series.ClassWrite, never: throttles},
	"arc_another_pool":  {tx: map[string]float64{"dmu_tx_dirty_throttle": 20}, set: map[string]int64{"c": 128 << 20}, each: 0.6, class: series.ClassWrite, several: true, never: throttles},
	"log":               {tx: map[string]float64{"dmu_tx_wrlog_delay": 200}, each: 0.6, class: series.ClassWrite, want: "zfs/throttle-log", never: []string{"zfs/throttle-arc", "zfs/throttle-disk", "zfs/throttle-parameter", "zfs/throttle-space"}},
	"log_disk":          {tx: map[string]float64{"dmu_tx_wrlog_delay": 200}, each: 10, class: series.ClassWrite, want: "zfs/throttle-log", below: "device/saturated"},
	"log_another_pool":  {tx: map[string]float64{"dmu_tx_wrlog_delay": 200}, each: 0.6, class: series.ClassWrite, several: true, never: throttles, unknown: "zfs/throttle-log"},
	"no_room":           {tx: map[string]float64{"dmu_tx_quota": 50}, room: 900 << 20, dirty: 60 << 20, each: 0.6, class: series.ClassWrite, want: "zfs/throttle-space", never: []string{"zfs/throttle-log", "zfs/throttle-parameter"}},
	"no_room_elsewhere": {tx: map[string]float64{"dmu_tx_quota": 50}, room: 90 << 30, dirty: 60 << 20, each: 0.6, class: series.ClassWrite, never: throttles},
	// A file that is freed waits for the next group, and nothing else does; a transaction larger than the ARC, and writing
	// of pages by kswapd while memory is short, are no limit of the pool.
	"others_wait": {tx: map[string]float64{"dmu_tx_dirty_frees_delay": 200, "dmu_tx_memory_reserve": 200, "dmu_tx_memory_reclaim": 200}, each: 0.6, class: series.ClassWrite, never: throttles},
	"squeezed": {arc: map[string]float64{"demand_metadata_misses": 300, "demand_data_misses": 900}, each: 0.6, class: series.ClassRead,
		want: "zfs/arc-squeezed"},
	"full": {arc: map[string]float64{"demand_metadata_misses": 300, "demand_data_misses": 900}, set: map[string]int64{"c": 2050080768, "c_max": 2050080768, "size": 2040000000},
		each: 0.6, class: series.ClassRead, want: "zfs/arc-squeezed"},
	"squeezed_twin": {arc: map[string]float64{"demand_metadata_hits": 300, "demand_data_misses": 900}, each: 0.6, class: series.ClassRead, never: []string{"zfs/arc-squeezed"}},
	"double": {arc: map[string]float64{"demand_data_hits": 900}, set: map[string]int64{"data_size": 900 << 20}, misses: 1000, each: 0.6, class: series.ClassRead,
		want: "zfs/double-cache"},
	"double_twin": {arc: map[string]float64{"demand_metadata_hits": 900, "demand_data_misses": 1000}, set: map[string]int64{"data_size": 1 << 20}, misses: 1000, metadata: true,
		each: 0.6, class: series.ClassRead, never: []string{"zfs/double-cache"}},
	"scrub":      {scrub: scrubs, each: 10, class: series.ClassRead, want: "intruder/scrub"},
	"scrub_twin": {scrub: scanned, each: 10, class: series.ClassRead, want: "device/saturated", never: []string{"intruder/scrub"}},
}

var throttles = []string{"zfs/throttle-arc", "zfs/throttle-disk", "zfs/throttle-log", "zfs/throttle-parameter", "zfs/throttle-space"}

// TestVerdictsOfOpenZFS plants incidents 20 to 24, and a small ARC under writers, in what two versions of OpenZFS wrote.
func TestVerdictsOfOpenZFS(t *testing.T) {
	windows, err := catalog.Windows(knowledge.FS)
	check_(t, err)
	limits, err := verdict.Load(knowledge.FS, windows)
	check_(t, err)
	for _, version := range []string{"2.1", "2.3"} {
		taped, err := captured.Host("../../fixtures/mariadb-openzfs-" + version + ".tape.gz")
		check_(t, err)
		picture := pictureOf(t, taped)
		for name, c := range zfsCases {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := c.run(t, taped, picture.Clone(), watch.NewJudge(windows, limits))
				var raised []string
				for _, v := range m.Verdicts {
					raised = append(raised, v.ID)
					if strings.Contains(v.Say, "?") {
						t.Errorf("%s says %q: a fact of it is not known", v.ID, v.Say)
					}
				}
				if c.want != "" && (!slices.Contains(raised, c.want) || raised[0] != cmp.Or(c.below, c.want)) {
					t.Errorf("raised %q, want %s", raised, c.want)
					for _, s := range m.Servers {
						t.Logf("ruled out %+v\nunknown %+v", s.Ruled, s.Unknown)
					}
				}
				if c.unknown != "" && !slices.ContainsFunc(m.Servers[0].Unknown, func(u watch.UnknownVerdict) bool { return u.ID == c.unknown }) {
					t.Errorf("%s is no unknown: %+v", c.unknown, m.Servers[0].Ruled)
				}
				for _, id := range c.never {
					if slices.Contains(raised, id) {
						t.Errorf("%s is raised", id)
					}
				}
			})
		}
	}
}

func (c zfsCase) run(t *testing.T, taped host.Reader, picture *stack.Stack, j *watch.Judge) watch.Moment {
	t.Helper()
	db, disk := picture.OfKind(product.MySQL)[0].Ref, picture.OfKind("pool")[0].Links["disks"][0].Name
	c.change(picture)
	var sources []sample.Source
	for _, s := range (storagesampler.Finder{}).Sources(picture) {
		if slices.Contains([]string{"zfs", "pool tank groups", "pool tank scan", "datasets of tank"}, s.Name()) || strings.HasPrefix(s.Name(), "block ") {
			sources = append(sources, s)
		}
	}
	at := time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)
	j.Picture(at, picture)
	h := moving{Reader: taped, files: map[string]string{}, commands: map[string]string{"zpool status -P tank": status(c.scrub)}, room: cmp.Or(c.room, 3<<30)}
	if c.dirty > 0 {
		h.files[kstats+"tank/txgs"] = fmt.Sprintf("txg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n9 1 C %d 0 0 0 0 1 1 1 1\n", c.dirty)
	}
	requests, millis := 0.0, 0.0
	for second := range 100 {
		load, each := float64(max(0, second-60)), 0.5
		if second >= 60 {
			each = c.each
		}
		requests, millis = requests+1000, millis+1000*each
		if second < 60 {
			requests, millis = requests-700, millis-700*each // 300 a second of 0.5 ms: what the disk does unloaded
		}
		h.files[kstats+"arcstats"] = grown(t, taped, kstats+"arcstats", c.arc, load, c.set)
		h.files[kstats+"dmu_tx"] = grown(t, taped, kstats+"dmu_tx", c.tx, load, nil)
		h.files["/proc/diskstats"] = fmt.Sprintf(" 254 48 %s %d 0 %d %d 0 0 0 0 0 %d %d 0 0 0 0 0 0\n", disk, int(requests), int(requests)*32, int(millis), int(millis), int(millis))
		moment := at.Add(time.Duration(second) * time.Second)
		for _, s := range sources {
			if second%int(s.Every().Seconds()) != 0 {
				continue
			}
			b, err := s.Take(t.Context(), h)
			check_(t, err)
			b.Source, b.Every, b.At = s.Name(), s.Every(), moment
			j.Batch(b)
		}
		j.Batch(c.server(db, moment, second >= 60, load))
	}
	return j.Moment(j.Known())
}

// server is what the server says of itself.
func (c zfsCase) server(db stack.Ref, at time.Time, loaded bool, seconds float64) series.Batch {
	b := series.Batch{Source: "mysql:3306", Every: time.Second, At: at.Add(time.Millisecond)}
	for _, class := range series.Classes {
		n := 0.0
		if class == series.ClassOther && !loaded || class == c.class && loaded {
			n = 6
		}
		b.Set(db, "sessions_"+string(class), n)
	}
	b.Set(db, "sessions_active", 6)
	b.Set(db, "buffer_pool_reads", c.misses*seconds)
	return b
}

// change makes the picture the one of this case.
func (c zfsCase) change(s *stack.Stack) {
	if c.metadata {
		for _, ds := range s.OfKind("dataset") {
			ds.Set("primarycache", stack.Text("metadata"), "test")
		}
	}
	if c.several {
		var more stack.Observation
		more.New("pool", "other")
		s.Add("test", more)
	}
}

// grown lets counters of a kstat grow for some seconds, and sets gauges.
func grown(t *testing.T, h host.Reader, file string, by map[string]float64, seconds float64, set map[string]int64) string {
	t.Helper()
	data, err := h.ReadFile(t.Context(), file)
	check_(t, err)
	text := string(data)
	change := func(name string, f func(was int64) int64) {
		line := regexp.MustCompile(`(?m)^(` + name + ` +4 +)(\d+)$`)
		at := line.FindStringSubmatchIndex(text)
		if at == nil {
			t.Fatalf("%s: no line of %s", file, name)
		}
		was, err := strconv.ParseInt(text[at[4]:at[5]], 10, 64)
		check_(t, err)
		text = text[:at[4]] + fmt.Sprint(f(was)) + text[at[5]:]
	}
	for name, rate := range by {
		change(name, func(was int64) int64 { return was + int64(rate*seconds) })
	}
	for name, value := range set {
		change(name, func(int64) int64 { return value })
	}
	return text
}

func status(scan string) string {
	if scan == "" {
		scan = "none requested"
	}
	return "  pool: tank\n state: ONLINE\n  scan: " + scan + "\nconfig:\n\n\tNAME  STATE  READ WRITE CKSUM\n\ttank  ONLINE  0     0     0\n\nerrors: No known data errors\n"
}

// pictureOf is what plumb makes of the recorded host.
func pictureOf(t *testing.T, h host.Reader) *stack.Stack {
	t.Helper()
	cat, err := catalog.Load(knowledge.FS)
	check_(t, err)
	p, err := captured.Picture(t.Context(), h, cat)
	check_(t, err)
	if len(p.OfKind(product.MySQL)) != 1 || len(p.OfKind("pool")) != 1 {
		t.Fatalf("%d servers, %d pools on the tape", len(p.OfKind(product.MySQL)), len(p.OfKind("pool")))
	}
	return p
}
