// Command demo shows Plumb on servers of its own. It sets up a MariaDB and a
// PostgreSQL in a temporary directory, configured as an old article would have
// them, checks them at once, gives them a little work, checks this machine again,
// tries the advice for one of them in a sandbox, applies it to those servers,
// takes it back, takes a point in time, watches them while something goes wrong,
// and takes everything away again. With root's rights and zfs-fuse
// the MariaDB lies on a ZFS pool in a file, so that findings across the layers
// show, and the rehearsal is on a volume like a small one of a cloud.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"plumb/test/sandbox"
)

// What many articles of 2012 to 2018 recommended, and what PostgreSQL users
// are told to try when commits are slow.
const (
	mariadbSettings = `log_bin
innodb_doublewrite = 0
innodb_buffer_pool_size = 64M
`
	zfsSettings = `innodb_flush_method = fsync
innodb_use_native_aio = 0
`
	postgresSettings = `full_page_writes = off
`
)

// What the PostgreSQL has: some 500 MB of data, four times the cache initdb
// gives it, in half of the memory it may take.
const (
	postgresMemory = 1 << 30
	postgresTables = 4
	postgresRows   = 520_000 // of each table
)

func main() {
	plumb := flag.String("plumb", "./plumb", "the plumb binary")
	flag.Parse()
	ctx, stop := asked()
	err := run(ctx, *plumb)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// asked makes a context that ends when the demo is asked to: by an interrupt,
// by a service manager, by a terminal that is closed. What it set up goes
// then as well. It is told again and again by some of them, and goes on
// clearing up.
func asked() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		<-signals
		cancel()
	}()
	return ctx, cancel
}

// demoBox is a sandbox and the things on it that fix may change.
type demoBox struct {
	*sandbox.Box
	ctx    context.Context
	plumb  string
	ours   string // for what plumb makes and keeps: nobody else can write there
	things []string
	pg     *sandbox.Server // nil when there is none
	maria  *sandbox.Server // on a pool; nil when there is none
	began  time.Time
	before string // the rules that fired before anything was fixed
}

// place makes a directory for the rehearsal and the journal. The box belongs to
// the servers' user, and root trusts neither to a place where others can rename.
func place(b *sandbox.Box) (string, error) {
	dir, err := os.MkdirTemp("", "plumb-demo-root-")
	if err != nil {
		return "", err
	}
	b.OnClose(func() error { return os.RemoveAll(dir) })
	return dir, os.Chmod(dir, 0o755)
}

func run(ctx context.Context, plumb string) (err error) {
	inner, err := box()
	b := &demoBox{Box: inner, ctx: ctx, plumb: plumb, began: time.Now()}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if b.ours, err = place(inner); err != nil {
		return err
	}
	steps := b.steps()
	fmt.Println("demo: it works on servers of its own in " + b.Dir + ". That takes about ten minutes:")
	for i, s := range steps {
		fmt.Printf("  %d  %-52s %s\n", i+1, s.title, s.takes)
	}
	fmt.Println("All of it goes away at the end. Ctrl-C ends it at any time, and leaves nothing.")
	for i, s := range steps {
		fmt.Printf("\ndemo: %d of %d · %s · %s · %s so far\n", i+1, len(steps), s.title, s.takes, time.Since(b.began).Round(time.Second))
		err := s.do()
		if errors.Is(err, errNone) {
			fmt.Println("demo: no server can be set up here, so this is a recorded host")
			return b.show("check", "--tape", "fixtures/mariadb-zfs-128K.tape.gz")
		}
		if err := cmp.Or(interrupted(ctx), err); err != nil {
			return err
		}
	}
	return nil
}

// step is a part of the demo, and how long a person waits for it.
type step struct {
	title, takes string
	do           func() error
}

func (b *demoBox) steps() []step {
	return []step{
		{"set up a MariaDB and a PostgreSQL", "half a minute", b.servers},
		{"check them: the first findings", "a second", func() error { return b.show("check", "--only", b.only()) }},
		{"give the PostgreSQL data and work", "1 to 2 minutes", b.work},
		{"check all of this machine, and draw it", "seconds", b.look},
		{"rehearse: what does the advice bring here?", "up to 8 minutes", func() error { return b.show(b.rehearsal()...) }},
		{"fix what concerns these servers, and check again", "seconds", b.fix},
		{"undo it, and check that all is as before", "seconds", b.undo},
		{"take a point under load, prove that it starts, clone it, bring a table back", "half a minute", b.points},
		{"watch: an incident, its verdict, its end", "three quarters of a minute", b.watch},
	}
}

