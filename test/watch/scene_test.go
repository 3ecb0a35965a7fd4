// Package watch has incidents planted under real servers, and healthy twins of
// them. They take minutes: PLUMB_REAL=1.
package watch

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/mysql"
	mysqlsampler "plumb/internal/engine/mysql/sampler"
	"plumb/internal/engine/postgres"
	postgressampler "plumb/internal/engine/postgres/sampler"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	storagesampler "plumb/internal/storage/sampler"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	systemsampler "plumb/internal/system/sampler"
	"plumb/internal/watch"
	"plumb/internal/watch/sampler"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
	"plumb/test/sandbox"
	"plumb/test/watch/counted"
)

// scene is a server on a filesystem of its own, watched.
type scene struct {
	t      *testing.T
	box    *sandbox.Box
	server *sandbox.Server
	db     *sql.DB
	dir    string            // of the filesystem
	bindir string            // of a server that is not the installed one
	below  string            // of the filesystem in which its disk is a file; "" where nobody needs it
	device string            // the loop device: loop3
	disk   *sandbox.SlowDisk // that device, where the scene is on a slow disk
	ref    stack.Ref
	kind   kind

	judge   *watch.Judge
	mu      sync.Mutex
	first   string // the first verdict that was ever first
	last    string // the one that is first now
	when    time.Time
	all     map[string]time.Time // when each was raised first
	besides []string             // what is true besides what is planted

	answered atomic.Int64 // statements of clients since the scene is looked at
}

// kind is what is asked of a kind of server.
type kind struct {
	name   string
	dialer host.Dialer
	probe  func(*catalog.Catalog) observe.Probe
	finder sample.Finder
}

var (
	ofMySQL    = kind{product.MySQL, mysql.Dialer{}, func(cat *catalog.Catalog) observe.Probe { return mysql.NewProbe(cat, nil) }, mysqlsampler.New(nil)}
	ofPostgres = kind{product.Postgres, postgres.Dialer{}, func(cat *catalog.Catalog) observe.Probe { return postgres.NewProbe(cat, nil) }, postgressampler.New(nil)}
)

// idle is raised beside others and never first.
const idle = counted.Idle

// place makes the filesystem of a scene.
func place(t *testing.T, of kind) *scene {
	t.Helper()
	s := bare(t, of)
	s.on("data")
	return s
}

// slow makes the filesystem of a scene on a disk that is as fast as the test says later.
func slow(t *testing.T, of kind) *scene {
	t.Helper()
	s := bare(t, of)
	s.disk = s.slowDisk("disk")
	s.device = filepath.Base(s.disk.Device)
	s.dir = s.filesystem(s.disk, "data")
	return s
}

// slowDisk makes a disk. It is fast again before anything on it is taken away.
func (s *scene) slowDisk(name string) *sandbox.SlowDisk {
	s.t.Helper()
	d, err := s.box.SlowDisk(name, 1500)
	sandbox.Need(s.t, err)
	s.t.Cleanup(func() { d.Become(sandbox.Speed{}) })
	return d
}

func (s *scene) filesystem(d *sandbox.SlowDisk, name string) string {
	s.t.Helper()
	dir, err := s.box.FilesystemOn(d.Device, name, "ext4", nil, "")
	sandbox.Need(s.t, err)
	return dir
}

// bare makes a scene without a filesystem.
func bare(t *testing.T, of kind) *scene {
	t.Helper()
	sandbox.NeedTime(t, "an incident takes two minutes: make test-real")
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scene{t: t, box: box, kind: of, all: map[string]time.Time{}}
}

// deep makes the filesystem of a scene on a disk that is a file of another one:
// what is done to that one, the disk suffers without knowing why.
func deep(t *testing.T, of kind) *scene {
	t.Helper()
	s := place(t, of)
	var err error
	s.below, err = s.box.Filesystem("below", "ext4", 2500, nil, "")
	sandbox.Need(t, err)
	s.on("below/data")
	return s
}

