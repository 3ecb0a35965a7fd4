package playbook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/view/viewtest"
)

// ansibleRun writes the scratch draft as a playbook that runs here.
func ansibleRun(t *testing.T) (dir string, run func(args ...string) (string, error)) {
	t.Helper()
	program, err := exec.LookPath("ansible-playbook")
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("it takes minutes: PLUMB_REAL=1 runs it")
	}
	if err != nil {
		t.Skip("ansible-playbook is not installed")
	}
	dir = t.TempDir()
	d := scratchDraft(t, dir)
	text, err := Text("ansible", ansibleDraft(t, d, dir), scratchPlan(), viewtest.Units())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fix.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	return dir, func(args ...string) (string, error) {
		argv := append([]string{"-i", "db1,", "-c", "local", "-e", "ansible_become=false", "-e", "state=" + state, "-e", "ansible_python_interpreter={{ ansible_playbook_python }}", file}, args...)
		out, err := exec.CommandContext(t.Context(), program, argv...).CombinedOutput()
		return string(out), err
	}
}

// ansibleDraft adds the forms that the script's test does not have.
func ansibleDraft(t *testing.T, d change.Draft, dir string) change.Draft {
	t.Helper()
	more := []change.Act{
		{Edit: &change.Edit{File: scratchFile(t, dir, "etc/mongod.conf", "# mine\nstorage:\n  dbPath: /d # here\n"), Form: edit.Mongod, Key: "storage.wiredTiger.engineConfig.cacheSizeGB", Value: "8"}},
		{Edit: &change.Edit{File: scratchFile(t, dir, "etc/postgresql.conf", "shared_buffers = 128MB # small\nport = 5432\n"), Form: edit.Postgresql, Key: "shared_buffers", Value: "4GB"}},
		{Edit: &change.Edit{File: scratchFile(t, dir, "etc/fstab", "/dev/sdb1 /data xfs defaults 0 2\n"), Form: edit.Fstab, Key: "/data", Value: "defaults,noatime"}},
		{Edit: &change.Edit{File: scratchFile(t, dir, "etc/zfs.conf", "options zfs zfs_arc_max=1 zfs_txg_timeout=5\n"), Form: edit.Modprobe, Key: "zfs/zfs_arc_max", Value: "4096"}},
		{Edit: &change.Edit{File: filepath.Join(dir, "etc/udev.d/99-plumb.rules"), Form: edit.Udev, Key: `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sda" ATTR{queue/scheduler}`, Value: "none", Ours: true}},
		{Edit: &change.Edit{File: filepath.Join(dir, "etc/tmpfiles.d/plumb.conf"), Form: edit.Tmpfiles, Key: "/sys/a", Value: "never", Ours: true}},
		{Edit: &change.Edit{File: filepath.Join(dir, "etc/limits.d/plumb.conf"), Form: edit.Limits, Key: "mysql/-/nofile", Value: "65536", Ours: true}},
		{Edit: &change.Edit{File: filepath.Join(dir, "etc/unit.d/plumb.conf"), Form: edit.Unit, Key: "Service/LimitNOFILE", Value: "65536", Ours: true}},
		{Edit: &change.Edit{File: filepath.Join(dir, "etc/new/mongod.conf"), Form: edit.Mongod, Key: "a.b", Value: "1"}},
	}
	d.Steps = append(d.Steps, change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "db1"}, Name: "forms"}, To: stack.Text("all")},
		Recipe: change.Recipe{Effect: catalog.Now, Acts: more}})
	return d
}

func TestPlaybookAppliesAndUndoes(t *testing.T) {
	dir, run := ansibleRun(t)
	before := treeText(t, dir)
	out, err := run()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	after := treeText(t, dir)
	for name, want := range map[string]string{
		"proc/swappiness":           "10\n",
		"sys/enabled":               "always madvise [never]\n",
		"etc/sysctl.conf":           "# by hand\nvm.swappiness=10\nnet.core.somaxconn=100\n",
		"etc/my.cnf":                "[mysqld]\nsync-binlog = 1 # fast\nport = 3306\nsql_mode = A,B\n",
		"etc/unit.d/plumb.conf":     "[Service]\nLimitNOFILE=65536\n",
		"etc/mongod.conf":           "# mine\nstorage:\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 8\n  dbPath: /d # here\n",
		"etc/postgresql.conf":       "shared_buffers = 4GB\nport = 5432\n",
		"etc/fstab":                 "/dev/sdb1 /data xfs defaults,noatime 0 2\n",
		"etc/zfs.conf":              "options zfs zfs_arc_max=4096 zfs_txg_timeout=5\n",
		"etc/udev.d/99-plumb.rules": `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sda", ATTR{queue/scheduler}="none"` + "\n",
		"etc/limits.d/plumb.conf":   "mysql - nofile 65536\n",
		"etc/new/mongod.conf":       "a:\n  b: 1\n",
		"row":                       "it's\n",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q (%v), want %q", name, text, err, want)
		}
	}
	if out, err = run(); err != nil || !strings.Contains(out, "changed=0") || treeText(t, dir) != after {
		t.Errorf("a second time: %v\n%s", err, out)
	}
	if out, err = run("--tags", "undo"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	os.Remove(filepath.Join(dir, "log"))
	if got := treeText(t, dir); got != before {
		t.Errorf("undo left\n%s\nwant\n%s", got, before)
	}
	if out, err = run("--tags", "undo"); err != nil || !strings.Contains(out, "changed=0") {
		t.Errorf("undo a second time: %v\n%s", err, out)
	}
}

