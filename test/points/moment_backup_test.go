package points

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// archived is a server on a pool, with its log on a dataset of its own, that archives beside the backups of its points.
type archived struct {
	t     *testing.T
	b     *bench
	v     verbs
	plumb program.Program
	dir   string // where root keeps what belongs to the test
	to    []string
	from  []string
	user  string
	db    *sql.DB
	mu    sync.Mutex
	book  []written
	n     int // restores
	other *sandbox.Pool
}

// written is a commit that was acknowledged.
type written struct {
	what          string
	began, at     time.Time
	before, after uint64 // where the log was
	moment        string // just before it, as a person names it; of a binary log
}

// newSite makes what its backups and its log are kept in.
func newSite(t *testing.T) *archived {
	t.Helper()
	sandbox.NeedLong(t, "starts servers on filesystems of their own: run without -short")
	a := &archived{t: t, dir: sandbox.Directory(t, "moment")}
	a.v = verbs{t, filepath.Join(a.dir, "state")}
	var err error
	a.plumb, err = program.Build(a.dir)
	must(t, err)
	store := filepath.Join(a.dir, "store")
	must(t, os.Mkdir(store, 0o700))
	key, err := age.GenerateX25519Identity()
	must(t, err)
	keys := filepath.Join(a.dir, "key.txt")
	must(t, os.WriteFile(keys, []byte(key.String()+"\n"), 0o600))
	a.to = []string{"--to", "file://" + store, "--recipient", key.Recipient().String()}
	a.from = []string{"--from", "file://" + store, "--identity", keys}
	return a
}

// runsAs notes as whom the servers of a box run.
func (a *archived) runsAs(b *sandbox.Box) {
	a.t.Helper()
	uid, _ := b.User()
	u, err := user.LookupId(strconv.Itoa(uid))
	must(a.t, err)
	a.user = u.Username
}

// newArchived has a PostgreSQL, with a tablespace on a dataset of its own too.
func newArchived(t *testing.T) *archived {
	t.Helper()
	a := newSite(t)
	socket := filepath.Join(a.dir, "socket/s")
	of := families[1]
	of.start = func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
		a.runsAs(b)
		a.serve(append([]string{"archive", "run", "--state", a.v.state, "--socket", socket, "--wal-user", a.user, "--timeout", "20s"}, a.to...))
		return b.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t), Datadir: data, WALdir: log + "/wal",
			Settings: fmt.Sprintf("archive_mode = on\narchive_command = '%s archive push --socket %s %%p'\nwal_level = replica\nshared_buffers = 32MB\nautovacuum = off\n", a.plumb.Path, socket)})
	}
	a.b = on(t, grounds[0], of, 1024)
	space, err := a.b.pool.Dataset("db/space")
	must(t, err)
	at, err := a.b.box.Mkdir(space + "/apart")
	must(t, err)
	must(t, a.b.server.Exec("CREATE TABLESPACE apart LOCATION '"+at+"'", "CREATE TABLE ledger (what TEXT, pad TEXT) TABLESPACE apart", "CHECKPOINT"))
	a.db, err = a.b.server.Open()
	must(t, err)
	t.Cleanup(func() { _ = a.db.Close() })
	a.other, err = a.b.box.ZFSFuse(1024)
	must(t, err)
	return a
}

// serve runs the service.
func (a *archived) serve(args []string) {
	said := filepath.Join(a.dir, "service.log")
	log, err := os.Create(said)
	must(a.t, err)
	defer log.Close()
	c := exec.Command(a.plumb.Path, args...)
	c.Stderr = log
	must(a.t, c.Start())
	a.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	a.eventually("the service runs", func() bool {
		text, err := os.ReadFile(said)
		return err == nil && strings.Contains(string(text), "archiving to")
	})
}

func (a *archived) eventually(what string, is func() bool) {
	a.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// document reads what a command printed as JSON, among what it said besides.
func document(t *testing.T, out string, into any) {
	t.Helper()
	from, to := strings.Index(out, "{"), strings.LastIndex(out, "}")
	must(t, json.Unmarshal([]byte(out[max(0, from):max(0, to+1)]), into))
}

func place(text string) (at uint64) {
	var high, low uint64
	_, _ = fmt.Sscanf(text, "%X/%X", &high, &low)
	return high<<32 | low
}

func (a *archived) ask(query string) (text string) {
	a.t.Helper()
	must(a.t, a.db.QueryRow(query).Scan(&text))
	return text
}

// write commits until the context ends, or the server does.
func (a *archived) write(ctx context.Context, who int) {
	for n := 1; ctx.Err() == nil; n++ {
		w := written{what: fmt.Sprintf("%d-%d", who, n)}
		var before, after string
		err := a.db.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()").Scan(&before)
		w.began = time.Now()
		if err == nil {
			_, err = a.db.ExecContext(ctx, "INSERT INTO ledger SELECT $1, string_agg(md5(random()::text), '') FROM generate_series(1, 60)", w.what)
		}
		w.at = time.Now()
		if err == nil {
			err = a.db.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()").Scan(&after)
		}
		if err != nil {
			return
		}
		w.before, w.after = place(before), place(after)
		a.mu.Lock()
		a.book = append(a.book, w)
		a.mu.Unlock()
	}
}

func (a *archived) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.book)
}

