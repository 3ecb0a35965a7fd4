package sampler

import (
	"context"
	"strconv"

	"plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
)

// queueQuery counts the requests that wait for a thread of MariaDB's pool. A group whose listener is busy itself has not
// seen all that came: there can be more.
const queueQuery = "SELECT SUM(QUEUE_LENGTH) FROM information_schema.THREAD_POOL_GROUPS"

// queueLength is what they are called.
const queueLength = "thread_pool_queue"

// queued counts the requests that wait for a thread of the pool. A request is not even read before a thread takes it up, so
// that its session seems to sleep: whoever counts sessions by what they do sees a server with a full queue as one that has
// little to do.
func (v *Server) queued(ctx context.Context, h host.Reader, t traits, b *series.Batch) float64 {
	if !t.pool {
		return 0
	}
	if !t.mariadb() || !mysql.AtLeast(t.version, "10.5") {
		b.Gap(v.Ref, "only MariaDB, since 10.5, tells how many requests wait for a thread of the pool", "", queueLength)
		return 0
	}
	row, err := host.One(v.Ask(ctx, h, queueQuery))
	n := 0.0
	if err == nil {
		n, err = strconv.ParseFloat(host.Text(row, 0), 64)
	}
	if err != nil {
		b.Gap(v.Ref, "how many requests wait for a thread of the pool: "+err.Error(), hint.Of(err), queueLength)
		return 0
	}
	b.Set(v.Ref, queueLength, n)
	return n
}