func (s *scene) on(name string) {
	s.t.Helper()
	var err error
	s.dir, err = s.box.Filesystem(name, "ext4", 1500, nil, "")
	sandbox.Need(s.t, err)
	var at unix.Stat_t
	check_(s.t, unix.Stat(s.dir, &at))
	s.device = fmt.Sprintf("loop%d", unix.Minor(at.Dev))
}

// mariadb makes a scene with a table of some 100 MB.
func mariadb(t *testing.T, settings string, wrap []string) *scene {
	t.Helper()
	return place(t, ofMySQL).mariadb(settings, wrap)
}

func (s *scene) mariadb(settings string, wrap []string) *scene {
	t, box := s.t, s.box
	t.Helper()
	var err error
	if wrap != nil { // it starts as root, to enter its group, and steps down itself
		uid, _ := box.User()
		if who, err := user.LookupId(strconv.Itoa(uid)); err == nil {
			settings += "user=" + who.Username + "\n"
		}
	}
	s.server, err = box.MySQL(sandbox.MySQLOptions{Datadir: filepath.Join(s.dir, "mysql"), Wrap: wrap,
		Settings: "performance_schema=ON\nperformance_schema_instrument='wait/%=ON'\nperformance_schema_consumer_events_waits_current=ON\ninnodb_flush_method=O_DIRECT\n" + settings})
	sandbox.Need(t, err)
	s.db, err = s.server.Open()
	check_(t, err)
	s.db.SetMaxIdleConns(64)
	t.Cleanup(func() { s.db.Close() })
	s.exec("CREATE DATABASE w", "CREATE TABLE w.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, pad VARCHAR(400)) ENGINE=InnoDB",
		"INSERT INTO w.t (n,pad) SELECT seq, REPEAT(MD5(seq),12) FROM w.seq_1_to_200000")
	return s
}

func check_(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scene) exec(statements ...string) {
	s.t.Helper()
	for _, q := range statements {
		if _, err := s.db.Exec(q); err != nil {
			s.t.Fatalf("%.80s: %v", q, err)
		}
	}
}

// Picture, Batch and Moment make a scene keep what was said first.
func (s *scene) Picture(at time.Time, p *stack.Stack) { s.judge.Picture(at, p) }

func (s *scene) Batch(b series.Batch) {
	before := s.judge.Known()
	s.judge.Batch(b)
	if s.judge.Known().Equal(before) {
		return
	}
	m := s.judge.Moment(s.judge.Known())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = ""
	for _, v := range m.Verdicts {
		if v.Server != s.ref {
			continue
		}
		// The machine under the tests is shared: that others use its disk is true.
		if s.first == "" && v.ID != idle && v.ID != "intruder/others" {
			s.first, s.when = v.ID, m.At
		}
		if s.last == "" {
			s.last = v.ID
		}
		if s.all[v.ID].IsZero() {
			s.all[v.ID] = m.At
		}
	}
}

// alone leaves one server in a picture: the others of this machine are not
// asked, because they are of other tests.
func alone(p *stack.Stack, server stack.Ref, pid string) {
	p.Things = slices.DeleteFunc(p.Things, func(t *stack.Thing) bool {
		return product.IsServer(t.Ref.Kind) && t.Ref != server || t.Ref.Kind == "process" && t.Ref.Name != pid
	})
	p.Roles = slices.DeleteFunc(p.Roles, func(r stack.Role) bool { return r.DB != server })
}

