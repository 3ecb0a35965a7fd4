package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Each row sets a key in a text. "|" in want marks nothing: texts are exact.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name             string
		form             Form
		text, key, value string
		want             string
	}{
		{"sysctl in place", Sysctl, "# c\nvm.swappiness = 60 \nx=1\n", "vm.swappiness", "10", "# c\nvm.swappiness = 10 \nx=1\n"},
		{"sysctl with slashes", Sysctl, "net/ipv4/conf/eth0.1/x=1\n", "net.ipv4.conf.eth0/1.x", "2", "net/ipv4/conf/eth0.1/x=2\n"},
		{"sysctl, the last one counts", Sysctl, "a.b=1\na.b=2", "a.b", "3", "a.b=1\na.b=3"},
		{"sysctl added, CRLF", Sysctl, "a.b=1\r\nc.d=2", "e.f", "3", "a.b=1\r\nc.d=2\r\ne.f = 3\r\n"},
		{"sysctl that may fail", Sysctl, "-a.b = 1\n", "a.b", "2", "-a.b = 2\n"},
		{"sysctl of two numbers", Sysctl, "net.ipv4.ip_local_port_range = 32768 60999\n", "net.ipv4.ip_local_port_range", "1024 65535", "net.ipv4.ip_local_port_range = 1024 65535\n"},
		{"option in place", OptionFile, "[client]\nport=1\n[mysqld]\nsync-binlog\t=  0   # why\nx\n", "mysqld/sync_binlog", "1", "[client]\nport=1\n[mysqld]\nsync-binlog\t=  1   # why\nx\n"},
		{"option at the end of its group", OptionFile, "[mysqld]\na=1\n\n# about b\n[client]\nb=2\n", "mysqld/c", "3", "[mysqld]\na=1\nc = 3\n\n# about b\n[client]\nb=2\n"},
		{"option in an empty group", OptionFile, "[mysqld]\n\n[client]\nb=2\n", "mysqld/c", "3", "[mysqld]\nc = 3\n\n[client]\nb=2\n"},
		{"option in a new group", OptionFile, "[client]\nb=2", "mysqld/c", "3", "[client]\nb=2\n\n[mysqld]\nc = 3\n"},
		{"option in an empty file", OptionFile, "", "mysqld/c", "3", "[mysqld]\nc = 3\n"},
		{"option that stands alone", OptionFile, "[mysqld]\n  innodb-file-per-table # yes\n", "mysqld/innodb_file_per_table", "0", "[mysqld]\n  innodb_file_per_table = 0 # yes\n"},
		{"option switched off by its prefix", OptionFile, "[mysqld]\ndisable-log-bin\n", "mysqld/log_bin", "binlog", "[mysqld]\nlog_bin = binlog\n"},
		{"loose option", OptionFile, "[mysqld]\nloose-innodb_x=1\n", "mysqld/innodb_x", "2", "[mysqld]\nloose-innodb_x=2\n"},
		{"option with a comment sign", OptionFile, "[mysqld]\ninit-connect='a'\n", "mysqld/init_connect", "a#b", "[mysqld]\ninit-connect=\"a#b\"\n"},
		{"postgres in place", Postgresql, "shared_buffers = 128MB\t\t# min 128kB\n#work_mem = 4MB\n", "shared_buffers", "1GB", "shared_buffers = 1GB\t\t# min 128kB\n#work_mem = 4MB\n"},
		{"postgres without =", Postgresql, "Work_Mem 4MB\n", "work_mem", "8MB", "Work_Mem 8MB\n"},
		{"postgres quoted", Postgresql, "x = 'it''s' # c\n", "x", `a 'b'\c`, "x = 'a ''b''\\\\c' # c\n"},
		{"postgres added", Postgresql, "#max_wal_size = 1GB", "max_wal_size", "4GB", "#max_wal_size = 1GB\nmax_wal_size = 4GB\n"},
		{"postgres fraction", Postgresql, "", "random_page_cost", "1.1", "random_page_cost = '1.1'\n"},
		{"fstab", Fstab, "UUID=1 /data ext4 defaults,noatime 0 2 # x\n", "/data", "defaults,lazytime", "UUID=1 /data ext4 defaults,lazytime 0 2 # x\n"},
		{"a mount", Mount, "# x\nUUID=1 / ext4 defaults 0 1\n", "/data", "UUID=2 /data xfs noatime 0 2", "# x\nUUID=1 / ext4 defaults 0 1\nUUID=2 /data xfs noatime 0 2\n"},
		{"a mount in place", Mount, "UUID=1\t/data/  ext4 ro 0 0 # x\n", "/data", "UUID=2 /data xfs noatime 0 2", "UUID=2 /data xfs noatime 0 2 # x\n"},
		{"fstab with a blank in the name", Fstab, "UUID=1 /my\\040data xfs rw 0 0\n", "/my data", "ro", "UUID=1 /my\\040data xfs ro 0 0\n"},
		{"fstab without options", Fstab, "/dev/sdb /data ext4\n", "/data", "noatime", "/dev/sdb /data ext4 noatime\n"},
		{"modprobe in place", Modprobe, "options zfs zfs_arc_max=1 zfs_txg_timeout=5\n", "zfs/zfs_arc_max", "2", "options zfs zfs_arc_max=2 zfs_txg_timeout=5\n"},
		{"modprobe over lines", Modprobe, "options zfs \\\n  zfs_arc_max=1 \\\n  zfs_txg_timeout=5\n", "zfs/zfs_txg_timeout", "9", "options zfs \\\n  zfs_arc_max=1 \\\n  zfs_txg_timeout=9\n"},
		{"modprobe added", Modprobe, "# x\n", "zfs/zfs_arc_max", "1", "# x\noptions zfs zfs_arc_max=1\n"},
		{"tmpfiles", Tmpfiles, "w! /sys/a - - - - madvise \n", "/sys/a", "never", "w! /sys/a - - - - never \n"},
		{"tmpfiles added", Tmpfiles, "", "/sys/a", "never", "w /sys/a - - - - never\n"},
		{"limits", Limits, "mysql soft nofile 1024\n", "mysql/soft/nofile", "65536", "mysql soft nofile 65536\n"},
		{"limits added", Limits, "", "mysql/-/nofile", "65536", "mysql - nofile 65536\n"},
		{"unit", Unit, "[Unit]\nA=1\n\n[Service]\nLimitNOFILE=1024\n", "Service/LimitNOFILE", "65536", "[Unit]\nA=1\n\n[Service]\nLimitNOFILE=65536\n"},
		{"unit added", Unit, "[Service]\nA=1\n[Install]\nB=2\n", "Service/LimitNOFILE", "65536", "[Service]\nA=1\nLimitNOFILE=65536\n[Install]\nB=2\n"},
		{"rule in place", Rules, "# x\n/srv/my/** rw, # y\n  /srv/b/ r,\r\n", "/srv/b/", "rw,", "# x\n/srv/my/** rw, # y\n  /srv/b/ rw,\r\n"},
		{"rule added", Rules, "# x", "/tank/db/**", "rwk,", "# x\n/tank/db/** rwk,\n"},
		{"udev", Udev, "ACTION==\"add|change\",KERNEL==\"sda\" , ATTR{queue/scheduler}=\"mq-deadline\"\n", `ACTION=="add|change", KERNEL=="sda" ATTR{queue/scheduler}`, "none", "ACTION==\"add|change\",KERNEL==\"sda\" , ATTR{queue/scheduler}=\"none\"\n"},
		{"udev added", Udev, "# x\n", `KERNEL=="sda" ATTR{queue/scheduler}`, "none", "# x\nKERNEL==\"sda\", ATTR{queue/scheduler}=\"none\"\n"},
		{"yaml in place", Mongod, "storage:\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB:  4   # of 16\n", "storage.wiredTiger.engineConfig.cacheSizeGB", "8", "storage:\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB:  8   # of 16\n"},
		{"yaml quoted, not ASCII, CRLF", Mongod, "größe: \"ä\" # ü\r\nstorage:\r\n  dbPath: '/a'\r\n", "storage.dbPath", "/b", "größe: \"ä\" # ü\r\nstorage:\r\n  dbPath: /b\r\n"},
		{"yaml with dots", Mongod, "storage.dbPath: /a\n", "storage.dbPath", "/b", "storage.dbPath: /b\n"},
		{"yaml nested anew", Mongod, "storage:\n   dbPath: /a\nnet:\n   port: 1\n", "storage.wiredTiger.engineConfig.cacheSizeGB", "8", "storage:\n   wiredTiger:\n     engineConfig:\n       cacheSizeGB: 8\n   dbPath: /a\nnet:\n   port: 1\n"},
		{"yaml in an empty file", Mongod, "# nothing\n", "net.port", "1", "# nothing\nnet:\n  port: 1\n"},
		{"yaml below an empty key", Mongod, "net:\nstorage:\n  a: 1\n", "net.port", "1", "net:\n  port: 1\nstorage:\n  a: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Set(c.form, []byte(c.text), c.key, c.value)
			if err != nil || string(out) != c.want {
				t.Fatalf("%q, %v\nwant %q", out, err, c.want)
			}
			back, err := Diff([]byte(c.text), out).Revert(out)
			if err != nil || string(back) != c.text {
				t.Errorf("taken back: %q, %v", back, err)
			}
		})
	}
}

