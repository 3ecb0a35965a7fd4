package sampler

import (
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/series"
)

// TestTheOldestTransaction: one that began in the future is no reason to say that there is none.
func TestTheOldestTransaction(t *testing.T) {
	for want, ages := range map[float64][]string{0: {"", ""}, 12: {"3", "12", "", "-3600"}, -3600: {"-7200", "", "-3600"}} {
		var groups host.Rows
		for _, age := range ages {
			row := make([]*string, 6)
			for i, cell := range []string{"idle in transaction", "Client", "ClientRead", "1", age, "0"} {
				if cell != "" {
					row[i] = &cell
				}
			}
			groups.Values = append(groups.Values, row)
		}
		if got := addUp(groups, traits{major: 15}); got.oldest != want || got.open != float64(len(ages)) {
			t.Errorf("%q: %+v", ages, got)
		}
	}
}

// TestOurSessionsTakeSlots: what Plumb does is not what clients do, but a slot that it has is
// taken, and without it a server that is full would never look so.
func TestOurSessionsTakeSlots(t *testing.T) {
	var groups host.Rows
	for _, cells := range [][]string{{"active", "", "", "95", "0", "0", "f"}, {"idle in transaction", "Client", "ClientRead", "1", "2", "0", "f"}, {"active", "", "", "2", "9", "0", "t"}} {
		row := make([]*string, len(cells))
		for i := range cells {
			row[i] = &cells[i]
		}
		groups.Values = append(groups.Values, row)
	}
	if got := addUp(groups, traits{major: 15}); got.connected != 98 || got.active != 95 || got.open != 1 || got.oldest != 2 {
		t.Errorf("%+v", got)
	}
}

// TestSessionsThatDoNotSayWhatTheyDo: with track_activities off a session has one state, whatever it does. It is active unless it waits for
// its client, and not idle because it does not say so.
func TestSessionsThatDoNotSayWhatTheyDo(t *testing.T) {
	var groups host.Rows
	for _, cells := range [][]string{{"disabled", "", "", "3", "", "0", "f"}, {"disabled", "IO", "DataFileRead", "2", "", "0", "f"}, {"disabled", "Client", "ClientRead", "90", "", "0", "f"}} {
		row := make([]*string, len(cells))
		for i := range cells {
			row[i] = &cells[i]
		}
		groups.Values = append(groups.Values, row)
	}
	if got := addUp(groups, traits{major: 15}); got.active != 5 || got.classes[series.ClassRead] != 2 || got.classes[series.ClassCPU] != 3 {
		t.Errorf("%+v", got)
	}
}

// TestAutovacuumCanBlock: it is listed, so that whoever waits for it is told for whom, and is not counted as a client.
func TestAutovacuumCanBlock(t *testing.T) {
	if q := listQuery(traits{major: 17}); !strings.Contains(q, "backend_type = 'autovacuum worker' OR (backend_type = 'client backend' AND ") || !strings.Contains(q, "a.usename, a.backend_type)") {
		t.Error(q)
	}
	if q := activeQuery(traits{major: 17}); strings.Contains(q, "autovacuum") {
		t.Error(q)
	}
}

// TestWaitsForPages: the type of the waits for a page of the cache, until 18 and since 19.
func TestWaitsForPages(t *testing.T) {
	for _, wait := range [][2]string{{"LWLock", "BufferContent"}, {"BufferPin", "BufferPin"}, {"Buffer", "BufferExclusive"}, {"Buffer", "BufferCleanup"}} {
		if class, active := classOf(wait[0], wait[1]); class != series.ClassLatch || !active {
			t.Errorf("%v: %s", wait, class)
		}
	}
}

// TestWhoWaitsForWorkers: what parallel workers do is counted instead of that their leader waits for them, and what the leader does
// instead of that they wait for it, where it is told whose they are; a worker is no connection.
func TestWhoWaitsForWorkers(t *testing.T) {
	rows := func(all ...[]string) (groups host.Rows) {
		for _, cells := range all {
			row := make([]*string, len(cells))
			for i := range cells {
				row[i] = &cells[i]
			}
			groups.Values = append(groups.Values, row)
		}
		return groups
	}
	leader := []string{"active", "IPC", "ExecuteGather", "1", "9", "0", "f", "f"}
	got := addUp(rows(leader, []string{"active", "IO", "DataFileRead", "4", "9", "0", "f", "t"}, []string{"active", "IPC", "HashBuildHashInner", "2", "9", "0", "f", "t"},
		[]string{"active", "IPC", "BgWorkerShutdown", "1", "9", "0", "f", "f"}), traits{major: 13})
	if got.active != 5 || got.connected != 2 || got.classes[series.ClassRead] != 4 || got.classes[series.ClassOther] != 1 {
		t.Errorf("%+v", got)
	}
	got = addUp(rows([]string{"active", "", "", "1", "9", "0", "f", "f"}, []string{"active", "IPC", "MessageQueueSend", "4", "9", "0", "f", "t"}), traits{major: 17})
	if got.active != 1 || got.connected != 1 || got.classes[series.ClassCPU] != 1 {
		t.Errorf("a leader that does not keep up with its workers: %+v", got)
	}
	if got := addUp(rows(leader), traits{major: 12}); got.active != 1 || got.classes[series.ClassOther] != 1 { // there is nobody else that is counted
		t.Errorf("%+v", got)
	}
}