// watch begins to watch, with the sources of the product.
func (s *scene) watch() {
	s.t.Helper()
	cat, err := catalog.Load(knowledge.FS)
	check_(s.t, err)
	windows, err := catalog.Windows(knowledge.FS)
	check_(s.t, err)
	limits, err := verdict.Load(knowledge.FS, windows)
	check_(s.t, err)
	s.judge = watch.NewJudge(windows, limits)
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{s.kind.name: s.kind.dialer}})
	ctx, cancel := context.WithCancel(context.Background())
	look := func(ctx context.Context) (*stack.Stack, error) {
		return check.Observe(ctx, host.NewCached(live), cat, [][]observe.Probe{
			{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfs.NewProbe(cat)}, {s.kind.probe(cat)}}, 30*time.Second)
	}
	p, err := look(ctx)
	check_(s.t, err)
	pid := ""
	for _, d := range p.OfKind(s.kind.name) {
		if d.Text("data_path") == s.server.Dir || d.Text("data_path") == s.server.Dir+"/" {
			s.ref = d.Ref
			pid = d.Links["process"][0].Name
		}
	}
	if s.ref == (stack.Ref{}) {
		s.t.Fatalf("the server of %s is not in the picture", s.server.Dir)
	}
	alone(p, s.ref, pid)
	done := make(chan error, 1)
	go func() {
		done <- sampler.Run(ctx, sampler.Options{Host: live, Finders: []sample.Finder{systemsampler.Finder{}, storagesampler.Finder{}, s.kind.finder},
			Look: func(context.Context) (*stack.Stack, error) { return p, nil }}, s)
	}()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
		live.Close()
	})
}

// load runs n clients, each asking again when it was answered, until the
// function it gives is called.
func (s *scene) load(n int, work func(ctx context.Context, c *sql.Conn, r *rand.Rand) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				c, err := s.db.Conn(ctx)
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				for ctx.Err() == nil {
					err := work(ctx, c, r)
					if err == nil {
						s.answered.Add(1)
					} else if ctx.Err() == nil {
						break
					}
				}
				c.Close()
			}
		})
	}
	stopped := sync.OnceFunc(func() { cancel(); all.Wait() })
	s.t.Cleanup(stopped)
	return stopped
}

func readRow(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
	var pad string
	return c.QueryRowContext(ctx, fmt.Sprintf("SELECT pad FROM w.t WHERE id=%d", 1+r.IntN(190000))).Scan(&pad)
}

func updateRow(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("UPDATE w.t SET n=n+1 WHERE id=%d", 1+r.IntN(190000)))
	return err
}

// updateRows writes more of a page than one row.
func updateRows(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("UPDATE w.t SET pad=REVERSE(pad), n=n+1 WHERE id BETWEEN %d AND %[1]d+20", 1+r.IntN(190000)))
	return err
}

// calm teaches what the disk does unloaded, by one slow reader.
func (s *scene) calm(d time.Duration) {
	s.t.Helper()
	stop := s.load(1, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		time.Sleep(2 * time.Millisecond)
		return readRow(ctx, c, r)
	})
	time.Sleep(d)
	stop()
	for _, b := range s.judge.Baselines() {
		s.t.Logf("learned: %s %s, class %d", b.Device, b.Op, b.Class)
	}
}

// wait waits until something was said, or for so long.
func (s *scene) wait(d time.Duration, said func() bool) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		s.mu.Lock()
		is := said()
		s.mu.Unlock()
		if is {
			return
		}
	}
}

// incident waits, and compares the first verdict that was raised. want "" wants
// none.
func (s *scene) incident(want string, d time.Duration) {
	s.t.Helper()
	s.mu.Lock()
	s.first, s.all = "", map[string]time.Time{}
	s.mu.Unlock()
	s.answered.Store(0)
	began, excuse := time.Now(), s.processors()
	s.wait(d, func() bool { return s.first != "" })
	m := s.judge.Moment(s.judge.Known())
	why := excuse()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.all))
	took := "never"
	if s.first != "" {
		took = s.when.Sub(began).Round(100 * time.Millisecond).String()
	}
	if want == idle && s.first == "" && !s.all[idle].IsZero() { // it is first only where nothing else is
		s.first, took = idle, "some time"
	}
	verdict := "RIGHT"
	if s.first != want && why != "" {
		s.t.Skipf("the first verdict is %q, want %q, and %s", s.first, want, why)
	}
	if s.first != want {
		verdict = "WRONG"
		s.t.Errorf("the first verdict is %q, want %q", s.first, want)
	}
	s.t.Logf("RUN %s %s: want %q, first %q after %s, all %q", verdict, s.t.Name(), want, s.first, took, all)
	s.count(counted.Run{Wanted: want, Said: s.first, First: s.first, All: all, Right: s.first == want}, s.when.Sub(began))
	s.show(m)
	if want == "" {
		s.heard(m)
	}
}