// errNone says that no server can be set up.
var errNone = errors.New("no server can be set up here")

// servers sets up those that can be set up here.
func (b *demoBox) servers() error {
	started := 0
	for _, s := range []struct {
		name string
		set  func(*demoBox) error
	}{{"MariaDB", mariadb}, {"PostgreSQL", postgres}} {
		err := s.set(b)
		switch {
		case b.ctx.Err() != nil:
			return interrupted(b.ctx)
		case errors.As(err, new(sandbox.Missing)):
			fmt.Printf("demo: without %s: %v\n", s.name, err)
		case err != nil:
			return err
		default:
			started++
		}
	}
	if started == 0 {
		return errNone
	}
	return nil
}

// only names the demo's own servers: nothing else of this machine is fixed.
func (b *demoBox) only() string { return strings.Join(b.things, ",") }

// state is where the journal of the demo's changes is.
func (b *demoBox) state() string { return filepath.Join(b.ours, "journal") }

// interrupted is what ends the demo when it was asked to end, nil otherwise.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errors.New("interrupted")
}

// look shows the machine, and notes what fires before anything is fixed.
func (b *demoBox) look() (err error) {
	if b.before, err = b.findings(); err != nil {
		return err
	}
	return b.showAll([]string{"check"}, []string{"stack"})
}

func (b *demoBox) fix() error {
	return b.showAll(
		[]string{"fix", "--yes", "--skip", "cross/storage-readahead-*", "--only", b.only(), "--state", b.state()}, // the disk is the machine's
		[]string{"check", "--only", b.only()},
		[]string{"history", "1", "--state", b.state()})
}

func (b *demoBox) undo() error {
	if err := b.show("undo", "--yes", "--state", b.state()); err != nil {
		return err
	}
	last, err := b.findings()
	if err != nil {
		return err
	}
	if b.before != last {
		return fmt.Errorf("after the undo a check finds other things than before: %s, before %s", last, b.before)
	}
	fmt.Printf("\ndemo: after the undo a check finds the same as before the fix: %s\n", last)
	if text, err := os.ReadFile(b.page()); err == nil {
		if err := os.WriteFile(picture, text, 0o644); err != nil {
			return err
		}
		fmt.Println("demo: the rehearsal as a page, to open in a browser: " + picture)
	}
	return nil
}

// page is where the rehearsal writes its page. The demo keeps it when it comes
// to its end: interrupted, it leaves nothing.
func (b *demoBox) page() string { return filepath.Join(b.ours, picture) }

// picture is where the demo leaves its one file.
const picture = "demo-rehearsal.html"

// rehearsal tries the advice for one server: PostgreSQL, whose sandbox is a
// directory and so needs no root, or else MariaDB.
func (b *demoBox) rehearsal() []string {
	server := "postgres:54432"
	if !slices.Contains(b.things, server) {
		server = "mysql:33306"
	}
	args := []string{"rehearse", "--server", server, "--max-time", rehearsing, "--memory", "1G", "--data", "500M", "--threads", "8",
		"--dir", b.ours, "--ledger", filepath.Join(b.ours, "ledger"), "--html", b.page()}
	if os.Geteuid() == 0 {
		args = append(args, "--volume", "iops=500,mbps=60")
	}
	return args
}

// rehearsing is short, because a demo is looked at: a verdict that matters
// deserves the twenty minutes that are the default.
const rehearsing = "8m"