// more waits until so many more commits were acknowledged.
func (a *archived) more(n int) {
	a.t.Helper()
	n += a.count()
	a.eventually("more was committed", func() bool { return a.count() > n })
}

// point takes a point and backs it up, and gives the backup's ID.
func (a *archived) point(how ...string) string {
	a.t.Helper()
	point := pointID.FindString(a.v.typed(0, append([]string{"snapshot", a.b.db(a.t, a.b.look(a.t)).String()}, how...)...))
	a.v.typed(0, append([]string{"backup", point, "--points", filepath.Join(a.v.state, "points")}, a.to...)...)
	var doc struct{ Backups []struct{ ID string } }
	document(a.t, a.v.typed(0, append([]string{"backup", "list", "--json"}, a.from[:2]...)...), &doc)
	return doc.Backups[len(doc.Backups)-1].ID
}

// kept waits until all that was written up to now is in the archive.
func (a *archived) kept() {
	a.t.Helper()
	name := a.ask("SELECT pg_walfile_name(pg_switch_wal())")
	a.eventually("the archive has "+name, func() bool {
		files, _ := filepath.Glob(a.dir + "/store/archive/postgres-*/wal/" + name + "/*/entry")
		return len(files) == 1
	})
}

// into makes a dataset to restore below, which is mounted where nobody else can change the path to it.
func (a *archived) into() (dataset, at string) {
	a.t.Helper()
	a.n++
	dataset, at = fmt.Sprintf("%s/r%d", a.other.Name, a.n), fmt.Sprintf("%s/r%d", a.dir, a.n)
	shell(a.t, "zfs create -o canmount=off -o mountpoint="+at+" "+dataset)
	return dataset, at
}

func (a *archived) typing(dataset, to string, more ...string) []string {
	return append(append([]string{"restore", "--into", dataset, "--user", a.user, "--to", to}, a.from...), more...)
}

// restored brings the newest backup, or the one that is named, to a moment, has a look at the server that starts there, and takes it all away.
func (a *archived) restored(to string, more ...string) (there map[string]bool) {
	a.t.Helper()
	dataset, _ := a.into()
	out := a.v.typed(0, a.typing(dataset, to, append(more, "--json")...)...)
	says(a.t, out, "zfs set recordsize=16384 "+dataset+"/data", "zfs set canmount=on "+dataset+"/data; zfs set canmount=on "+dataset+"/log")
	var doc struct{ Directory string }
	document(a.t, out, &doc)
	return a.looked(dataset, doc.Directory, to)
}

// looked starts the server that was restored, and gives what is in its ledger.
func (a *archived) looked(dataset, data, to string) (there map[string]bool) {
	t := a.t
	t.Helper()
	s, err := a.b.box.Postgres(sandbox.PostgresOptions{Datadir: data, Port: a.b.server.Port})
	must(t, err)
	recovers := ""
	a.eventually("the restored server opens its timeline", func() bool {
		recovers = cell(t, s, "SELECT pg_is_in_recovery()")
		return recovers == "false"
	})
	there = map[string]bool{}
	for what := range strings.FieldsSeq(cell(t, s, "SELECT coalesce(string_agg(what, ' '), '') FROM ledger")) {
		there[what] = true
	}
	if mode := cell(t, s, "SELECT current_setting('archive_mode') || ' ' || current_setting('listen_addresses')"); strings.TrimSpace(mode) != "off" {
		t.Errorf("at %s: the copy would archive, or listen: %s", to, mode)
	}
	if on := cell(t, s, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); on == "00000001" {
		t.Errorf("at %s it is on the timeline of the server that was backed up", to)
	}
	for _, link := range []string{"pg_wal", "pg_tblspc/*"} {
		to := strings.TrimSpace(shell(t, "readlink -e "+data+"/"+link))
		if !strings.HasPrefix(to, a.dir+"/r") {
			t.Errorf("%s leads to %s", link, to)
		}
	}
	must(t, s.Stop())
	a.away(dataset)
	return there
}

