package sampler

// The tickets of WiredTiger: how many operations may read at a time, and how
// many may write. Their forms are those of the source of mongod, of its
// WiredTigerKVEngine::appendGlobalStats and of its TicketHolder::appendStats:
//
//	6.0  wiredTiger.concurrentTransactions.read: {out, available, totalTickets}
//	7.0  the same, with queueLength, totalTimeQueuedMicros and others, which
//	     later stand in normalPriority: {…}
//	8.0  queues.execution.read: {out, available, totalTickets, exempt: {…},
//	     normalPriority: {queueLength, totalTimeQueuedMicros, …}}; later also
//	     lowPriority: {…}
const queuedTime = "totalTimeQueuedMicros"

// pools are where those of reads and of writes are, the newest place first.
var pools = []path{{"queues", "execution"}, {"wiredTiger", "concurrentTransactions"}}

// tickets reads how many are left, how many there are, and how long operations
// have waited for one. What this version does not tell is not given.
func tickets(doc map[string]any, set func(string, float64)) {
	waited, all := 0.0, true
	for _, op := range []string{"read", "write"} {
		pool := poolOf(doc, op)
		if n, ok := signed(pool, "available"); ok {
			set("tickets_"+op+"_free", max(0, n)) // below none while more are out than there are since they were made fewer
		}
		if n, ok := number(pool, "totalTickets"); ok {
			set("tickets_"+op, n)
		}
		n, ok := queued(pool)
		waited, all = waited+n, all && ok
	}
	if all {
		set("tickets_wait_us", waited)
	}
}

func poolOf(doc map[string]any, op string) map[string]any {
	for _, p := range pools {
		if pool := section(section(doc, p...), op); pool != nil {
			return pool
		}
	}
	return nil
}

// queued is how long operations have waited in the queues of a pool.
func queued(pool map[string]any) (float64, bool) {
	normal, ok := number(pool, "normalPriority", queuedTime)
	if !ok {
		return number(pool, queuedTime)
	}
	if _, has := pool["lowPriority"]; !has {
		return normal, true
	}
	low, ok := number(pool, "lowPriority", queuedTime)
	return normal + low, ok
}
