package edit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files as a distribution brings them, where this machine has them.
func TestSetInPackagedFiles(t *testing.T) {
	for _, c := range []struct {
		file string
		form Form
		set  []string // key, value, ...
		adds int      // lines
	}{
		{"/etc/mysql/mariadb.cnf", OptionFile, []string{"mysqld/sync_binlog", "1", "client-server/port", "3307"}, 4},
		{"/etc/mysql/mariadb.conf.d/50-server.cnf", OptionFile, []string{"mysqld/bind-address", "::1", "mysqld/expire_logs_days", "7", "mysqld/init_connect", "set names 'x' # y"}, 1},
		{"/etc/mysql/mariadb.conf.d/60-galera.cnf", OptionFile, []string{"mysqld/sync_binlog", "1"}, 3},
		{"/etc/mysql/conf.d/mysqldump.cnf", OptionFile, []string{"mysqldump/max_allowed_packet", "32M"}, 0},
		{"/usr/share/postgresql/15/postgresql.conf.sample", Postgresql, []string{"shared_buffers", "4GB", "random_page_cost", "1.1", "archive_command", `test ! -f '/a/%f' && cp "%p" \a`}, 3},
		{"/etc/sysctl.conf", Sysctl, []string{"vm.swappiness", "1", "net.ipv4.tcp_rmem", "4096 131072 6291456"}, 2},
		{"/usr/lib/sysctl.d/50-pid-max.conf", Sysctl, []string{"kernel.pid_max", "99999"}, 0},
		{"/etc/security/limits.conf", Limits, []string{"mysql/-/nofile", "65536"}, 1},
		{"/lib/modprobe.d/systemd.conf", Modprobe, []string{"bonding/max_bonds", "1", "zfs/zfs_arc_max", "1"}, 1},
		{"/lib/systemd/system/mariadb.service", Unit, []string{"Service/LimitNOFILE", "65536", "Service/OOMScoreAdjust", "-600"}, 1},
		{"/usr/lib/tmpfiles.d/postgresql-common.conf", Tmpfiles, []string{"/sys/a", "never"}, 1},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Skip(err)
			}
			now, made := text, []Splice{}
			for i := 0; i < len(c.set); i += 2 {
				after, err := Set(c.form, now, c.set[i], c.set[i+1])
				if err != nil {
					t.Fatal(err)
				}
				if got, ok, err := Get(c.form, after, c.set[i]); !ok || err != nil || got != c.set[i+1] {
					t.Errorf("%s is %q, %v, %v", c.set[i], got, ok, err)
				}
				made, now = append(made, Diff(now, after)), after
			}
			if added := bytes.Count(now, []byte("\n")) - bytes.Count(text, []byte("\n")); added != c.adds {
				t.Errorf("%d lines came, want %d:\n%s", added, c.adds, now)
			}
			for i, s := range slices.Backward(made) {
				if now, err = Revert(c.form, s, now, c.set[2*i]); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(now, text) {
				t.Error("taken back, it is not what it was")
			}
		})
	}
}

// What is written is what the program reads.
func TestProgramsReadWhatIsSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	read := func(t *testing.T, form Form, text, key, value string, program ...string) string {
		path, err := exec.LookPath(program[0])
		if err != nil {
			t.Skip(err)
		}
		out, err := Set(form, []byte(text), key, value)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(path, program[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", program, err, out)
		}
		return string(said)
	}
	for _, value := range []string{"1", "", "a#b", `a\b`, `\s`, "it's", `say "x"`, " blank ", "two words", `"`, `'x'`, "a;b", "[x]", "ü", "tab\tx", `end\`, "x=y", "!x", "${x}"} {
		t.Run("my.cnf/"+value, func(t *testing.T) {
			for _, text := range []string{"", "[mysqld]\nx-y = 'old' # c\n", "[mysqld]\r\nx_y\r\n[client]\r\na=1\r\n"} {
				said := read(t, OptionFile, text, "mysqld/x_y", value, "my_print_defaults", "--defaults-file="+file, "mysqld")
				if said = strings.ReplaceAll(said, "x-y", "x_y"); said != "--x_y="+value+"\n" {
					t.Errorf("%q: it says %q", text, said)
				}
			}
		})
		t.Run("postgresql/"+value, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "PG_VERSION"), []byte("15\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"", "cluster.name 'old' # c\n"} {
				said := read(t, Postgresql, text, "cluster.name", value, "/usr/lib/postgresql/15/bin/postgres",
					"-C", "cluster.name", "-D", filepath.Dir(file), "--config-file="+file)
				if said != value+"\n" {
					t.Errorf("%q: it says %q", text, said)
				}
			}
		})
		if value != "" && !strings.ContainsAny(value, "\tü") {
			t.Run("fstab/"+value, func(t *testing.T) {
				said := read(t, Fstab, "# x\nUUID=1 /my\\040data ext4 ro 0 0\n", "/my data", value, "findmnt", "--tab-file", file, "--noheadings", "--raw", "-o", "OPTIONS", "/my data")
				if said = strings.NewReplacer(`\x20`, " ", `\x5c`, `\`).Replace(said); said != value+"\n" {
					t.Errorf("it says %q", said)
				}
			})
		}
	}
	t.Run("tmpfiles", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "to")
		if err := os.WriteFile(to, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		line := "w " + to + " - - - - "
		read(t, Tmpfiles, line+"old\n"+line+"other\n", to, "always [x]", "systemd-tmpfiles", "--create", file)
		if got, err := os.ReadFile(to); err != nil || string(got) != "always [x]" {
			t.Errorf("it wrote %q, %v", got, err)
		}
	})
}
