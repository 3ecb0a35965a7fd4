package real

import (
	"os"
	"slices"
	"sync"
	"testing"

	"plumb/internal/rule"
	"plumb/test/sandbox"
)

// pair is one thing plumb must find on a live server: the rule fires on the
// sick one and is quiet, not unknown, on its healthy twin.
type pair struct {
	name  string
	rule  string
	too   string // another rule that says the same of them
	long  string // why it needs make test-real; "" when it does not
	start func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server
}

// TestMustFind goes through the pairs on ZFS, of which one at a time has the zfs-fuse, beside the others, and through those that
// write much beside both. With PLUMB_MET it goes through all in turn: what is kept of a host must not show the servers of two pairs.
func TestMustFind(t *testing.T) {
	strands := [][]pair{onZFS(), slices.Concat(onOtherFilesystems(), onMongo(), inMongoSets(), runsOut()), inTheServer()}
	if os.Getenv("PLUMB_MET") != "" {
		strands = [][]pair{slices.Concat(strands...)}
	}
	var all sync.WaitGroup
	for _, strand := range strands {
		all.Go(func() {
			for _, p := range strand {
				t.Run(p.name, p.both)
			}
		})
	}
	all.Wait()
}

func (p pair) both(t *testing.T) {
	if p.long != "" {
		sandbox.NeedTime(t, p.long+": make test-real runs it")
	}
	t.Run("sick", func(t *testing.T) { p.run(t, true, rule.Fires) })
	t.Run("healthy", func(t *testing.T) { p.run(t, false, rule.Quiet) })
}

func (p pair) run(t *testing.T, sick bool, outcome rule.Outcome) {
	b := box(t)
	srv := p.start(t, b, sick)
	s := look(t)
	for _, id := range []string{p.rule, p.too} {
		if id != "" {
			want(t, s, id, refOf(t, s, srv), outcome)
		}
	}
}

// choose gives one of two settings.
func choose[T any](sick bool, ill, well T) T {
	if sick {
		return ill
	}
	return well
}

// mysqlOn starts MariaDB in a directory with settings.
func mysqlOn(t *testing.T, b *sandbox.Box, dir, settings string) *sandbox.Server {
	t.Helper()
	s, err := b.MySQL(sandbox.MySQLOptions{Datadir: dir, Port: freePort(t), Settings: "innodb_log_file_size=16M\n" + settings})
	check(t, err)
	return s
}

// postgresOn starts PostgreSQL in a directory with settings.
func postgresOn(t *testing.T, b *sandbox.Box, dir, settings string) *sandbox.Server {
	t.Helper()
	s, err := b.Postgres(sandbox.PostgresOptions{Datadir: dir, Port: freePort(t), Settings: settings})
	check(t, err)
	return s
}

// volume makes a filesystem and gives a data directory on it.
func volume(t *testing.T, b *sandbox.Box, fstype string) string {
	t.Helper()
	dir, err := b.Filesystem("vol", fstype, 500, nil, "")
	check(t, err)
	return dir + "/data"
}
