package sampler

import (
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestAgesWhateverTheZone: InnoDB says when a transaction began in the zone of the machine, and the server can have another one. An
// hour of difference made each transaction an hour old, or begin in the future.
func TestAgesWhateverTheZone(t *testing.T) {
	for _, zone := range []string{"+05:00", "-05:00"} {
		t.Run(zone, func(t *testing.T) {
			l := start(t, sandbox.MySQLOptions{Settings: allOn + "\ndefault_time_zone = '" + zone + "'"})
			l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
			holder := l.idOf(l.Held("BEGIN", "INSERT INTO shop.t VALUES (1)"))
			b := l.Until("sessions", "the transaction, some seconds old", func(b series.Batch) bool {
				age, told := samplertest.Value(b, "longest_transaction")
				return told && age >= 1
			})
			if age := samplertest.Reads(b, "longest_transaction"); age > 60 {
				t.Errorf("it is %v s old", age)
			}
			if len(b.Sessions) != 1 || b.Sessions[0].ID != holder || b.Sessions[0].InTx < time.Second || b.Sessions[0].InTx > time.Minute {
				t.Errorf("listed: %+v", b.Sessions)
			}
			all := l.Must("statements").Statements
			for _, s := range all {
				if age := time.Since(s.Since); !s.Rest && (age < -time.Second || age > 10*time.Minute) {
					t.Errorf("counted since %s: %s", s.Since, s.Text)
				}
			}
			if len(all) == 0 {
				t.Error("no statement was counted")
			}
		})
	}
}
