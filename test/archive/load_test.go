package archive

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plumb/internal/load/durability"
	"plumb/test/sandbox"
)

// loadThreads is how many commits of the load can be under way at a time.
const loadThreads = 2

// loaded is plumb load at a server, with a ledger of what was acknowledged.
type loaded struct {
	s      *site
	login  []string // as the command line has it
	ledger string
	cmd    *exec.Cmd
	marks  []mark
}

// mark is a moment of which it is known what the load had committed before.
type mark struct {
	to     string // what a restore is asked for
	ledger string // all in it was acknowledged before the moment
	most   int64  // commits there can have been at the moment
}

// loginOf says on a command line how to log in to a server.
func loginOf(s *sandbox.Server, database string) []string {
	if s.Engine == "postgres" {
		return []string{"--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", cmp.Or(s.Port, 5432)), "--pgsql-user=" + s.User, "--pgsql-db=" + database}
	}
	return []string{"--mysql-socket=" + s.Socket, "--mysql-user=" + s.User, "--mysql-db=" + database}
}

// load begins a load.
func (s *site) load(server *sandbox.Server, database string) *loaded {
	s.t.Helper()
	l := &loaded{s: s, login: loginOf(server, database), ledger: filepath.Join(s.t.TempDir(), "ledger")}
	tables := []string{"--tables=1", "--table-size=1000"}
	s.plumb(0, append(append([]string{"load", "oltp", "write_only", "prepare"}, l.login...), tables...)...)
	argv := append(append([]string{"load", "oltp", "write_only", "run", "--ledger=" + l.ledger, "--time=3600", fmt.Sprintf("--rate=%d", loadRate), fmt.Sprintf("--threads=%d", loadThreads)}, l.login...), tables...)
	l.cmd = exec.Command(built.Path, argv...)
	l.cmd.Stderr = s // what it says is shown when a test waits in vain
	must(s.t, l.cmd.Start())
	s.t.Cleanup(l.end)
	s.eventually("the load commits", func() bool { return l.acknowledged() > 20 })
	return l
}

// end ends it, however its server is.
func (l *loaded) end() {
	if l.cmd != nil {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
		l.cmd = nil
	}
}

func (l *loaded) acknowledged() int64 {
	n, err := durability.Read(l.ledger)
	if err != nil { // it is just being made
		return 0
	}
	return n.Acknowledged()
}

// grown waits until all is in the ledger that was acknowledged up to now: the ledger is written in turns, and what a turn
// writes that begins later has it.
func (l *loaded) grown() int64 {
	l.s.t.Helper()
	n := l.acknowledged()
	for range 2 {
		before := n
		l.s.eventually("the ledger grows", func() bool { n = l.acknowledged(); return n > before })
	}
	return n
}

// mark keeps the ledger, and asks for a place behind all that is in it.
func (l *loaded) mark(place func() string) {
	t := l.s.t
	t.Helper()
	m := mark{ledger: fmt.Sprintf("%s.%d", l.ledger, len(l.marks))}
	l.grown()
	text, err := os.ReadFile(l.ledger)
	must(t, err)
	must(t, os.WriteFile(m.ledger, text, 0o600))
	m.to = place()
	m.most = l.grown() + loadThreads
	l.marks = append(l.marks, m)
}

// verified types plumb load verify against a restored server: all is there that was acknowledged before the moment, and nothing
// that was committed behind it.
func (m mark) verified(t *testing.T, s *sandbox.Server, database string) {
	t.Helper()
	out, errs := built.Run(t, 0, append([]string{"load", "verify", "--json", "--ledger", m.ledger}, loginOf(s, database)...)...)
	var v struct{ Acknowledged, Found, Lost, Extra int64 }
	built.Document(t, "load-verify", out, &v)
	t.Logf("at %s: of %d acknowledged commits %d are lost; %d are there besides", m.to, v.Acknowledged, v.Lost, v.Extra)
	if v.Lost > 0 || v.Acknowledged == 0 || v.Found+v.Extra > m.most {
		t.Errorf("at %s there can be %d commits: %s%s", m.to, m.most, out, errs)
	}
}

// markedFor takes as many marks as a test wants, some commits of its writers apart.
func (l *loaded) markedFor(book *ledger, place func() string) {
	l.s.t.Helper()
	for range momentsWanted()/3 + 1 {
		more := book.count() + 20 + rand.IntN(60)
		l.s.eventually("more was committed", func() bool { return book.count() > more })
		l.mark(place)
	}
}

// moment is what a server is restored to, and what is known of it.
type moment struct {
	to   string
	mark *mark
}

// moments are the marks, and so many random ones that there are as many as are wanted.
func (l *loaded) moments(random func() string) (all []moment) {
	for i := range l.marks {
		all = append(all, moment{l.marks[i].to, &l.marks[i]})
	}
	for len(all) < momentsWanted() {
		all = append(all, moment{to: random()})
	}
	return all
}
