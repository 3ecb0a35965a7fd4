package real

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// bounded demands what holds for every run whatever the input: it ends by
// itself, in time and memory.
func bounded(t *testing.T, r ran) *stack.Stack {
	t.Helper()
	if r.code != 0 || r.took > 20*time.Second || r.memory > 200<<20 || r.memory == 0 {
		t.Errorf("exit %d after %v with %d MB: %s", r.code, r.took, r.memory>>20, r.err)
	}
	return r.seen(t)
}

// listOf gives a fact that is a list, in lines.
func listOf(s *stack.Stack, ref stack.Ref, fact string) string {
	v, _ := s.Find(ref).Get(fact)
	l, _ := v.List()
	return strings.Join(l, "\n")
}

// spoilOptionFile are the ways an option file goes wrong after the server was
// started with it. errors and gap are what must be said; "" for nothing.
func spoilOptionFile(t *testing.T, file string) []struct {
	name, text, errors, gap string
} {
	circle := filepath.Dir(file) + "/circle.cnf"
	check(t, os.WriteFile(circle, []byte("[mysqld]\n!include "+file+"\n"), 0o644))
	long := "[mysqld]\n" + strings.Repeat("# filler filler filler filler filler filler filler\n", 2<<20)
	return []struct{ name, text, errors, gap string }{
		{"unknown_lines", "[mysqld]\nno_such_setting=1\n%%%\n=\nx=y=z\n!nonsense\nmax_connections=77\n", "", ""},
		{"unclosed_quote", "[mysqld]\ndatadir='/var/lib\nmax_connections=77\n", "", ""},
		{"unclosed_group", "[mysqld\nmax_connections=77\n", ":1: group header without a closing bracket", ""},
		{"no_group", "max_connections=77\n", ":1: option before the first group", ""},
		{"crlf", "[mysqld]\r\nmax_connections=77\r\n", "", ""},
		{"byte_order_mark", "\xef\xbb\xbf[mysqld]\nmax_connections=77\n", ":1: byte order mark", ""},
		{"non_ascii", "[mysqld]\n# Gr\xfc\xdfe aus K\xf6ln\ninit_connect='SET @a=\"\u65e5\u672c\xff\"'\nmax_connections=77\n", "", ""},
		{"circle", "[mysqld]\nmax_connections=77\n!include " + circle + "\n", "includes itself", ""},
		{"own_directory", "[mysqld]\nmax_connections=77\n!includedir " + filepath.Dir(file) + "\n", "includes itself", ""},
		{"binary", string(make([]byte, 100000)), "", ""},
		{"large", long, "", "larger than the limit"},
	}
}

func TestSpoiltOptionFiles(t *testing.T) {
	b := box(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t)})
	check(t, err)
	file := filepath.Join(filepath.Dir(my.Socket), "my.cnf")
	for _, c := range spoilOptionFile(t, file) {
		t.Run(c.name, func(t *testing.T) {
			check(t, os.WriteFile(file, []byte(c.text), 0o644))
			s := bounded(t, plumb(t, "stack", "--json"))
			ref := refOf(t, s, my)
			if in, _ := s.Find(ref).Bool("logged_in"); !in {
				t.Errorf("not logged in: %s", gapsOf(s, ref))
			}
			said := listOf(s, ref, "option_file_errors")
			if c.errors == "" && said != "" && c.name != "binary" || c.errors != "" && !strings.Contains(said, c.errors) {
				t.Errorf("errors %q, want %q", said, c.errors)
			}
			if c.errors != "" && !strings.Contains(said, file) && !strings.Contains(said, "circle.cnf") {
				t.Errorf("the file is not named: %q", said)
			}
			contains(t, gapsOf(s, ref), c.gap)
			if next := s.Find(ref).Facts["max_connections"].Next; strings.Contains(c.text, "max_connections") && c.errors == "" &&
				c.gap == "" && fmt.Sprint(next) == "{}" {
				t.Error("that the next start would change max_connections was not seen")
			}
		})
	}
	t.Run("directory", func(t *testing.T) {
		check(t, os.Remove(file))
		check(t, os.Mkdir(file, 0o755))
		s := bounded(t, plumb(t, "stack", "--json"))
		contains(t, gapsOf(s, refOf(t, s, my)), "read "+file, "is a directory")
		check(t, os.Remove(file))
	})
	t.Run("unreadable", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("needs root to become another user")
		}
		check(t, os.WriteFile(file, []byte("[mysqld]\npassword=right-one\n"), 0o000))
		as := func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			c.Dir = "/"
		}
		r := plumbIn(t, as, "stack", "--json")
		s := bounded(t, r)
		var db *stack.Thing
		for _, one := range s.OfKind("mysql") {
			if len(one.Links["process"]) > 0 && one.Links["process"][0].Name == fmt.Sprint(my.PID) {
				db = one
			}
		}
		if db == nil {
			t.Fatalf("the server was not found without root: %v", s.OfKind("mysql"))
		}
		contains(t, gapsOf(s, db.Ref), "permission denied", "run as root")
		text := plumbIn(t, as, "check")
		contains(t, text.out, "sudo plumb check")
	})
}

func TestSpoiltPostgresConf(t *testing.T) {
	b := box(t)
	pg, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t)})
	check(t, err)
	file := filepath.Join(pg.Dir, "postgresql.conf")
	good, err := os.ReadFile(file)
	check(t, err)
	for _, c := range []struct{ name, more, says string }{
		{"no_setting", "\nthis is no setting at all\n", "postgresql.conf:"},
		{"unclosed_quote", "\nlog_line_prefix = 'abc\n", "postgresql.conf:"},
		{"unknown", "\nno_such_setting = 1\n", "postgresql.conf:"},
		{"circle", "\ninclude = 'postgresql.conf'\n", "postgresql.conf:"},
		{"missing_include", "\ninclude = 'nowhere.conf'\n", "nowhere.conf"},
		{"directory_of_itself", "\ninclude_dir = '.'\n", ".conf:"},
		{"crlf", "\r\nwork_mem = '5MB'\r\n", ""},
		{"non_ascii", "\n# \xfc\xff\ncluster_name = 'K\xc3\xb6ln'\n", ""},
		// The server reads its files itself and tells: nothing is cut, and nothing is to be said.
		{"large", strings.Repeat("\n# filler filler filler filler filler filler filler", 2<<20), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, os.WriteFile(file, append(good[:len(good):len(good)], c.more...), 0o600))
			s := bounded(t, plumb(t, "stack", "--json"))
			ref := refOf(t, s, pg)
			said := listOf(s, ref, "config_errors") + gapsOf(s, ref)
			if c.says != "" && !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
			if v, ok := s.Find(ref).Int("max_connections"); !ok || v != 100 {
				t.Errorf("max_connections in force is %d, %v", v, ok)
			}
		})
	}
}
