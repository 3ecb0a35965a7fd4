package sampler

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestOtherPlumbs: a plumb that watches or checks beside this one is no client, as long as it logs in as this one
// does; a load is one, and so is whoever only has the name. Without the performance schema no session says what it
// is of.
func TestOtherPlumbs(t *testing.T) {
	onServers(t, func(t *testing.T, l *live, schema bool) {
		l.Exec("CREATE USER other@localhost")
		for _, who := range [][2]string{{"root", "plumb"}, {"root", "plumb"}, {"root", "plumb load"}, {"other", "plumb"}} {
			l.sleeper(who[0], who[1])
		}
		for n, end := 0, time.Now().Add(time.Minute); n < 4 && time.Now().Before(end); time.Sleep(l.Pause) {
			sandbox.Need(t, l.DB.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(3600)'").Scan(&n))
		}
		want := 4.0
		if schema {
			want = 2
		}
		l.Until("sessions", "how many clients are active", func(b series.Batch) bool {
			sum := 0.0
			for _, class := range series.Classes {
				sum += samplertest.Reads(b, "sessions_"+string(class))
			}
			active := samplertest.Reads(b, "sessions_active")
			if active > 4 || sum != active {
				t.Fatalf("%v are active, %v by what they do", active, sum)
			}
			return active == want && float64(len(b.Sessions)) == want
		})
	})
}

// sleeper has a session be active until the test ends.
func (l *live) sleeper(user, program string) {
	db, err := sql.Open("mysql", user+"@unix("+l.server.Socket+")/?connectionAttributes=program_name:"+program)
	sandbox.Need(l.T, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = db.ExecContext(ctx, "DO SLEEP(3600)") // it is ended
	}()
	l.T.Cleanup(func() { cancel(); <-done; db.Close() })
}
