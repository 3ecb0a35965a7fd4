package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// Answers of a PostgreSQL 15.18: of a standby with its primary gone, to
// postgres and to a role without pg_monitor.
func TestWhatRunsOut(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		"slots_active_retained": hosttest.Table("slots_active_retained", "6442450944"),
		"slots_active_worst":    hosttest.Table("slots_active_worst", "sub1"),
		"receiver_running":      hosttest.Table("receiver_running\treplay_age", "f\t96"),
		"multixact_members":     hosttest.Table("multixact_members", "52352"),
		"sequence_used":         hosttest.Table("sequence_used\tsequence_used_name", "0.9313\tpublic.t_id_seq"),
	})
	m.Spaces = map[string]host.Statfs{"/dev/shm": {TotalBytes: 64 << 20, AvailBytes: 60 << 20}}
	db, _ := collectFrom(t, m, seen)
	for name, want := range map[string]stack.Value{
		"slots_active_retained": stack.Int(6 << 30), "slots_active_worst": stack.Text("sub1"), "receiver_running": stack.Bool(false),
		"replay_age": stack.Int(96), "multixact_members": stack.Int(52352), "sequence_used": stack.Float(0.9313),
		"sequence_used_name": stack.Text("public.t_id_seq"), "shm_size": stack.Int(64 << 20), "shm_free": stack.Int(60 << 20),
	} {
		if got, ok := db.Get(name); !ok || !got.Equal(want) {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, want)
		}
	}
}

// What a role is not shown is unknown: neither zero nor absent.
func TestWhatIsHiddenIsUnknown(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		"replicas":         hosttest.Table("replicas\treplicas_synchronous", "1\t\\N"),
		"replica_lag":      hosttest.Table("replica_lag", `\N`),
		"receiver_status":  hosttest.Table("receiver_status", `\N`),
		"receiver_running": hosttest.Table("receiver_running\treplay_age", "t\t0"),
		"sequence_used":    hosttest.Table("sequence_used\tsequence_used_name", "\\N\t\\N"),
	})
	m.Errors = map[string]error{"statfs /dev/shm": errors.New("permission denied")}
	rows := settingsRows
	rows.Values = slices.DeleteFunc(slices.Clone(rows.Values), func(row []*string) bool { return *row[0] == "data_directory" })
	m.Queries[settingsQuery] = rows
	db, obs := collectFrom(t, m, seen)
	s := seen
	s.Add("postgres", obs)
	for _, name := range []string{"replica_lag", "receiver_status", "sequence_used", "multixact_members", "shm_size", "primary_conninfo"} {
		if f, known := db.Facts[name]; known {
			t.Errorf("%s = %v, although nobody told it", name, f.Value)
		}
		if gap, ok := s.GapFor(db.Ref, name); !ok || gap.Why == "" {
			t.Errorf("no gap for %s", name)
		}
	}
	if f, known := db.Facts["io_method"]; !known || !f.Value.IsAbsent() {
		t.Errorf("io_method = %v, %v: 15 has none", f.Value, known)
	}
}

// Members of multixacts have no end since 19: the fact is absent there.
func TestMultixactMembersOf19(t *testing.T) {
	for _, q := range questions {
		if slices.Contains(q.Facts, "multixact_members") && (!q.suits(18) || q.suits(19) || !q.Gone) {
			t.Error("18 has an end of members, 19 has none")
		}
	}
}

// Every question is one that only reads.
func TestQuestionsOnlyRead(t *testing.T) {
	for _, q := range questions {
		if sql := q.SQL; !(Dialer{}).Reads(sql) {
			t.Errorf("refused: %s", sql)
		}
	}
}

// Since 19 the view shows a receiver that has no connection yet: it is none that runs.
func TestReceiverThatConnectsIn19(t *testing.T) {
	asked := map[int][]string{}
	for _, q := range questions {
		for _, major := range []int{18, 19} {
			if slices.Contains(q.Facts, "receiver_running") && q.suits(major) {
				asked[major] = append(asked[major], q.SQL)
			}
		}
	}
	if len(asked[18]) != 1 || len(asked[19]) != 1 {
		t.Fatalf("asked %v, want one question for each release", asked)
	}
	if strings.Contains(asked[18][0], "connecting") || !strings.Contains(asked[19][0], "status IS DISTINCT FROM 'connecting'") {
		t.Errorf("18 is asked %s, 19 %s", asked[18][0], asked[19][0])
	}
}
