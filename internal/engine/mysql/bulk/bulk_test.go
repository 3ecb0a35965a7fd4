package bulk

import (
	"strings"
	"testing"

	"plumb/internal/stack"
)

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		facts map[string]stack.Value
		want  map[string]string // "" where it is kept
	}{
		"usual": {map[string]stack.Value{"innodb_flush_log_at_trx_commit": stack.Int(1), "log_bin": stack.Bool(true), "innodb_io_capacity": stack.Int(200), "innodb_io_capacity_max": stack.Int(2000)},
			map[string]string{"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0", "innodb_io_capacity": "2000"}},
		"no binary log": {map[string]stack.Value{"innodb_flush_log_at_trx_commit": stack.Int(0), "log_bin": stack.Bool(false), "innodb_io_capacity": stack.Int(2000), "innodb_io_capacity_max": stack.Int(2000)},
			map[string]string{"innodb_flush_log_at_trx_commit": "", "sync_binlog": "", "innodb_io_capacity": ""}},
		"MariaDB's 3":   {map[string]stack.Value{"innodb_flush_log_at_trx_commit": stack.Int(3)}, map[string]string{"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "", "innodb_io_capacity": ""}},
		"nothing known": {nil, map[string]string{"sync_binlog": "", "innodb_io_capacity": ""}},
	} {
		db := stack.NewThing("mysql", "1")
		for fact, v := range c.facts {
			db.Set(fact, v, "test")
		}
		for _, w := range (Loader{}).Settings(&stack.Stack{}, db) {
			want, asked := c.want[w.Knob]
			if !asked {
				continue
			}
			if (w.Kept == "") != (want != "") || want != "" && w.To.String() != want {
				t.Errorf("%s: %s is %s, kept %q, want %q", name, w.Knob, w.To, w.Kept, want)
			}
		}
	}
}

func TestLoss(t *testing.T) {
	db := stack.NewThing("mysql", "1")
	db.Set("innodb_flush_log_at_timeout", stack.Int(27), "test")
	if l := (Loader{}).Loss(db); len(l) != 1 || !strings.Contains(l[0], "27 s") {
		t.Errorf("%q", l)
	}
	db.Set("log_bin", stack.Bool(true), "test")
	if l := (Loader{}).Loss(db); len(l) != 2 || !strings.Contains(l[1], "replicas") {
		t.Errorf("%q", l)
	}
}
