package sampler

import (
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/test/sandbox"
)

// BenchmarkSecond is what a second of watching costs: the sources of a second,
// and a tenth of those of ten. It reports the processor time of the server, all
// its threads, and our own.
func BenchmarkSecond(b *testing.B) {
	for name, settings := range map[string]string{"Off": "", "On": "performance_schema = ON"} {
		b.Run(name, func(b *testing.B) {
			l := start(b, sandbox.MySQLOptions{Settings: settings})
			l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT)", "INSERT INTO shop.t VALUES (1, 1)")
			holder := l.Held("BEGIN", "UPDATE shop.t SET v = 2")
			for range 20 {
				l.Later(l.Held(), "UPDATE shop.t SET v = 3")
			}
			l.Must("sessions")
			samplertest.Second(b, l.server.PID, func(n int) {
				l.Must("status")
				l.Must("sessions")
				if n%10 == 0 {
					l.Must("files")
					l.Must("history")
					_, _ = l.Take("statements")
				}
			})
			_, err := holder.ExecContext(b.Context(), "ROLLBACK") // those that wait end
			sandbox.Need(b, err)
		})
	}
}