// findings lists the rules that fire on the demo's servers.
func (b *demoBox) findings() (string, error) {
	out, err := b.command("check", "--json", "--only", b.only()).Output()
	if err != nil {
		return "", fmt.Errorf("check: %w", err)
	}
	var doc struct {
		Findings []struct {
			Rule string `json:"rule"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return "", fmt.Errorf("read the check's JSON: %w", err)
	}
	var rules []string
	for _, f := range doc.Findings {
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, " "), nil
}

// box has a short name when it is free: names show in the output.
func box() (*sandbox.Box, error) {
	b, err := sandbox.At(filepath.Join(os.TempDir(), "plumb-demo"))
	if errors.Is(err, os.ErrExist) {
		return sandbox.New("")
	}
	return b, err
}

// showAll shows commands until one fails.
func (b *demoBox) showAll(commands ...[]string) error {
	for _, args := range commands {
		if err := b.show(args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *demoBox) show(args ...string) error {
	fmt.Printf("\n$ plumb")
	for _, a := range args {
		fmt.Print(" ", a)
	}
	fmt.Print("\n")
	cmd := b.command(args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	return cmp.Or(interrupted(b.ctx), err)
}

// command is a plumb that is asked to end when the demo is, and then takes
// away what it made before the demo takes away what is below.
func (b *demoBox) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, b.plumb, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

func mariadb(b *demoBox) error {
	o := sandbox.MySQLOptions{Name: "mariadb", Port: 33306, Settings: mariadbSettings}
	if dir, err := dataset(b); err != nil { // the demo is worth showing without it
		fmt.Printf("demo: without ZFS: %v\n", err)
	} else {
		o.Datadir = filepath.Join(dir, "mariadb")
		o.Settings += zfsSettings
	}
	s, err := b.MySQL(o)
	if err != nil {
		return err
	}
	b.things = append(b.things, "mysql:33306")
	if strings.HasPrefix(o.Settings, mariadbSettings+zfsSettings) {
		b.maria = s
	}
	return s.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, item VARCHAR(200))",
		"INSERT INTO shop.orders (item) SELECT REPEAT('plumb', 20) FROM mysql.seq_1_to_100000",
		"CREATE TABLE shop.prices (item INT PRIMARY KEY, cents INT)", "INSERT INTO shop.prices SELECT seq, seq * 7 FROM mysql.seq_1_to_1000")
}

// dataset makes a ZFS dataset with the record size it has when nobody sets
// one.
func dataset(b *demoBox) (string, error) {
	pool, err := b.ZFSFuse(600)
	if err != nil {
		return "", err
	}
	b.things = append(b.things, "dataset:"+pool.Name+"/db")
	return pool.Dataset("db", "logbias=throughput", "atime=off", "compression=gzip")
}

// postgres prefers an installed server and otherwise fetches one.
func postgres(b *demoBox) error {
	o := sandbox.PostgresOptions{Port: 54432, Settings: postgresSettings}
	var err error
	if o.Wrap, err = b.Cgroup(postgresMemory); err != nil { // it then sees the memory of the whole machine
		fmt.Printf("demo: without a limit of memory: %v\n", err)
	}
	s, err := b.Postgres(o)
	if errors.As(err, new(sandbox.Missing)) {
		if o.Bindir, err = sandbox.PostgresTree("18"); err != nil {
			return err
		}
		s, err = b.Postgres(o)
	}
	if err != nil {
		return err
	}
	b.things, b.pg = append(b.things, "postgres:54432"), s
	return nil
}

// work fills the PostgreSQL and lets clients read for a while: advice about
// caches asks for signs of need.
func (b *demoBox) work() error {
	s := b.pg
	if s == nil {
		fmt.Println("demo: there is no PostgreSQL")
		return nil
	}
	if err := s.Exec("CREATE DATABASE sbtest"); err != nil {
		return err
	}
	load := func(what string, more ...string) error {
		return b.show(append([]string{"load", "oltp", "oltp_read_only", what, "--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", s.Port), "--pgsql-user=" + s.User, "--pgsql-db=sbtest",
			fmt.Sprintf("--tables=%d", postgresTables), fmt.Sprintf("--table-size=%d", postgresRows)}, more...)...)
	}
	if err := load("prepare"); err != nil {
		return err
	}
	// What follows is judged, and not that the data were just loaded. WAL is counted since 14.
	if err := s.Exec("CHECKPOINT", `SELECT pg_stat_reset_shared(t) FROM (VALUES ('bgwriter'), ('wal')) AS v (t)
		WHERE t <> 'wal' OR current_setting('server_version_num')::int >= 140000`); err != nil {
		return err
	}
	return load("run", "--time=40", "--threads=8")
}
