package edit

import (
	"strings"
	"testing"
)

// Each row is something that a program reads in its own way.
func TestGet(t *testing.T) {
	for _, c := range []struct {
		name      string
		form      Form
		text, key string
		want      string
	}{
		{"sysctl in either spelling", Sysctl, "net/ipv4/conf/eth0.1/x=1\n", "net.ipv4.conf.eth0/1.x", "1"},
		{"sysctl, the last counts", Sysctl, "a.b=1\n-a.b = 2\n", "a.b", "2"},
		{"option, the last counts", OptionFile, "[mysqld]\na=1\n[client]\na=2\n[mysqld]\nA=3\na=4\n", "mysqld/a", "4"},
		{"option with escapes", OptionFile, "[mysqld]\na='x # y' # z\n", "mysqld/a", "x # y"},
		{"option that is switched on", OptionFile, "[mysqld]\nenable-a\n", "mysqld/a", "ON"},
		{"option that stands alone", OptionFile, "[mysqld]\nskip-name-resolve\n", "mysqld/skip_name_resolve", "ON"},
		{"unit over lines", Unit, "[Service]\nA=1 \\\n# c\n  2 \\\n[x]\nB=3\n", "Service/B", "3"},
		{"postgres in capitals", Postgresql, "Work_Mem '4 MB'\n", "work_mem", "4 MB"},
		{"postgres escapes", Postgresql, `a = 'x\ty\'z''\\' # c`, "a", "x\ty'z'\\"},
		{"fstab, a slash too many", Fstab, "UUID=1 /data/ ext4 ro 0 0\n", "/data", "ro"},
		{"fstab without options", Fstab, "UUID=1 /data\n", "/data", "defaults"},
		{"modprobe with a dash", Modprobe, "options snd-hda a-b=1\n", "snd_hda/a_b", "1"},
		{"modprobe over lines", Modprobe, "options zfs a=1 \\\n\tb=2 \\\n\tc=3\n", "zfs/c", "3"},
		{"modprobe in quotes", Modprobe, "options zfs a=\"1\"\n", "zfs/a", "1"},
		{"tmpfiles, the first counts", Tmpfiles, "w /sys/a - - - - 1\nw /sys/a - - - - 2\nf /sys/b - - - - 3\n", "/sys/a", "1"},
		{"limits in capitals, with a comment", Limits, "mysql Soft NOFILE 1024#x\n# mysql soft nofile 1\nmysql soft nofile # 2\n", "mysql/soft/nofile", "1024"},
		{"unit, the last counts", Unit, "[Service]\nLimitNOFILE=1\n[Install]\nLimitNOFILE=2\n[Service]\nLimitNOFILE = 3 \n", "Service/LimitNOFILE", "3"},
		{"yaml with dots and in braces", Mongod, "storage.wiredTiger: {engineConfig: {cacheSizeGB: 1.5}}\n", "storage.wiredTiger.engineConfig.cacheSizeGB", "1.5"},
		{"yaml folded", Mongod, "a:\n  b: >\n    x\n    y\n", "a.b", "x y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok, err := Get(c.form, []byte(c.text), c.key); err != nil || !ok || got != c.want {
				t.Errorf("%q, %v, %v", got, ok, err)
			}
			out, err := Set(c.form, []byte(c.text), c.key, c.want)
			if err != nil || string(out) != c.text {
				t.Errorf("set to what it is: %q, %v", out, err)
			}
			if _, ok, err := Get(c.form, []byte(c.text), "no/such/thing"); ok || err != nil {
				t.Errorf("what is not there: %v, %v", ok, err)
			}
		})
	}
}

// Each row sets what stands in a less usual way.
func TestSetUnusual(t *testing.T) {
	for _, c := range []struct {
		name             string
		form             Form
		text, key, value string
		want             string
	}{
		{"loose option that stands alone", OptionFile, "[mysqld]\nloose-a\n", "mysqld/a", "1", "[mysqld]\nloose_a = 1\n"},
		{"option before an include", OptionFile, "[mysqld]\na=1\n!includedir /etc/x\n", "mysqld/b", "1", "[mysqld]\na=1\nb = 1\n!includedir /etc/x\n"},
		{"option, CRLF, no line end", OptionFile, "[mysqld]\r\na=1", "mysqld/b", "1", "[mysqld]\r\na=1\r\nb = 1\r\n"},
		{"no-break space is no blank", Sysctl, "\u00a0a.b=1\n", "a.b", "2", "\u00a0a.b=1\na.b = 2\n"},
		{"tmpfiles, the first", Tmpfiles, "w /a - - - - 1\nw /a - - - - 2\n", "/a", "3", "w /a - - - - 3\nw /a - - - - 2\n"},
		{"limit with a comment", Limits, "@db hard memlock 1 # x\n", "@db/hard/memlock", "unlimited", "@db hard memlock unlimited # x\n"},
		{"yaml null is a word", Mongod, "", "a", "null", "a: 'null'\n"},
		{"yaml in braces", Mongod, "net: {port: 1, ipv6: true}\n", "net.port", "2", "net: {port: 2, ipv6: true}\n"},
		{"yaml after a document's start", Mongod, "---\na: 1\n", "b.c", "2", "---\na: 1\nb:\n  c: 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Set(c.form, []byte(c.text), c.key, c.value)
			if err != nil || string(out) != c.want {
				t.Errorf("%q, %v\nwant %q", out, err, c.want)
			}
		})
	}
}

