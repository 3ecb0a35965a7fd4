package edit

import (
	"bytes"
	"slices"
	"testing"
)

// property holds for every text, key and value: what is set is read, setting
// it again changes nothing, one run of lines differs, and taking it back gives
// the same bytes.
func property(f *testing.F, form Form, seeds ...[3]string) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), s[1], s[2])
		f.Add([]byte(s[0]+"\r\n"+s[0]), s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		out, err := Set(form, text, key, value)
		if err != nil {
			if out != nil && !bytes.Equal(out, text) {
				return // refused: nobody writes what comes with an error
			}
			return
		}
		if got, ok, err := Get(form, out, key); err != nil || !ok || got != value {
			t.Fatalf("%q: set %q to %q, and it reads %q, %v, %v", text, key, value, got, ok, err)
		}
		if again, err := Set(form, out, key, value); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q: set twice gives %q, %v", out, again, err)
		}
		s := Diff(text, out)
		if !bytes.Equal(bytes.Join([][]byte{text[:s.At], s.New, text[s.At+len(s.Old):]}, nil), out) {
			t.Fatalf("%q to %q: the splice %q does not lead there", text, out, s.New)
		}
		if back, err := s.Revert(out); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q: taken back it is %q, %v", text, back, err)
		}
		// Somebody has put a line above since.
		if back, err := Revert(form, s, slices.Concat([]byte("# x\n"), out), key); err == nil && !bytes.Equal(back, slices.Concat([]byte("# x\n"), text)) {
			t.Fatalf("%q: taken back below another line it is %q", text, back)
		}
		if same, err := s.Revert(text); err != nil || !bytes.Equal(same, text) {
			t.Fatalf("%q: what was never done was taken back: %q, %v", text, same, err)
		}
	})
}

func FuzzSysctl(f *testing.F) {
	property(f, Sysctl, [3]string{"# c\n-net/ipv4/x = 1\nvm.swappiness=60\n", "vm.swappiness", "10"})
}

func FuzzOptionFile(f *testing.F) {
	property(f, OptionFile, [3]string{"[mysqld]\nsync-binlog = \"0\" # x\nskip-name-resolve\n!includedir /etc/my.cnf.d\n[client]\n", "mysqld/sync_binlog", "a\"#\\ b"})
}

func FuzzPostgresql(f *testing.F) {
	property(f, Postgresql, [3]string{"a = 'b''c' # x\n#d\nWork_mem 4MB\ninclude_dir = 'conf.d'\n", "work_mem", "it's"})
}

func FuzzFstab(f *testing.F) {
	property(f, Fstab, [3]string{"# x\nUUID=1 /my\\040data ext4 rw,noatime 0 2\nswap none\n", "/my data", "ro x"})
}

func FuzzMount(f *testing.F) {
	property(f, Mount, [3]string{"# x\nUUID=1 /my\\040data ext4 rw,noatime 0 2\nswap none\n", "/db", "UUID=2 /db xfs noatime 0 2"})
}

func FuzzModprobe(f *testing.F) {
	property(f, Modprobe, [3]string{"options zfs a=1 \\\n b=\"2\" # x\nblacklist y\n", "zfs/b", "3"})
}

func FuzzTmpfiles(f *testing.F) {
	property(f, Tmpfiles, [3]string{"w! /sys/a - - - - x y\nd /run/x 0755 - - -\n", "/sys/a", "never"})
}

func FuzzLimits(f *testing.F) {
	property(f, Limits, [3]string{"# x\n* soft nofile 1024 # y\n", "*/soft/nofile", "2"})
}

func FuzzUnit(f *testing.F) {
	property(f, Unit, [3]string{"[Unit]\n; x\n[Service]\nLimitNOFILE = 1\n", "Service/LimitNOFILE", "2"})
}

func FuzzRules(f *testing.F) {
	property(f, Rules, [3]string{"# x\n/srv/b/  r,\ndeb [signed-by=/a] https://b c\n", "/srv/b/", "rw,"})
}

func FuzzUdev(f *testing.F) {
	property(f, Udev, [3]string{"# x\nACTION==\"add\", KERNEL==\"sd*\",ATTR{queue/scheduler}=\"none\", RUN+=\"x\"\n", `ACTION=="add", KERNEL=="sd*" ATTR{queue/scheduler}`, "kyber"})
}

func FuzzMongod(f *testing.F) {
	property(f, Mongod, [3]string{"# ü\nstorage:\n  dbPath: \"/a\"  # x\nnet: {port: 1}\nsystemLog.path: /b\n", "storage.dbPath", "it's: #x"})
}

// A damaged splice, as of a journal, never panics.
func FuzzRevert(f *testing.F) {
	f.Add([]byte("a=1\n"), []byte("a=1\n"), []byte("a=2\n"), 0)
	f.Fuzz(func(t *testing.T, now, old, added []byte, at int) {
		for _, after := range []string{"", sum(now)} {
			out, err := Splice{At: at, Old: old, New: added, After: after}.Revert(now)
			// Line ends may come and go with the last line, two bytes each.
			if off := len(out) - (len(now) - len(added) + len(old)); err == nil && (off < -2 || off > 4) {
				t.Fatalf("%q", out)
			}
		}
	})
}
