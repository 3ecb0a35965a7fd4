package postgres

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

func TestRecipeOfImage(t *testing.T) {
	cat := hosttest.Catalog(t)
	const debian, redhat = "/etc/postgresql/15/main/postgresql.conf", "/var/lib/pgsql/data/postgresql.conf"
	one := map[string]string{debian: "data_directory = '/var/lib/postgresql/15/main'\nmax_connections = 100 # (change requires restart)\ninclude_dir = 'conf.d'\n"}
	with := func(file, text string) map[string]string {
		return map[string]string{debian: one[debian], file: text}
	}
	two := map[string]string{debian: one[debian] + "port = 5432\n", "/etc/postgresql/17/main/postgresql.conf": "port = 5433\n"}
	for _, c := range []struct {
		name, port string
		files      map[string]string
		knob       string
		to         stack.Value
		file, set  string // or
		refused    string
	}{
		{"drop-in", "5432", one, "max_connections", stack.Int(200), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "200", ""},
		{"a size", "5432", one, "shared_buffers", stack.Int(4 << 30), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "4GB", ""},
		{"a switch", "5432", one, "log_checkpoints", stack.Bool(true), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "on", ""},
		{"a share", "5432", one, "checkpoint_completion_target", stack.Float(0.9), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "0.9", ""},
		{"a short time", "5432", one, "vacuum_cost_delay", stack.Int(500), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "0.5", ""},
		{"permissions", "5432", one, "unix_socket_permissions", stack.Int(0o770), "/etc/postgresql/15/main/conf.d/zz-plumb.conf", "0770", ""},
		{"persisted", "5432", with("/var/lib/postgresql/15/main/postgresql.auto.conf", "work_mem = '8MB'\n"), "work_mem", stack.Int(1 << 20), "", "", "which is read last, sets it to 8MB"},
		{"Red Hat", "5432", map[string]string{redhat: "port = 5432\n"}, "work_mem", stack.Int(1 << 20), redhat, "1MB", ""},
		{"Red Hat, persisted", "5432", map[string]string{redhat: "", "/var/lib/pgsql/data/postgresql.auto.conf": "work_mem = '8MB'\n"}, "work_mem", stack.Int(1 << 20), "", "", "which is read last"},
		{"by its port", "5433", two, "work_mem", stack.Int(1 << 20), "/etc/postgresql/17/main/postgresql.conf", "1MB", ""},
		{"several", "5434", two, "work_mem", stack.Int(1 << 20), "", "", "has several clusters, and 0 of them on port 5434"},
		{"none", "5432", nil, "work_mem", stack.Int(1 << 20), "", "", "has no postgresql.conf"},
		{"broken", "5432", map[string]string{debian: "this is no setting at all\n"}, "work_mem", stack.Int(1 << 20), "", "", "postgresql.conf:1: not a setting"},
	} {
		want := change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: c.port}, Name: c.knob}, To: c.to, Fact: cat.Fact("postgres", c.knob), Image: true}
		r, err := NewSetter(cat, nil).Recipe(t.Context(), hosttest.Map{Files: c.files}, &stack.Stack{}, want)
		if c.refused != "" {
			if refusal, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(refusal.Why, c.refused) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || len(r.Acts) != 1 || r.Acts[0].Edit.File != c.file || r.Acts[0].Edit.Value != c.set || r.Waits == "" {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}