// raised waits, and tells whether a verdict was raised, first or not: one that is
// the effect of another, or has a rival that says the same, may come behind it.
func (s *scene) raised(id string, want bool, d time.Duration) {
	s.t.Helper()
	s.mu.Lock()
	s.first, s.all = "", map[string]time.Time{}
	s.mu.Unlock()
	s.answered.Store(0)
	began, excuse := time.Now(), s.processors()
	s.wait(d, func() bool { _, is := s.all[id]; return is })
	m := s.judge.Moment(s.judge.Known())
	s.mu.Lock()
	at, got := s.all[id]
	first, all := s.first, slices.Sorted(maps.Keys(s.all))
	s.mu.Unlock()
	if why := excuse(); got != want && why != "" {
		s.t.Skipf("%s was raised: %v, want %v, and %s", id, got, want, why)
	}
	verdict, took := "RIGHT", "never"
	if got != want {
		verdict = "WRONG"
		s.t.Errorf("%s was raised: %v, want %v", id, got, want)
	}
	if got {
		took = at.Sub(began).Round(100 * time.Millisecond).String()
	}
	s.t.Logf("RUN %s %s: %s raised %v, want %v, after %s, first %q, all %q", verdict, s.t.Name(), id, got, want, took, first, all)
	r := counted.Run{First: first, Said: first, All: all, Right: got == want}
	if want {
		r.Wanted = id
	}
	if got {
		r.Said = id
	}
	s.count(r, at.Sub(began))
	s.show(m)
	if !want {
		s.heard(m)
	}
}

// heard wants of a scene of which nothing was said that something could have been: its clients were answered, and it was judged until
// now. Otherwise one in which nothing runs would be the healthiest.
func (s *scene) heard(m watch.Moment) {
	s.t.Helper()
	if s.answered.Load() == 0 {
		s.t.Error("no client was answered meanwhile")
	}
	if late := time.Since(m.At); late > looked/2 {
		s.t.Errorf("it was judged last %s ago", late.Round(time.Second))
	}
	if !slices.ContainsFunc(m.Servers, func(v watch.Server) bool { return v.Ref == s.ref && v.Up && v.Active != nil }) {
		s.t.Errorf("what its sessions do is not known: %+v", m.Servers)
	}
}

// leads wants a verdict to be the one that stands at the top, once those are cleared that stood there before it.
func (s *scene) leads(id string) {
	s.t.Helper()
	s.wait(looked/2, func() bool { return s.last == id })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != id {
		s.t.Errorf("at the top stands %q, want %q", s.last, id)
	}
}

// also says what is true of a scene besides what is planted in it, so that it is no false verdict of the twin.
func (s *scene) also(ids ...string) { s.besides = ids }

// show logs what was known of the server.
func (s *scene) show(m watch.Moment) {
	for _, v := range m.Servers {
		if v.Ref != s.ref {
			continue
		}
		active := -1.0
		if v.Active != nil {
			active = *v.Active
		}
		s.t.Logf("active %.1f, classes %+v", active, v.Classes)
		for _, r := range v.Ruled {
			s.t.Logf("ruled out %s: %s", r.ID, r.Why)
		}
		for _, u := range v.Unknown {
			s.t.Logf("unknown %s: %+v", u.ID, u.Missing)
		}
	}
	for _, v := range m.Verdicts {
		if v.Server == s.ref {
			s.t.Logf("%s: %s %s %+v", v.ID, v.Title, v.Say, v.Share)
		}
	}
	for _, n := range m.Tree {
		if n.Of.Name == s.device {
			s.t.Logf("%s %+v", n.Label, n.Values)
		}
	}
}
