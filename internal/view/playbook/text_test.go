package playbook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/edit"
)

// editCases are files with what is set in them.
var editCases = map[string]struct {
	form             edit.Form
	text, key, value string
}{
	"sysctl replaced":       {edit.Sysctl, "# c\nvm.swappiness=60\nvm/swappiness =  1 \n-net.a.b=1\n", "vm.swappiness", "10"},
	"sysctl added":          {edit.Sysctl, "# vm.swappiness=60\nvm.swappiness2 = 1\n", "vm.swappiness", "10"},
	"sysctl of several":     {edit.Sysctl, "net.ipv4.tcp_rmem = 4096 87380 6291456\n", "net.ipv4.tcp_rmem", "4096 131072 16777216"},
	"sysctl crlf":           {edit.Sysctl, "# by hand\r\nvm.swappiness = 30\r\nnet.core.somaxconn=100\r\n", "vm.swappiness", "10"},
	"sysctl into nothing":   {edit.Sysctl, "", "vm.swappiness", "10"},
	"option replaced":       {edit.OptionFile, "[client]\nport=1\n[mysqld]\ninnodb-buffer-pool-size = 128M # why\nport=3306\n[mysqld_safe]\nx=1\n", "mysqld/innodb_buffer_pool_size", "1073741824"},
	"option quoted":         {edit.OptionFile, "[mysqld]\nsql_mode = \"A,B\"\n", "mysqld/sql_mode", "STRICT_TRANS_TABLES,NO_ZERO_DATE"},
	"option loose":          {edit.OptionFile, "[mysqld]\nloose-sync-binlog=0\n", "mysqld/sync_binlog", "1"},
	"option in its group":   {edit.OptionFile, "[mysqld]\nskip-name-resolve\n# end\n\n[mariadb]\nport=1\n", "mysqld/sync_binlog", "1"},
	"option in a new group": {edit.OptionFile, "[client]\nport=1\n", "mysqld/sync_binlog", "1"},
	"option in empty group": {edit.OptionFile, "# mine\n[mysqld]\n", "mysqld/sync_binlog", "1"},
	"option of last group":  {edit.OptionFile, "[mysqld]\na=1\n[x]\nb=1\n[mysqld]\nc=1\n!includedir /etc/mysql/conf.d\n", "mysqld/sync_binlog", "1"},
	"postgres replaced":     {edit.Postgresql, "#shared_buffers = 1\nShared_Buffers 128MB\t# min 128kB\nport = 5432\n", "shared_buffers", "4GB"},
	"postgres quoted":       {edit.Postgresql, "log_line_prefix = '%m [%p] it''s # '		# special\n", "log_line_prefix", "%t o'clock "},
	"postgres added":        {edit.Postgresql, "port = 5432\n", "shared_buffers", "4GB"},
	"fstab":                 {edit.Fstab, "# <file system>\nUUID=1-2 / ext4 errors=remount-ro 0 1\n/dev/sdb1\t/data  xfs\tdefaults,noatime 0 2\n", "/data", "defaults,noatime,discard"},
	"modprobe replaced":     {edit.Modprobe, "options zfs zfs_arc_max=1 zfs_txg_timeout=5\noptions other zfs_arc_max=1\n", "zfs/zfs_arc_max", "1073741824"},
	"modprobe added":        {edit.Modprobe, "# options zfs zfs_arc_max=1\n", "zfs/zfs_arc_max", "1073741824"},
	"tmpfiles replaced":     {edit.Tmpfiles, "d /run/x 0755 root root -\nw /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n", "/sys/kernel/mm/transparent_hugepage/enabled", "madvise"},
	"tmpfiles added":        {edit.Tmpfiles, "", "/sys/kernel/mm/transparent_hugepage/enabled", "madvise"},
	"limits replaced":       {edit.Limits, "* - nofile 1024\nmysql  -  nofile\t1024\n", "mysql/-/nofile", "65536"},
	"limits added":          {edit.Limits, "mysql - nproc 1\n", "mysql/-/nofile", "65536"},
	"unit replaced":         {edit.Unit, "[Unit]\nLimitNOFILE=1\n[Service]\nLimitNOFILE=1024\nExecStart=/x\n", "Service/LimitNOFILE", "65536"},
	"unit added":            {edit.Unit, "[Service]\nExecStart=/x\n\n[Install]\nWantedBy=y\n", "Service/LimitNOFILE", "65536"},
	"udev replaced":         {edit.Udev, `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sda", ATTR{queue/scheduler}="none", ATTR{queue/nr_requests}="64"` + "\n", `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sda" ATTR{queue/nr_requests}`, "256"},
	"udev added":            {edit.Udev, "# mine\n", `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sda" ATTR{queue/scheduler}`, "mq-deadline"},
	"yaml replaced":         {edit.Mongod, "storage:\n  dbPath: /d\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 1   # why\nnet:\n  port: 27017\n", "storage.wiredTiger.engineConfig.cacheSizeGB", "8"},
	"yaml quoted":           {edit.Mongod, "a:\n    b: 'x # y' # z\n", "a.b", "w"},
	"yaml below":            {edit.Mongod, "# c\nstorage:\n    dbPath: /d\n    # x\n    wiredTiger:\n        collectionConfig:\n            blockCompressor: snappy\nnet:\n    port: 1\n", "storage.wiredTiger.engineConfig.cacheSizeGB", "8"},
	"yaml at the end":       {edit.Mongod, "net:\n  port: 27017\n", "operationProfiling.mode", "slowOp"},
	"yaml waiting":          {edit.Mongod, "net:\n  port: 27017\n#processManagement:\nsetParameter:\n", "setParameter.x", "1"},
	"yaml into nothing":     {edit.Mongod, "", "a.b.c", "1"},
	"yaml not confused":     {edit.Mongod, "x:\n  storage:\n    dbPath: /no\nstorage:\n  other:\n    dbPath: /no\n  dbPath: /d\n", "storage.dbPath", "/data"},
}

