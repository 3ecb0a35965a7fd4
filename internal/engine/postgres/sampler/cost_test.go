package sampler

import (
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/test/sandbox"
)

// BenchmarkSecond is what a second of watching costs: the sources of a second,
// and a tenth of those of ten. It reports the processor time of the server, of the process that answers,
// and our own.
func BenchmarkSecond(b *testing.B) {
	b.Run("Installed", func(b *testing.B) {
		l := start(b, sandbox.PostgresOptions{Settings: settings})
		l.Exec("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)", "CREATE EXTENSION pg_stat_statements")
		holder := l.Held("BEGIN", "UPDATE t SET v = 2")
		for range 20 {
			l.Later(l.Held(), "UPDATE t SET v = 3")
		}
		l.Must("sessions")
		var backend int
		sandbox.Need(b, l.DB.QueryRow("SELECT pid FROM pg_stat_activity WHERE application_name = 'plumb'").Scan(&backend))
		samplertest.Second(b, backend, func(n int) {
			l.Must("status")
			l.Must("sessions")
			if n%10 == 0 {
				l.Must("io")
				l.Must("databases")
				_, _ = l.Take("statements")
			}
		})
		_, err := holder.ExecContext(b.Context(), "ROLLBACK") // those that wait end
		sandbox.Need(b, err)
	})
}
