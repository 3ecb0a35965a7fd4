package real

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host/paths"
	"plumb/test/sandbox"
)

// changes are the system calls that change files, mounts or other processes,
// whatever their arguments. Opening for writing is looked at apart.
var changes = []string{"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink",
	"symlinkat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "truncate", "ftruncate",
	"fallocate", "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
	"fremovexattr", "mount", "umount", "umount2", "pivot_root", "move_mount", "swapon", "swapoff", "reboot", "sethostname", "setdomainname",
	"settimeofday", "clock_settime", "adjtimex", "init_module", "finit_module", "delete_module", "ptrace", "process_vm_writev", "bpf",
	"syncfs", "sync", "quotactl", "setpriority", "sched_setaffinity", "ioprio_set", "creat"}

// looked are the calls that are traced to be looked at.
var looked = []string{"open", "openat", "openat2", "kill", "tkill", "tgkill", "ioctl", "execve"}

var (
	call = regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	path = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	open = regexp.MustCompile(`^(?:AT_FDCWD|\d+)<([^>]*)>`) // what a descriptor is of
)

// straced runs plumb under strace and gives the calls, one a line. Where it runs until it is told
// to end, it is told to after a while.
func straced(t *testing.T, after time.Duration, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace (apt-get install strace)")
	}
	trace := filepath.Join(t.TempDir(), "trace")
	argv := append([]string{"-f", "-y", "-qq", "-s", "300", "-o", trace, "-e", "signal=none",
		"-e", "trace=" + known(t, slices.Concat(changes, looked)), shared.plumb.Path}, args...)
	cmd := exec.Command("strace", argv...)
	if after > 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		timer := time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }) // strace waits for plumb to end
		defer timer.Stop()
	}
	if out, err := cmd.CombinedOutput(); err != nil && !ended(after, err) {
		if _, started := os.Stat(trace); started != nil || strings.Contains(string(out), "PTRACE") {
			t.Skipf("strace does not work here: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(trace)
	check(t, err)
	return strings.Split(string(text), "\n")
}

// ended tells whether a program that was told to end did no more than that.
func ended(after time.Duration, err error) bool {
	var e *exec.ExitError
	return after > 0 && errors.As(err, &e) && (e.ExitCode() == 130 || e.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT)
}

// ranLast is the last command that a call's process ran before it; "" where it is a thread of another.
func ranLast(before []string, line string) string {
	pid, _, _ := strings.Cut(line, " ")
	for _, b := range slices.Backward(before) {
		if of, rest, _ := strings.Cut(b, " "); of == pid && strings.Contains(rest, "execve(") {
			return b
		}
	}
	return ""
}

// known lists the calls as strace takes them; "?" passes over those an
// architecture lacks.
func known(t *testing.T, names []string) string {
	t.Helper()
	return "?" + strings.Join(names, ",?")
}

// offence says what is wrong with a call, "" when it only reads. A call that
// failed counts as well: it was tried. may are the paths it may write.
func offence(line string, may func(string) bool) string {
	m := call.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	name, rest := m[1], m[2]
	file := named(rest)
	switch name {
	case "open", "openat", "openat2":
		if !regexp.MustCompile(`O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)`).MatchString(rest) || may(file) {
			return ""
		}
		return "opens for writing"
	case "kill":
		if pid := regexp.MustCompile(`^-?\d+`).FindString(rest); strings.Contains(rest, ", 0)") || strings.HasPrefix(pid, "-") {
			return "" // its own child's group, at a deadline
		}
		return "sends a signal"
	case "ioctl":
		if regexp.MustCompile(`BLKROSET|BLKRASET|BLKDISCARD\b|BLKZEROOUT|BLKSECDISCARD|FS_IOC_SETFLAGS|FIFREEZE|FITHAW|FITRIM|LOOP_SET|LOOP_CLR|LOOP_CONFIGURE|FS_IOC_FSSETXATTR|BTRFS_IOC_SNAP|BTRFS_IOC_SUBVOL_SETFLAGS`).MatchString(rest) {
			return "changes a device"
		}
		return ""
	case "tgkill", "tkill", "execve":
		return "" // the Go runtime wakes its own threads; what is executed is traced itself
	}
	if slices.Contains(ofFiles, name) && may(file) {
		return ""
	}
	return "changes the machine"
}

// ofFiles are the calls that change one file, which may be ours.
var ofFiles = []string{"rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "ftruncate", "fallocate", "fchown", "fchmod"}

// named is the file that a call is about: the one it names, in the directory that
// it names it in, or the one that is open.
func named(arguments string) string {
	dir := open.FindStringSubmatch(arguments)
	name := path.FindStringSubmatch(arguments)
	switch {
	case name == nil && dir == nil:
		return ""
	case name == nil:
		return dir[1]
	case dir == nil || filepath.IsAbs(name[1]):
		return name[1]
	}
	return filepath.Join(dir[1], name[1])
}

// Reading commands open nothing for writing and call nothing that changes:
// they and every command they run are traced.
func TestReadingWritesNothing(t *testing.T) {
	b := box(t)
	port := freePort(t)
	_, err := b.MySQL(sandbox.MySQLOptions{Port: port, Settings: "log_bin\n"})
	check(t, err)
	_, err = b.Postgres(sandbox.PostgresOptions{Port: freePort(t), TCP: true})
	check(t, err)
	if pool, err := b.Filesystem("vol", "ext4", 64, nil, ""); err != nil {
		t.Logf("without a filesystem of its own (%s): %v", pool, err)
	}
	tape, text, recording, captures := filepath.Join(t.TempDir(), "host.tape"), t.TempDir(), filepath.Join(t.TempDir(), "recording"), filepath.Join(t.TempDir(), "captures")
	growth := filepath.Join(text, "growth.csv")
	check(t, os.WriteFile(growth, []byte(growing(60)), 0o600))
	for _, c := range []struct {
		args []string
		may  func(string) bool
		end  time.Duration // after which it is told to end; 0: it ends by itself
	}{
		{[]string{"forecast", "space", "--csv", growth}, streams, 0},
		{[]string{"check"}, streams, 0},
		{[]string{"check", "--all", "--json"}, streams, 0},
		{[]string{"stack"}, streams, 0},
		{[]string{"watch", "--once", "--for", "17s"}, streams, 0},
		{[]string{"explain", "mysql/sync-binlog-off"}, streams, 0},
		{[]string{"forecast", "volume", "--size", "1T", "--iops", "2700", "--io", "16K"}, streams, 0},
		{[]string{"forecast", "zfs", "--data", "750G", "--recordsize", "16K"}, streams, 0},
		{[]string{"rehearse", "--dry-run", "--server", fmt.Sprintf("mysql:%d", port)}, streams, 0},
		{[]string{"capture", "-o", tape}, func(name string) bool {
			return streams(name) || filepath.Dir(name) == filepath.Dir(tape) && strings.Contains(filepath.Base(name), "host.tape")
		}, 0},
		{[]string{"check", "--tape", tape}, streams, 0},
		{[]string{"watch", "metrics", "--once", "--interval", "5s", "--textfile", filepath.Join(text, "plumb.prom")}, func(name string) bool {
			return streams(name) || filepath.Dir(name) == text && strings.Contains(filepath.Base(name), "plumb.prom")
		}, 0},
		{[]string{"watch", "--once", "--for", "17s", "--plans"}, streams, 0},
		{[]string{"watch", "record", "--dir", recording}, below(recording), 50 * time.Second},
		{[]string{"watch", "replay", "--dir", recording}, below(recording), time.Minute},
		{[]string{"watch", "export", "--dir", recording, "--from", time.Now().UTC().Format("2006-01-02T15:04Z"), "--output", filepath.Join(text, "part.om")}, func(name string) bool {
			return below(recording)(name) || filepath.Dir(name) == text && strings.Contains(filepath.Base(name), "part.om")
		}, time.Minute},
		{[]string{"watch", "capture", "--on", "client/idle", "--max-captures", "1", "--dir", captures}, below(captures), 2 * time.Minute},
		{[]string{"watch", "serve", "--port", "0", "--token-file", filepath.Join(text, "token")}, func(name string) bool {
			return streams(name) || name == filepath.Join(text, "token")
		}, 15 * time.Second},
	} {
		t.Run(strings.Join(c.args[:min(2, len(c.args))], "_"), func(t *testing.T) {
			if c.end > 0 || slices.Contains(c.args, "--plans") {
				sandbox.NeedTime(t, "it is watched for a while: make test-real")
			}
			lines := straced(t, c.end, c.args...)
			if len(lines) < 5 {
				t.Fatalf("only %d calls were traced: this proves nothing", len(lines))
			}
			for i, line := range lines {
				if what := offence(line, c.may); what != "" {
					t.Errorf("plumb %s %s: %s\nin: %s", c.args[0], what, line, ranLast(lines[:i], line))
				}
			}
		})
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(tape), "*")); err != nil || len(names) != 1 {
		t.Errorf("capture left %v", names)
	}
	names, err := filepath.Glob(captures + "/*-client-idle/host.tape.gz")
	if _, made := os.Stat(captures); made == nil && (err != nil || len(names) != 1) {
		t.Errorf("watch capture kept %v, so that it was not seen to write", names)
	}
}

// xfs_info opens for writing what it does not find mounted, as when it was unmounted after the mount table was read. A findmnt
// that finds nothing stands for that moment.
func TestAnXFSThatWasUnmounted(t *testing.T) {
	dir, err := box(t).Filesystem("vol", "xfs", 500, nil, "")
	check(t, err)
	programs := t.TempDir()
	check(t, os.WriteFile(filepath.Join(programs, "findmnt"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	lines := straced(t, 0, "stack")
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "execve(") && strings.Contains(line, `"`+dir+`"`)
	}) {
		t.Fatalf("nothing asked what %s is: this proves nothing", dir)
	}
	for i, line := range lines {
		if what := offence(line, streams); what != "" {
			t.Errorf("plumb stack %s: %s\nin: %s", what, line, ranLast(lines[:i], line))
		}
	}
}

// below are a directory and what is in it, beside what any program may write to.
func below(dir string) func(string) bool {
	return func(name string) bool { return streams(name) || paths.Within(name, dir) }
}

// streams are what any program may write to, and the control device of ZFS,
// which is how its commands read as well.
func streams(name string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/tty", "/dev/zfs", "/dev/fuse"}, name) || strings.HasPrefix(name, "/dev/pts/")
}

// The test above finds what it looks for.
func TestOffence(t *testing.T) {
	no := func(string) bool { return false }
	for line, bad := range map[string]bool{
		`12 openat(AT_FDCWD, "/etc/my.cnf", O_RDONLY|O_CLOEXEC) = 3`:        false,
		`12 openat(AT_FDCWD, "/etc/my.cnf", O_RDWR|O_CLOEXEC) = 3`:          true,
		`12 openat(AT_FDCWD, "/x", O_WRONLY|O_CREAT, 0600) = -1 EACCES (x)`: true,
		`12 unlink("/x") = 0`:                                                  true,
		`12 unlinkat(AT_FDCWD, "/x", 0 <unfinished ...>`:                       true,
		`12 kill(99, SIGTERM) = 0`:                                             true,
		`12 kill(99, 0) = 0`:                                                   false,
		`12 ioctl(3, BLKRASET, 128) = 0`:                                       true,
		`12 ioctl(3, BLKRAGET, [256]) = 0`:                                     false,
		`12 ioctl(3, BLKDISCARDZEROES, [0]) = 0`:                               false,
		`12 mount("a", "/b", "ext4", 0, NULL) = 0`:                             true,
		`12 ftruncate(3, 0) = 0`:                                               true,
		`12 tgkill(1, 2, SIGURG) = 0`:                                          false,
		`12 openat(AT_FDCWD</root>, "/etc/my.cnf", O_RDONLY) = 3</etc/my.cnf>`: false,
		`12 openat(7</var/lib>, "x", O_RDWR|O_CREAT, 0600) = 3`:                true,
		`12 ftruncate(7</var/lib/x>, 0) = 0`:                                   true,
	} {
		if got := offence(line, no); (got != "") != bad {
			t.Errorf("%s: %q", line, got)
		}
	}
	ours := func(name string) bool { return strings.HasPrefix(name, "/ours/") }
	for line, bad := range map[string]bool{
		`12 ftruncate(7</ours/x>, 0) = 0`:                           false,
		`12 ftruncate(7</etc/x>, 0) = 0`:                            true,
		`12 openat(7</ours>, "x", O_RDWR|O_CREAT, 0600) = 3`:        false,
		`12 openat(7</etc>, "x", O_RDWR|O_CREAT, 0600) = 3`:         true,
		`12 openat(7</ours>, "../etc/x", O_RDWR|O_CREAT, 0600) = 3`: true,
		`12 mkdirat(AT_FDCWD</root>, "/ours/y", 0700) = 0`:          false,
		`12 fchown(9</ours/y>, 0, 0) = 0`:                           false,
		`12 fsetxattr(9</ours/y>, "user.x", "", 0, 0) = 0`:          true,
	} {
		if got := offence(line, ours); (got != "") != bad {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// maxQueries is how many statements one check may send to one server.
const maxQueries = 40

// What the servers themselves logged: only statements that read, or that
// bound their own session, and not many.
func TestServersAreOnlyAsked(t *testing.T) {
	b := box(t)
	port := freePort(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Port: port, Settings: "log_bin\n"})
	check(t, err)
	check(t, my.Exec("SET GLOBAL general_log_file = '"+my.Dir+"/general.log'", "SET GLOBAL general_log = 1"))
	pg, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t),
		Settings: "logging_collector = on\nlog_directory = 'log'\nlog_filename = 'all.log'\nlog_statement = all\nlog_line_prefix = '%a|'\n"})
	check(t, err)
	for _, args := range [][]string{{"check"}, {"stack"}, {"capture"}, {"rehearse", "--dry-run", "--server", fmt.Sprintf("mysql:%d", port)}} {
		toMySQL, toPostgres := heard(t, my, pg, args)
		asked(t, "MariaDB", toMySQL,
			`^(SELECT\b|SHOW\b|XA RECOVER$|SET SESSION (tx|transaction)_read_only = 1, lock_wait_timeout = \d+(, max_(statement|execution)_time = \d+)?$)`)
		asked(t, "PostgreSQL", toPostgres, `^(SELECT|SHOW|WITH)\b`)
	}
}

// heard gives what servers logged while plumb ran. The plumb of another package's test asks all servers of the machine too,
// these among them, so what is too much for one is looked at again.
func heard(t *testing.T, my, pg *sandbox.Server, args []string) (toMySQL, toPostgres []string) {
	t.Helper()
	for range 5 {
		check(t, os.WriteFile(my.Dir+"/general.log", nil, 0o660))
		check(t, os.Truncate(pg.Dir+"/log/all.log", 0))
		if r := plumb(t, args...); r.code != 0 {
			t.Fatal(r.err)
		}
		toMySQL, toPostgres = generalLog(t, my.Dir+"/general.log"), statementLog(t, pg.Dir+"/log/all.log")
		if max(len(toMySQL), len(toPostgres)) <= maxQueries {
			break
		}
	}
	return toMySQL, toPostgres
}

func asked(t *testing.T, server string, statements []string, allowed string) {
	t.Helper()
	if len(statements) < 3 {
		t.Errorf("%s logged only %d statements: this proves nothing", server, len(statements))
	}
	if len(statements) > maxQueries {
		t.Errorf("%s was asked %d times, at most %d are allowed:\n%s", server, len(statements), maxQueries, strings.Join(statements, "\n"))
	}
	t.Logf("%s: %d statements", server, len(statements))
	pattern := regexp.MustCompile(`(?is)` + allowed)
	never := regexp.MustCompile(`(?i)\b(INTO\s+(OUTFILE|DUMPFILE)|FOR\s+(UPDATE|SHARE)|GET_LOCK|SLEEP\s*\(|pg_sleep|pg_terminate|pg_cancel|nextval|setval|pg_switch|pg_reload|LOCK\s+TABLES?|FLUSH)\b`)
	for _, s := range statements {
		s = strings.ReplaceAll(s, "pg_sleep(0.001)", "a pause between two looks")
		s = strings.ReplaceAll(s, "pg_stat_clear_snapshot()", "what this session saw, anew")
		if !pattern.MatchString(s) || never.MatchString(s) {
			t.Errorf("%s was told: %s", server, s)
		}
	}
}

// generalLog gives the statements in MariaDB's general log. Lines of more
// than one row go on without a number.
func generalLog(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	begin := regexp.MustCompile(`^(?:\d{6} +\d+:\d\d:\d\d)?\s+(\d+) (Query|Execute|Prepare|Connect|Quit|Init DB|Statistics|Ping|Field List|Reset stmt|Close stmt)\t(.*)`)
	var out []string
	inQuery := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := begin.FindStringSubmatch(line); m != nil {
			if inQuery = m[2] == "Query" || m[2] == "Execute" || m[2] == "Prepare"; inQuery {
				out = append(out, m[3])
			}
		} else if inQuery {
			out[len(out)-1] += "\n" + line
		}
	}
	return out
}

// statementLog gives the statements plumb's session sent to PostgreSQL.
func statementLog(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	var out []string
	mine := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "\t") && mine {
			out[len(out)-1] += line
			continue
		}
		_, said, ok := strings.Cut(line, "plumb|LOG:  ")
		_, statement, isOne := strings.Cut(said, ": ")
		if mine = ok && isOne && (strings.HasPrefix(said, "statement") || strings.HasPrefix(said, "execute")); mine {
			out = append(out, strings.TrimSpace(statement))
		}
	}
	return out
}

// growing is a history of some days in which something grows.
func growing(days int) string {
	text := "date,used_bytes\n"
	for i := range days {
		text += fmt.Sprintf("%s,%d\n", time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), 1_000_000*(i+i%3))
	}
	return text
}