// What cannot be done safely is refused, with the line.
func TestSetRefuses(t *testing.T) {
	for _, c := range []struct {
		name             string
		form             Form
		text, key, value string
		want             string
	}{
		{"unknown form", "ini", "", "a", "b", "not a format"},
		{"zero byte", Sysctl, "a=1\nb\x00=2\n", "a", "1", "line 2: a zero byte"},
		{"newline", Sysctl, "", "vm.x", "1\nkernel.y=2", "does not fit on one line"},
		{"option before a group", OptionFile, "# x\na=1\n", "mysqld/b", "1", "line 2: an option before the first group"},
		{"open group", OptionFile, "[mysqld\n", "mysqld/b", "1", "line 1: a group header"},
		{"no group", OptionFile, "", "b", "1", "want group/option"},
		{"bad postgresql.conf", Postgresql, "a = 1\nb = = 2 3\n", "a", "2", "line 2: not a setting"},
		{"fstab, no such line", Fstab, "UUID=1 / ext4\n", "/data", "ro", "no line for this mount point"},
		{"blank in a limit", Limits, "", "a/b/c", "1 2", "cannot hold"},
		{"udev over lines", Udev, "KERNEL==\"a\", \\\nATTR{x}=\"1\"\n", `KERNEL=="a" ATTR{x}`, "2", "line 1: it continues"},
		{"broken yaml", Mongod, "a: [1\nb: 2\n", "b", "3", "not understood as YAML"},
		{"two documents", Mongod, "a: 1\n---\nb: 2\n", "a", "3", "more than one YAML document"},
		{"yaml block", Mongod, "a: |\n  x\n  y\n", "a", "z", "line 1: its value is not plainly written"},
		{"yaml flow", Mongod, "net: {port: 1}\n", "net.tls.mode", "x", "not a plain list"},
	} {
		if out, err := Set(c.form, []byte(c.text), c.key, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", c.name, out, err)
		}
	}
}