func TestPlaybookLeavesWhatOthersChanged(t *testing.T) {
	dir, run := ansibleRun(t)
	if out, err := run("-e", "restart=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	scratchFile(t, dir, "proc/swappiness", "5\n")
	scratchFile(t, dir, "etc/fstab", "# mine\n")
	out, err := run("--tags", "undo")
	if err == nil || !strings.Contains(out, "left as others set it") {
		t.Errorf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"proc/swappiness": "5\n", "etc/fstab": "# mine\n", "etc/postgresql.conf": "shared_buffers = 128MB # small\nport = 5432\n", "restarted": ""} {
		if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	if out, err := run("--tags", "undo", "-e", "force=true"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "proc/swappiness")); string(text) != "60\n" {
		t.Errorf("it was not forced: %q", text)
	}
}

// serverDraft asks servers, which modules do.
func serverDraft() change.Draft {
	my := &host.Target{Engine: "mysql", Name: "mysql:/run/mysqld/mysqld.sock", Network: "unix", Address: "/run/mysqld/mysqld.sock"}
	pg := &host.Target{Engine: "postgres", Network: "unix", Address: "/run/postgresql/.s.PGSQL.5432"}
	mongo := &host.Target{Engine: "mongo", Network: "tcp", Address: "127.0.0.1:27017"}
	statement := func(t *host.Target, text string) []change.Op { return []change.Op{{Target: t, Statement: text}} }
	pool := func(to string) change.Act {
		return change.Act{Switch: &change.Switch{On: "mysql:3306 @@GLOBAL.innodb_buffer_pool_size", Look: change.Look{Target: my, Query: "SELECT @@GLOBAL.innodb_buffer_pool_size"}, After: to,
			Do: statement(my, "SET GLOBAL innodb_buffer_pool_size = "+to), Undo: statement(my, "SET GLOBAL innodb_buffer_pool_size = {before}"), Guard: &change.Guard{MemAvailable: 1 << 30, SwapIn: true}, Patience: 60000}}
	}
	step := func(kind, name, knob string, to stack.Value, acts ...change.Act) change.Prepared {
		return change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: kind, Name: name}, Name: knob}, To: to, Because: "It is out of line", Why: []string{kind + "/" + knob}},
			Now: stack.Int(1), Recipe: change.Recipe{Effect: catalog.Now, Acts: acts}}
	}
	return change.Draft{Steps: []change.Prepared{
		step("mysql", "3306", "innodb_buffer_pool_size", stack.Int(2<<30), pool("1073741824"), pool("2147483648"),
			change.Act{Switch: &change.Switch{On: "mysql:3306 persisted innodb_buffer_pool_size", Look: change.Look{Target: my, Query: "SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = 'innodb_buffer_pool_size'"},
				After: "2147483648", Do: statement(my, "SET PERSIST_ONLY innodb_buffer_pool_size = 2147483648"), Undo: statement(my, "SET PERSIST_ONLY innodb_buffer_pool_size = {before}"),
				UndoNone: statement(my, "RESET PERSIST IF EXISTS innodb_buffer_pool_size")}}),
		step("postgres", "5432", "log_line_prefix", stack.Text("%m it's "), change.Act{Switch: &change.Switch{On: "postgres:5432 postgresql.auto.conf log_line_prefix",
			Look: change.Look{Target: pg, Query: "SELECT quote_literal(setting) FROM pg_file_settings"}, After: "'%m it''s '",
			Do:   append(statement(pg, "ALTER SYSTEM SET log_line_prefix = '%m it''s '"), statement(pg, "SELECT pg_reload_conf()")...),
			Undo: append(statement(pg, "ALTER SYSTEM SET log_line_prefix = {before}"), statement(pg, "SELECT pg_reload_conf()")...), UndoNone: statement(pg, "ALTER SYSTEM RESET log_line_prefix"), Patience: 3000}}),
		step("mongo", "27017", "ttl", stack.Bool(true), change.Act{Switch: &change.Switch{On: "mongo:27017 ttlMonitorEnabled", Look: change.Look{Target: mongo, Query: `{"getParameter": 1, "ttlMonitorEnabled": 1, "$only": ["ttlMonitorEnabled"]}`},
			After: "true", Do: statement(mongo, `{"setParameter": 1, "ttlMonitorEnabled": true}`), Undo: statement(mongo, `{"setParameter": 1, "ttlMonitorEnabled": {before}}`)}}),
		step("dataset", "tank/db", "recordsize", stack.Int(16384), change.Act{Switch: &change.Switch{On: "tank/db recordsize", Look: change.Look{Argv: []string{"zfs", "get", "-Hp", "-o", "value", "-s", "local", "recordsize", "tank/db"}}, After: "16384",
			Do: []change.Op{{Argv: []string{"zfs", "set", "recordsize=16384", "tank/db"}}}, Undo: []change.Op{{Argv: []string{"zfs", "set", "recordsize={before}", "tank/db"}}}, UndoNone: []change.Op{{Argv: []string{"zfs", "inherit", "recordsize", "tank/db"}}}}}),
	}}
}

// TestPlaybooksOfServers compares what is written for servers, and reads it back.
func TestPlaybooksOfServers(t *testing.T) {
	for _, form := range Forms() {
		text, err := Text(form, serverDraft(), scratchPlan(), viewtest.Units())
		if err != nil {
			t.Fatal(err)
		}
		viewtest.Golden(t, "playbook-"+form+".txt", text)
		if form != "ansible" {
			continue
		}
		var plays []map[string]any
		if err := yaml.Unmarshal([]byte(text), &plays); err != nil || len(plays) != 1 {
			t.Fatalf("no YAML: %v", err)
		}
		if tasks := plays[0]["tasks"].([]any); len(tasks) < 20 {
			t.Errorf("%d tasks", len(tasks))
		}
	}
}
