package rehearse

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/advise"
	"plumb/internal/stack"
)

// Of a host with two servers the steps on the other, and on what only the
// other stands on, are no part of a rehearsal; what both stand on is.
func TestTwoServersOfAHost(t *testing.T) {
	s, db := mariadb()
	obs := stack.Observation{}
	thing := func(kind, name string, links ...any) *stack.Thing {
		made := obs.New(kind, name)
		for i := 0; i < len(links); i += 2 {
			made.Link(links[i].(string), links[i+1].(*stack.Thing).Ref)
		}
		return made
	}
	disk, other := thing("block", "sda"), thing("block", "sdb")
	s.Find(stack.Ref{Kind: "filesystem", Name: "/srv"}).Link("block", disk.Ref)
	pool := thing("pool", "tank", "disks", other)
	mine, its := thing("dataset", "tank/logs/mysql", "pool", pool), thing("dataset", "tank/pg", "pool", pool)
	db.Link("binlog", thing("filesystem", "/logs", "dataset", mine).Ref)
	group, itsGroup := thing("cgroup", "/system.slice/mariadb.service"), thing("cgroup", "/system.slice/postgres.service")
	s.Find(stack.Ref{Kind: "process", Name: "42"}).Link("cgroup", group.Ref)
	pg := thing("postgres", "5432", "data", thing("filesystem", "/pg", "dataset", its), "wal", thing("filesystem", "/wal", "block", thing("block", "sdc")), "process", thing("process", "43", "cgroup", itsGroup))
	thing("zfs", "module")
	s.Add("test", obs)
	about := func(db *stack.Thing) (all []string) {
		var plan advise.Plan
		for _, kind := range []string{"host", "mysql", "postgres", "block", "dataset", "filesystem", "pool", "process", "cgroup", "zfs"} {
			for _, of := range s.OfKind(kind) {
				plan.Steps = append(plan.Steps, planned(of.Ref, "x", 1).Steps...)
			}
		}
		for _, parent := range []stack.Ref{{Kind: "dataset", Name: "tank/logs"}, {Kind: "cgroup", Name: "/system.slice"}, {Kind: "dataset", Name: "tank/lo"}} {
			plan.Steps = append(plan.Steps, planned(parent, "x", 1).Steps...)
		}
		d := draft{stack: s, server: db}
		for _, a := range d.concerning(plan.Steps) {
			all = append(all, a.Knob.Of.String())
		}
		return all
	}
	want := []string{"host:db1", "mysql:3306", "block:sda", "block:sdb", "dataset:tank/logs/mysql", "filesystem:/logs", "filesystem:/srv", "pool:tank", "process:42",
		"cgroup:/system.slice/mariadb.service", "zfs:module", "dataset:tank/logs", "cgroup:/system.slice"}
	if diff := cmp.Diff(want, about(db)); diff != "" {
		t.Errorf("mysql: %s", diff)
	}
	want = []string{"host:db1", "postgres:5432", "block:sdb", "block:sdc", "dataset:tank/pg", "filesystem:/pg", "filesystem:/wal", "pool:tank", "process:43", "cgroup:/system.slice/postgres.service", "zfs:module", "cgroup:/system.slice"}
	if diff := cmp.Diff(want, about(pg)); diff != "" {
		t.Errorf("postgres: %s", diff)
	}
	delete(pg.Links, "data")
	s.Gaps = append(s.Gaps, stack.Gap{Of: placed, Facts: []string{"undo"}, Why: "no login"})
	if got := about(db); !slices.Contains(got, "block:sda") || slices.Contains(got, "filesystem:/wal") {
		t.Errorf("a server of which one place is not known: %q", got)
	}
	if got := about(pg); !slices.Contains(got, "dataset:tank/pg") || slices.Contains(got, "block:sda") || slices.Contains(got, "filesystem:/srv") {
		t.Errorf("of a server that keeps its data nobody knows where, what is not another's may be its own: %q", got)
	}
}