// TestScriptsEditAsPlumbDoes compares what awk makes of a file with what
// package edit makes of it.
func TestScriptsEditAsPlumbDoes(t *testing.T) {
	awks := []string{"awk", "mawk", "gawk", "original-awk"}
	for name, c := range editCases {
		e := &change.Edit{File: "/f", Form: c.form, Key: c.key, Value: c.value}
		want, err := edit.Set(c.form, []byte(c.text), c.key, c.value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, awk := range awks {
			path, err := exec.LookPath(awk)
			if err != nil {
				continue
			}
			t.Run(name+"/"+awk, func(t *testing.T) {
				if got := awkEdit(t, path, e, c.text); got != string(want) {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
			})
		}
	}
}

// awkEdit runs the awk programs of a script over a text.
func awkEdit(t *testing.T, awk string, e *change.Edit, text string) string {
	t.Helper()
	var cmd *exec.Cmd
	if e.Form == edit.Mongod {
		raw, err := yamlRaw(e)
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), awk, yamlAwk)
		cmd.Env = append(os.Environ(), "KEY="+e.Key, "RAW="+raw)
	} else {
		l, err := lineEditOf(e)
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), awk, lineAwk)
		cmd.Env = append(os.Environ(), "SECTION="+l.section, "BEFORE="+l.before, "VALUE="+l.value, "RAW="+l.raw, "LINE="+l.line)
	}
	cmd.Stdin = strings.NewReader(text)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", awk, err)
	}
	return string(out)
}

// TestScriptsDoNotEditWhatTheyDoNotUnderstand gives awk files that are to be
// edited by people.
func TestScriptsDoNotEditWhatTheyDoNotUnderstand(t *testing.T) {
	for name, text := range map[string]string{"flow": "a: {b: 1}\n", "two documents": "a:\n  b: 1\n---\na:\n  b: 2\n", "block": "a:\n  b: |\n    x\n"} {
		cmd := exec.CommandContext(t.Context(), "awk", yamlAwk)
		cmd.Env = append(os.Environ(), "KEY=a.b", "RAW=1")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.Output(); err == nil || len(out) > 0 {
			t.Errorf("%s: edited: %q", name, out)
		}
	}
}

// scratchFile writes a file of the test's directory.
func scratchFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

// treeText is every file of a directory with its mode and text.
func treeText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		info, _ := d.Info()
		fmt.Fprintf(&b, "%s %v %q\n", path, info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
