package advise_test

import (
	"testing"

	"plumb/internal/advise"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// TestOneFindingForOneKnob: where several rules say the same of one setting,
// people see one finding that names the others.
func TestOneFindingForOneKnob(t *testing.T) {
	base, cat := embedded(t)
	for name, make := range map[string]func(*stack.Observation) []string{
		"no_fsync":          noFsync,
		"sync_disabled":     syncDisabled,
		"full_page_on_zvol": fullPageOnZvol,
	} {
		t.Run(name, func(t *testing.T) {
			var see stack.Observation
			see.New("host", "h")
			want := make(&see)
			s := &stack.Stack{}
			s.Add("test", see)
			var about []rule.Evaluation
			for _, v := range base.Judge(s) {
				for _, id := range want {
					if v.Rule.ID == id && v.Outcome == rule.Fires {
						about = append(about, v)
					}
				}
			}
			if len(about) != len(want) {
				t.Fatalf("%d of %v fire", len(about), want)
			}
			a := advise.From(about, s, cat, advise.Options{})
			if len(a.Findings) != 1 || len(a.Findings[0].Cases) != 1 || len(a.Findings[0].Cases[0].Also) != len(want)-1 || len(a.Conflicts) != 0 {
				t.Errorf("%d findings, conflicts %v: %+v", len(a.Findings), a.Conflicts, a.Findings)
			}
		})
	}
}

func set(t *stack.Thing, facts map[string]stack.Value) *stack.Thing {
	for name, v := range facts {
		t.Set(name, v, "test")
	}
	return t
}

func noFsync(see *stack.Observation) []string {
	data := set(see.New("filesystem", "/data"), map[string]stack.Value{"fstype": stack.Text("xfs"), "write_cache": stack.Text("write back"),
		"disk_names": stack.List([]string{"sda"}), "dev": stack.Text("8:1")})
	log := set(see.New("filesystem", "/redo"), map[string]stack.Value{"fstype": stack.Text("xfs"), "disk_names": stack.List([]string{"sdb"})})
	db := set(see.New("mysql", "3306"), map[string]stack.Value{"flavor": stack.Text("mysql"), "version": stack.Text("8.0.36"),
		"innodb_flush_method": stack.Text("O_DIRECT_NO_FSYNC")})
	db.Link("data", data.Ref)
	db.Link("redo", log.Ref)
	return []string{"cross/mysql-no-fsync-volatile", "cross/mysql-no-fsync-two-places"}
}

func syncDisabled(see *stack.Observation) []string {
	ds := set(see.New("dataset", "tank/pg"), map[string]stack.Value{"sync": stack.Text("disabled")})
	fs := see.New("filesystem", "/pg")
	fs.Link("dataset", ds.Ref)
	db := see.New("postgres", "5432")
	db.Link("data", fs.Ref)
	db.Link("wal", fs.Ref)
	return []string{"cross/zfs-sync-disabled-postgres-data", "cross/zfs-sync-disabled-postgres-wal"}
}

func fullPageOnZvol(see *stack.Observation) []string {
	b := set(see.New("block", "zd0"), map[string]stack.Value{"layer": stack.Text("zvol")})
	fs := set(see.New("filesystem", "/pg"), map[string]stack.Value{"fstype": stack.Text("ext4")})
	fs.Link("block", b.Ref)
	db := set(see.New("postgres", "5432"), map[string]stack.Value{"full_page_writes": stack.Bool(false)})
	db.Link("data", fs.Ref)
	return []string{"cross/storage-full-page-writes-off", "cross/zfs-zvol-full-page-writes-off"}
}
