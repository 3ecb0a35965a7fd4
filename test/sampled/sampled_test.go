package sampled

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/dsn"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	storage "plumb/internal/storage/sampler"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	system "plumb/internal/system/sampler"
	"plumb/knowledge"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) (*sandbox.Box, *host.Live) {
	t.Helper()
	b := sandbox.ForTest(t, "")
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{product.MySQL: mysql.Dialer{}, product.Postgres: postgres.Dialer{}}})
	t.Cleanup(func() { live.Close() })
	return b, live
}

// look looks at the machine, and leaves out servers that are others'.
func look(t testing.TB, live *host.Live, ours ...*sandbox.Server) *stack.Stack {
	t.Helper()
	cat := hosttest.Catalog(t)
	var g dsn.Given
	s, err := check.Observe(context.Background(), live, cat, [][]observe.Probe{
		{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfs.NewProbe(cat)},
		{mysql.NewProbe(cat, g.Target(product.MySQL)), postgres.NewProbe(cat, g.Target(product.Postgres))},
	}, time.Minute)
	must(t, err)
	pids := map[int]bool{}
	for _, o := range ours {
		pids[o.PID] = true
	}
	var things []*stack.Thing
	for _, x := range s.Things {
		if pid, err := strconv.Atoi(x.Ref.Name); x.Ref.Kind != "process" || err == nil && pids[pid] {
			things = append(things, x)
		}
	}
	var roles []stack.Role
	for _, r := range s.Roles {
		if pids[r.PID] {
			roles = append(roles, r)
		}
	}
	s.Things, s.Roles = things, roles
	return s
}

func sources(s *stack.Stack) []sample.Source {
	return append(system.Finder{}.Sources(s), storage.Finder{}.Sources(s)...)
}

// take asks the sources whose names begin so.
func take(t testing.TB, h host.Reader, all []sample.Source, prefix string) (out series.Batch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, s := range all {
		if !strings.HasPrefix(s.Name(), prefix) {
			continue
		}
		b, err := s.Take(ctx, h)
		if err != nil {
			t.Fatalf("%s: %v", s.Name(), err)
		}
		out.Readings, out.Gaps = append(out.Readings, b.Readings...), append(out.Gaps, b.Gaps...)
	}
	return out
}

func value(t testing.TB, b series.Batch, of, name string) float64 {
	t.Helper()
	ref, err := stack.ParseRef(of)
	must(t, err)
	for _, r := range b.Readings {
		if r.Of == ref && r.Name == name {
			return r.Value
		}
	}
	t.Fatalf("no reading %s %s; gaps: %+v", of, name, b.Gaps)
	return 0
}

// TestReadingsAreDeclared takes from all sources below two real servers: each
// reading is in the catalogue, as something that moves.
func TestReadingsAreDeclared(t *testing.T) {
	b, live := open(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Settings: "log_bin=binlog\nserver_id=7"})
	sandbox.Need(t, err)
	pg, err := b.Postgres(sandbox.PostgresOptions{})
	sandbox.Need(t, err)
	s := without(look(t, live, my, pg), "pool")
	cat, err := catalog.Windows(knowledge.FS)
	must(t, err)
	all := sources(s)
	names := map[string]bool{}
	for _, source := range all {
		if names[source.Name()] {
			t.Errorf("two sources are called %q", source.Name())
		}
		names[source.Name()] = true
		batch := take(t, live, []sample.Source{source}, "")
		if len(batch.Readings) == 0 && len(batch.Gaps) == 0 {
			t.Errorf("%s tells nothing and does not say why", source.Name())
		}
		for _, g := range batch.Gaps {
			t.Logf("%s: gap %+v", source.Name(), g)
		}
		seen := map[series.ID]bool{}
		for _, r := range batch.Readings {
			id := series.ID{Of: r.Of, Name: r.Name}
			switch f := cat.Fact(r.Of.Kind, r.Name); {
			case f == nil:
				t.Errorf("%s: %s %s is not declared", source.Name(), r.Of.Kind, r.Name)
			case f.Every == 0 && f.OverTime != stack.State:
				t.Errorf("%s: %s %s is read again and again, and its declaration does not say how often (every)", source.Name(), r.Of.Kind, r.Name)
			}
			if seen[id] {
				t.Errorf("%s: %s %s is read twice", source.Name(), r.Of, r.Name)
			}
			seen[id] = true
			if os.Getenv("SHOW") != "" {
				t.Logf("%s %v: %s %s = %v", source.Name(), source.Every(), r.Of, r.Name, r.Value)
			}
		}
	}
}
