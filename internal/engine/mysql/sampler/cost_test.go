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
// and a tenth of those of ten. It reports the processor time of the server, all
// its threads, and our own.
func BenchmarkSecond(b *testing.B) {
	for name, settings := range map[string]string{"Off": "", "On": "performance_schema = ON"} {
		b.Run(name, func(b *testing.B) {
			l := start(b, sandbox.MySQLOptions{Settings: settings})
			l.exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT)", "INSERT INTO shop.t VALUES (1, 1)")
			holder := l.held("BEGIN", "UPDATE shop.t SET v = 2")
			for range 20 {
				l.later(l.held(), "UPDATE shop.t SET v = 3")
			}
			l.must("sessions")
			server, own := threads(b, l.server.PID), self()
			n := 0
			for b.Loop() {
				l.must("status")
				l.must("sessions")
				if n++; n%10 == 0 {
					l.must("files")
					_, _ = l.take("statements")
				}
			}
			b.ReportMetric(float64(threads(b, l.server.PID)-server)/1e6/float64(n), "server-ms/s")
			b.ReportMetric(float64(self()-own)/1e6/float64(n), "own-ms/s")
			_, err := holder.ExecContext(b.Context(), "ROLLBACK") // those that wait end
			sandbox.Need(b, err)
		})
	}
}

// threads is the processor time of all threads of a process.
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