// away takes away what was restored. zfs-fuse calls it busy for a while.
func (a *archived) away(dataset string) {
	a.t.Helper()
	a.eventually(dataset+" goes", func() bool { return exec.Command("zfs", "destroy", "-r", dataset).Run() == nil })
}

// agrees compares it with the ledger.
func (a *archived) agrees(to string, there map[string]bool, side func(w written) (before, behind bool)) {
	a.t.Helper()
	wrong := 0
	for _, w := range a.book {
		before, behind := side(w)
		if is := there[w.what]; before && !is || behind && is {
			wrong++
			a.t.Logf("at %s, that the commit %+v is there is %t", to, w, is)
		}
	}
	if wrong > 0 || len(there) == 0 {
		a.t.Errorf("at %s %d of %d commits are wrong, and %d rows are there", to, wrong, len(a.book), len(there))
	}
}

func (a *archived) atPlace(to string, more ...string) {
	a.t.Helper()
	a.agrees(to, a.restored(to, more...), func(w written) (before, behind bool) { return w.after <= place(to), w.before >= place(to) })
}

// TestPointAtItsMoment has nothing but a commit come between a point and the moment: PostgreSQL would take a target in the log that the snapshots
// have for one at which the files are not whole.
func TestPointAtItsMoment(t *testing.T) {
	a := newArchived(t)
	must(t, a.b.server.Exec("INSERT INTO ledger VALUES ('before')"))
	open, err := a.db.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = open.Exec("INSERT INTO ledger VALUES ('behind')")
	must(t, err)
	must(t, a.b.server.Exec("CHECKPOINT"))
	a.point()
	to := a.ask("SELECT pg_current_wal_insert_lsn()")
	must(t, open.Commit())
	must(t, a.b.server.Exec("INSERT INTO ledger VALUES ('later')"))
	a.kept()
	must(t, a.b.server.Stop())
	if there := a.restored(to); !there["before"] || there["behind"] || there["later"] {
		t.Errorf("at %s there is %v", to, there)
	}
	if there := a.killed(); !there["before"] || !there["behind"] || !there["later"] {
		t.Errorf("at the end there is %v", there)
	}
}

// TestPointsToMoments backs up points of a server under load, loses the server with its pool, and brings what was backed up to moments that the
// writers know all about: data, WAL and a tablespace come from datasets of their own, and the second backup holds only what changed.
func TestPointsToMoments(t *testing.T) {
	sandbox.NeedTime(t, "six servers are restored: make test-real")
	a := newArchived(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() { a.write(ctx, w) })
	}
	a.more(100)
	first := a.point()
	a.more(100)
	between := a.ask("SELECT pg_current_wal_insert_lsn()")
	a.more(100)
	early := a.ask("SELECT pg_current_wal_insert_lsn()")
	second := a.point()
	a.more(50)
	from := a.count()
	a.more(100)
	a.kept()
	at := time.Now().Truncate(time.Second).Add(time.Second)
	a.eventually("a second has gone by", func() bool { return time.Since(at) > time.Second })
	a.more(100)
	a.kept()
	a.more(rand.IntN(200))
	must(t, syscall.Kill(a.b.server.PID, syscall.SIGKILL))
	end()
	writers.Wait()
	_ = a.db.Close()
	a.lose()

	a.refused(first, second, early, between)
	for range count(t, "PLUMB_MOMENTS", 10, 1) {
		one := a.book[from+rand.IntN(90)]
		a.atPlace(fmt.Sprintf("%X/%X", one.after>>32, uint32(one.after)))
	}
	a.atPlace(between, first)
	when := at.UTC().Format("2006-01-02 15:04:05 MST")
	a.agrees(when, a.restored(when), func(w written) (before, behind bool) { return w.at.Before(at), w.began.After(at) })
	a.agrees("latest", a.restored("latest"), func(w written) (before, behind bool) { return w.at.Before(at), false })
	a.agrees("base", a.restored("base"), func(w written) (before, behind bool) { return w.after <= place(early), false })
}

