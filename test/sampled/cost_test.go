package sampled

import (
	"context"
	"syscall"
	"testing"
	"time"

	"plumb/internal/sample"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// used is the processor time of this process and of the commands it ran.
func used(t testing.TB) time.Duration {
	t.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		must(t, syscall.Getrusage(who, &u))
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// BenchmarkRound takes once from all sources of each pace, below a MariaDB and
// a PostgreSQL: "ms/round" is the processor time of a round, commands included.
func BenchmarkRound(b *testing.B) {
	box, live := open(b)
	my, err := box.MySQL(sandbox.MySQLOptions{Settings: "log_bin=binlog\nserver_id=7"})
	sandbox.Need(b, err)
	pg, err := box.Postgres(sandbox.PostgresOptions{})
	sandbox.Need(b, err)
	s := without(look(b, live, my, pg), "pool", "zfs")
	for _, every := range []time.Duration{sample.Second, sample.Ten, sample.Minute} {
		var all []sample.Source
		for _, x := range sources(s) {
			if x.Every() == every {
				all = append(all, x)
			}
		}
		b.Run(every.String(), func(b *testing.B) {
			before := used(b)
			readings := 0
			for b.Loop() {
				for _, x := range all {
					batch, err := x.Take(context.Background(), live)
					must(b, err)
					readings += len(batch.Readings)
				}
			}
			b.ReportMetric(float64((used(b)-before).Microseconds())/1000/float64(b.N), "ms/round")
			b.ReportMetric(float64(readings)/float64(b.N), "readings/round")
			b.ReportMetric(float64(len(all)), "sources")
		})
	}
}

// without leaves out things of some kinds: other people's pools.
func without(s *stack.Stack, kinds ...string) *stack.Stack {
	c := *s
	c.Things = nil
	for _, t := range s.Things {
		keep := true
		for _, k := range kinds {
			keep = keep && t.Ref.Kind != k
		}
		if keep {
			c.Things = append(c.Things, t)
		}
	}
	return &c
}
