package fix_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// kills is how often each thing is killed at a random moment: a few times in
// an ordinary run, a hundred times in make test-real.
func kills() int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 100
	}
	return 6
}

// killed kills plumb fix with SIGKILL at random moments after it has begun to
// write its journal, sometimes also the undo after it, and wants the starting
// state back each time.
func killed(t *testing.T, journal string, state func() string, args ...string) {
	t.Helper()
	was := state()
	full := duration(t, journal, state, args)
	midway := 0
	for n := range kills() {
		wait := time.Duration(rand.Float64() * 1.2 * float64(full))
		killAfter(t, journal, n+2, wait, append([]string{"fix", "--yes"}, args...)...)
		if state() != was {
			midway++
		}
		if n%3 == 0 {
			killAfter(t, "", 0, time.Duration(rand.Float64()*0.3*float64(time.Second)), append([]string{"undo", "--all", "--yes"}, where(args)...)...)
		}
		plumb(t, 0, append([]string{"undo", "--all", "--yes"}, where(args)...)...)
		if now := state(); now != was {
			t.Fatalf("killed after %v: undo left\n%s\nin place of\n%s", wait, now, was)
		}
	}
	t.Logf("%d kills within %v, %d of them left something to undo", kills(), full, midway)
}

// where leaves the flags that undo has too.
func where(args []string) []string {
	var out []string
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] != "--set" {
			out = append(out, args[i], args[i+1])
		}
	}
	return out
}

// duration does the change once whole, and tells how long its acts take.
func duration(t *testing.T, journal string, state func() string, args []string) time.Duration {
	t.Helper()
	was := state()
	began := make(chan time.Time, 1)
	go func() { began <- appears(filepath.Join(journal, "change-000001.journal"), time.Minute) }()
	plumb(t, 0, append([]string{"fix", "--yes"}, args...)...)
	took := time.Since(<-began)
	if state() == was {
		t.Fatalf("nothing changed: %s", was)
	}
	plumb(t, 0, append([]string{"undo", "--all", "--yes"}, where(args)...)...)
	return max(min(took, 2*time.Second), 5*time.Millisecond)
}

// appears waits for a file.
func appears(name string, limit time.Duration) time.Time {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if _, err := os.Stat(name); err == nil {
			break
		}
	}
	return time.Now()
}

// killAfter kills a command some time after its journal has appeared, or
// after its start.
func killAfter(t *testing.T, journal string, number int, wait time.Duration, args ...string) {
	t.Helper()
	cmd := exec.Command(built.Path, args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	if journal != "" {
		for file := filepath.Join(journal, fmt.Sprintf("change-%06d.journal", number)); ; time.Sleep(200 * time.Microsecond) {
			if _, err := os.Stat(file); err == nil {
				break
			}
			select {
			case <-ended:
				t.Fatalf("plumb %s ended before it began: %s", strings.Join(args, " "), said.String())
			default:
			}
		}
	}
	select {
	case <-time.After(wait):
	case <-ended:
	}
	cmd.Process.Kill()
	<-ended
}

func TestKilledInAnImage(t *testing.T) {
	dir := image(t)
	killed(t, filepath.Join(dir, "var/lib/plumb"), func() string { return tree(t, dir) },
		"--root", dir, "--set", "host:x#vm_swappiness=10", "--set", "host:x#thp_enabled=never", "--set", "host:x#vm_max_map_count=262144", "--set", "host:x#vm_dirty_bytes=268435456")
}

func TestKilledOnMariaDB(t *testing.T) {
	s := server(t, "mysql")
	conf := filepath.Join(filepath.Dir(s.Socket), "my.cnf")
	journal := filepath.Join(t.TempDir(), "plumb")
	killed(t, journal, func() string {
		return content(conf) + ask(t, s, "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_flush_neighbors, @@GLOBAL.innodb_buffer_pool_size")
	}, "--state", journal, "--set", "mysql:14963#sync_binlog=1", "--set", "mysql:14963#innodb_io_capacity=900",
		"--set", "mysql:14963#innodb_flush_neighbors=0", "--set", "mysql:14963#innodb_buffer_pool_size=384M")
}

func TestKilledOnPostgreSQL(t *testing.T) {
	s := server(t, "postgres")
	journal := filepath.Join(t.TempDir(), "plumb")
	killed(t, journal, func() string {
		return ask(t, s, "SELECT name || ' ' || reset_val FROM pg_settings WHERE name IN ('work_mem', 'random_page_cost', 'shared_buffers') ORDER BY name") +
			ask(t, s, "SELECT name || ' ' || setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' ORDER BY name")
	}, "--state", journal, "--set", "postgres:14964#work_mem=8MB", "--set", "postgres:14964#random_page_cost=1.3", "--set", "postgres:14964#shared_buffers=200MB")
}

// becomes waits until a server answers so: it reads its files again some time after it was told to.
func becomes(t *testing.T, s *sandbox.Server, query, want string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := strings.TrimSpace(ask(t, s, query))
		if got == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s: %s, want %s", query, got, want)
		}
	}
}

// ask gives the cells of a query, one a line.
func ask(t *testing.T, s *sandbox.Server, query string) string {
	t.Helper()
	db, err := s.Open()
	must(t, err)
	defer db.Close()
	rows, err := db.Query(query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out strings.Builder
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(string)
		}
		must(t, rows.Scan(cells...))
		for _, c := range cells {
			out.WriteString(*c.(*string) + "\n")
		}
	}
	must(t, rows.Err())
	return out.String()
}

func TestKilledOnALoopDevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a loop device needs root")
	}
	udev, err := sandbox.Alone("udev") // its rules have one file
	must(t, err)
	defer udev.Close()
	file := filepath.Join(t.TempDir(), "disk")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Truncate(file, 16<<20))
	out, err := exec.Command("losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Skipf("no loop device to be had: %v", err)
	}
	device := strings.TrimSpace(string(out))
	defer exec.Command("losetup", "-d", device).Run()
	name, journal := filepath.Base(device), filepath.Join(t.TempDir(), "plumb")
	queue := "/sys/block/" + name + "/queue/"
	killed(t, journal, func() string {
		return content(queue+"read_ahead_kb") + content(queue+"nomerges") + content(queue+"rq_affinity") + content("/etc/udev/rules.d/99-zz-plumb-block.rules")
	}, "--state", journal, "--set", "block:"+name+"#read_ahead_kb=64", "--set", "block:"+name+"#nomerges=2", "--set", "block:"+name+"#rq_affinity=2")
}

func TestKilledOnADataset(t *testing.T) {
	sandbox.NeedLong(t, "makes a pool: run without -short")
	box := sandbox.ForTest(t, "")
	pool, err := box.ZFSFuse(100)
	must(t, err)
	_, err = pool.Dataset("db", "logbias=throughput")
	must(t, err)
	of, journal := pool.Name+"/db", filepath.Join(t.TempDir(), "plumb")
	killed(t, journal, func() string {
		out, err := exec.Command("zfs", "get", "-Hp", "-o", "property,value,source", "recordsize,logbias,atime", of).CombinedOutput()
		must(t, err)
		return string(out)
	}, "--state", journal, "--set", "dataset:"+of+"#recordsize=16K", "--set", "dataset:"+of+"#logbias=latency", "--set", "dataset:"+of+"#atime=off")
}