// lose loses the server and its pool. What the server had started is in its directory, and would keep the pool busy for as long as it waits.
func (a *archived) lose() {
	a.t.Helper()
	a.eventually("the server is gone", func() bool {
		gone := true
		all, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, link := range all {
			if at, err := os.Readlink(link); err == nil && at == a.b.server.Dir {
				pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
				_ = syscall.Kill(pid, syscall.SIGKILL) // unless it has ended
				gone = false
			}
		}
		return gone
	})
	a.eventually("the pool goes", func() bool {
		err := a.b.pool.Lose()
		if err != nil {
			a.t.Log(err)
		}
		return err == nil
	})
}

// refused are moments to which no way leads from a point: nothing is made for them, but where the snapshot alone tells it.
func (a *archived) refused(first, second, early, between string) {
	t := a.t
	t.Helper()
	dataset, at := a.into()
	nothing := func(code int, to, want string, more ...string) {
		t.Helper()
		says(t, a.v.typed(code, a.typing(dataset, to, more...)...), want)
		if left := shell(t, "zfs list -H -r -o name "+dataset); strings.TrimSpace(left) != dataset {
			t.Errorf("at %s there is\n%s", to, left)
		}
	}
	nothing(3, between, between+" is before the point, at ")
	nothing(3, between, "the earliest moment that can be reached from the backups here is")
	nothing(3, "0/10", "is before the point, at ", first)
	nothing(0, between, "would be brought to", first, "--dry-run")
	nothing(3, "FF/10", "the archive ends before")
	nothing(2, "0-1-2", "PostgreSQL has no GTIDs")
	nothing(0, "latest", "would be brought to", "--dry-run")
	nothing(2, "latest", "--start and --to cannot be combined", "--start", "x")
	for _, w := range a.book { // the first commit behind the second point: of one in its snapshots nobody but they know that it is too early
		if w.after > place(early) {
			nothing(3, w.at.Add(-24*time.Hour).UTC().Format("2006-01-02 15:04:05 MST"), "is before the point, at ")
			break
		}
	}
	says(t, a.v.typed(3, append([]string{"restore", second, "--dir", a.dir + "/no", "--user", a.user, "--to", "latest"}, a.from...)...), "is of a point, and no base backup", "--into DATASET")
	if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", at, err)
	}
	a.away(dataset)
}

// killed kills a restore while it gives the server its log, which is fetched slowly.
func (a *archived) killed() (there map[string]bool) {
	a.t.Helper()
	dataset, data := a.interrupted(a.b.server.Dir+"/plumb.wal/0*", "plumb.wal/mark", "--limit-rate", "100K")
	return a.looked(dataset, data, "latest, the third time")
}

// interrupted kills a restore as soon as there is a sign below the directory of what is restored, and leaves a mark in the server's data. The
// next one takes back what was changed, and goes on; one that has ended is not begun again.
func (a *archived) interrupted(sign, mark string, slow ...string) (dataset, data string) {
	t := a.t
	t.Helper()
	dataset, at := a.into()
	a.v.typed(0, append([]string{"restore", "--into", dataset}, a.from...)...) // so that it is killed amid the log
	args := append(a.typing(dataset, "latest", slow...), "--state", a.v.state)
	c := exec.Command(a.plumb.Path, args...)
	must(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	a.eventually("it replays", func() bool {
		found, _ := filepath.Glob(filepath.Join(at, "*", sign))
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		default:
		}
		if len(found) > 0 {
			dirs, _ := filepath.Glob(filepath.Join(at, "*", a.b.server.Dir))
			data = strings.Join(dirs, " ") // one
		}
		return len(found) > 0
	})
	must(t, c.Process.Kill())
	<-ended
	must(t, os.WriteFile(filepath.Join(data, mark), nil, 0o600))
	var out []byte
	a.eventually("what the killed one had started has ended, and the next one goes on", func() bool {
		var err error
		out, err = exec.Command(a.plumb.Path, append(a.typing(dataset, "latest", "--json"), "--state", a.v.state)...).CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", err, out)
		}
		return err == nil
	})
	var doc struct{ Directory string }
	document(t, string(out), &doc)
	if _, err := os.Stat(filepath.Join(data, mark)); data != doc.Directory || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the killed one had written to %s was not taken back in %s: %v", data, doc.Directory, err)
	}
	says(t, a.v.typed(3, a.typing(dataset, "latest")...), "and was brought to a moment")
	says(t, a.v.typed(3, append([]string{"restore", "--into", dataset}, a.from...)...), "and was brought to a moment")
	shell(t, "zfs list -H -r -o name "+dataset+" | tail -n +2 | xargs -n 1 zfs set org.plumb:moment=replaying") // as a person is told to
	document(t, a.v.typed(0, a.typing(dataset, "latest", "--json")...), &doc)
	return dataset, doc.Directory
}