func TestSetRefusesUnusual(t *testing.T) {
	for _, c := range []struct {
		name             string
		form             Form
		text, key, value string
		want             string
	}{
		{"too large", Sysctl, strings.Repeat("#\n", maxText/2+1), "a", "1", "larger than 8 MiB"},
		{"pattern", Sysctl, "", "net.*.x", "1", "cannot be written"},
		{"long comment", OptionFile, "[mysqld]\n#" + strings.Repeat("x", maxOptionLine) + "\n", "mysqld/a", "1", "line 2: longer than"},
		{"value beyond the line", OptionFile, "[mysqld]\n", "mysqld/a", strings.Repeat("x", maxOptionLine), "could not be read again"},
		{"modprobe ends in the midst", Modprobe, "options zfs a=1 \\\n", "zfs/b", "1", "line 1: it continues, and nothing follows"},
		{"modprobe word over lines", Modprobe, "options zfs a=1\\\n2\n", "zfs/b", "1", "line 1: it continues in the middle of a word"},
		{"modprobe blank", Modprobe, "", "zfs/b", "1 2", "cannot hold"},
		{"modprobe without module", Modprobe, "", "b", "1", "want module/parameter"},
		{"tmpfiles added to", Tmpfiles, "w+ /a - - - - 1\n", "/a", "2", "line 1: its value is not plainly written"},
		{"tmpfiles specifier", Tmpfiles, "", "/a", "%b", "cannot hold"},
		{"tmpfiles path", Tmpfiles, "", "a b", "1", "want a path"},
		{"limits without type", Limits, "", "a/b", "1", "want domain/type/item"},
		{"unit over lines", Unit, "[Service]\nA=1 \\\n2\n", "Service/A", "1", "line 2: its value is not plainly written"},
		{"unit that goes on into nothing", Unit, "[Service]\nA=1 \\", "Service/B", "1", "cannot be written"},
		{"unit that goes on", Unit, "", "Service/A", `x\`, "cannot hold"},
		{"unit without section", Unit, "", "A", "x", "want section/name"},
		{"unit open section", Unit, "[Service\n", "Service/A", "x", "line 1: a section header"},
		{"udev value", Udev, "", `KERNEL=="a" ATTR{x}`, "$x", "cannot hold"},
		{"udev without match", Udev, "", "ATTR{x}", "1", "want matches"},
		{"fstab value", Fstab, "UUID=1 /a ext4 ro\n", "/a", "", "cannot hold"},
		{"mount of few fields", Mount, "", "/a", "UUID=1 /a ext4", "not a line of six fields"},
		{"mount elsewhere", Mount, "", "/a", "UUID=1 /b ext4 ro 0 2", "cannot be written"},
		{"yaml alias", Mongod, "a: &x\n  b: 1\nc: *x\n", "a.b", "2", "line 1: an anchor"},
		{"yaml list", Mongod, "- a\n", "a", "2", "line 1: not a list of settings"},
		{"yaml list in place", Mongod, "a:\n  - b\n", "a", "2", "is there, and not as a plain value"},
		{"yaml in braces, new", Mongod, "{a: 1}\n", "b", "2", "between braces"},
		{"yaml ended", Mongod, "a: 1\n...\n", "b", "2", "ends the document"},
		{"yaml control sign", Mongod, "a: 1\n", "a", "x\ny", "holds a character"},
		{"yaml name", Mongod, "a: 1\n", "b: c", "x", "want names"},
		{"yaml too deep", Mongod, strings.Repeat("{a: ", 30) + "1" + strings.Repeat("}", 30), "b", "x", "nested too deeply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := Set(c.form, []byte(c.text), c.key, c.value); out != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}