// A splice is taken back also when other lines were changed since, and never
// when its own were.
func TestRevertAmongOthers(t *testing.T) {
	before := []byte("a=1\nb=2\nc=3\n")
	after := []byte("a=1\nb=9\nc=3\n")
	s := Diff(before, after)
	if string(s.Old) != "b=2\n" || string(s.New) != "b=9\n" {
		t.Fatalf("%q %q", s.Old, s.New)
	}
	for now, want := range map[string]string{
		"a=1\nb=9\nc=3\n":           "a=1\nb=2\nc=3\n",
		"a=1\nb=2\nc=3\n":           "a=1\nb=2\nc=3\n",
		"# new\na=7\nb=9\nc=3\nd\n": "# new\na=7\nb=2\nc=3\nd\n",
		"b=9\na=1\nb=9\n":           "b=9\na=1\nb=2\n", // the one below a=1
		"a=1\nb=8\nc=3\n":           "",
		"a=1\nbb=9\n":               "",
		"b=9\nb=9\n":                "",
		"":                          "",
	} {
		got, err := s.Revert([]byte(now))
		if want == "" && !errors.Is(err, ErrDrifted) || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%q: %q, %v", now, got, err)
		}
	}
	text, err := json.Marshal(s)
	var again Splice
	if err := errors.Join(err, json.Unmarshal(text, &again)); err != nil || !bytes.Equal(again.New, s.New) || again.After != s.After {
		t.Errorf("%s: %+v, %v", text, again, err)
	}
}

func TestBytesInJSON(t *testing.T) {
	for _, text := range []string{"", "plain", "g\xfcn", "\x00"} {
		b, err := json.Marshal(Bytes(text))
		var again Bytes
		if err := errors.Join(err, json.Unmarshal(b, &again)); err != nil || string(again) != text {
			t.Errorf("%q: %s, %q, %v", text, b, again, err)
		}
	}
}

func TestUnset(t *testing.T) {
	for _, c := range []struct {
		form            Form
		text, key, want string
	}{
		{Sysctl, "a.b=1\nc.d=2\n", "c.d", "a.b=1\n"},
		{Sysctl, "a.b=1\n", "x.y", "a.b=1\n"},
		{Sysctl, "a.b=1\na.b=2", "a.b", "a.b=1\n"},
		{OptionFile, "[mysqld]\n# x\nsync-binlog=1\n[client]\nuser=x\n", "mysqld/sync_binlog", "[mysqld]\n# x\n[client]\nuser=x\n"},
		{Modprobe, "options zfs a=1 b=2\n", "zfs/a", ""},
		{Mongod, "net:\n  port: 1\n  bindIp: x\n", "net.port", "net:\n  bindIp: x\n"},
		{Mongod, "net: {port: 1, bindIp: x}\n", "net.port", ""},
	} {
		out, err := Unset(c.form, []byte(c.text), c.key)
		if c.want == "" && err == nil || c.want != "" && (err != nil || string(out) != c.want) {
			t.Errorf("%q without %s: %q, %v", c.text, c.key, out, err)
		}
	}
}
