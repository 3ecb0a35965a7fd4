package sampler

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// BenchmarkSecond is what a second of watching costs: the sources of a second,
// and a tenth of those of ten. It reports the processor time of the server, of the process that answers,
// and our own.
func BenchmarkSecond(b *testing.B) {
	b.Run("Installed", func(b *testing.B) {
		l := start(b, sandbox.PostgresOptions{Settings: settings})
		l.exec("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)", "CREATE EXTENSION pg_stat_statements")
		holder := l.held("BEGIN", "UPDATE t SET v = 2")
		for range 20 {
			l.later(l.held(), "UPDATE t SET v = 3")
		}
		l.must("sessions")
		var backend int
		sandbox.Need(b, l.db.QueryRow("SELECT pid FROM pg_stat_activity WHERE application_name = 'plumb'").Scan(&backend))
		server, own := threads(b, backend), self()
		n := 0
		for b.Loop() {
			l.must("status")
			l.must("sessions")
			if n++; n%10 == 0 {
				l.must("io")
				_, _ = l.take("statements")
			}
		}
		b.ReportMetric(float64(threads(b, backend)-server)/1e6/float64(n), "server-ms/s")
		b.ReportMetric(float64(self()-own)/1e6/float64(n), "own-ms/s")
		_, err := holder.ExecContext(b.Context(), "ROLLBACK") // those that wait end
		sandbox.Need(b, err)
	})
}

// threads is the processor time of a process.
func threads(b *testing.B, pid int) (sum time.Duration) {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	sandbox.Need(b, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that ended
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		sandbox.Need(b, err)
		sum += time.Duration(n)
	}
	if sum == 0 {
		b.Skip("the kernel does not count the time of threads (schedstat)")
	}
	return sum
}

func self() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
