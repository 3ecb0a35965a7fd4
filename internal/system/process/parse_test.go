package process

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Captured from mariadbd 10.11.19 on Linux 6.18.44.
const (
	mariadbStat = "2740 (mariadbd) S 2735 2735 5533 0 -1 4194560 12040 0 10 0 35 14 0 0 20 0 9 0 257190 1985601536 29363 18446744073709551615 94243405144064 94243420041213 140725208098432 0 0 0 0 4096 26345 1 0 0 17 1 0 0 0 0 0 94243427193808 94243429096864 94243449499648 140725208103466 140725208103664 140725208103664 140725208104936 0\n"

	mariadbLimits = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max processes             96365                96365                processes 
Max open files            1024                 20000                files     
Max locked memory         8388608              8388608              bytes     
Max address space         unlimited            unlimited            bytes     
`
	netTCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     
   0: 0100007F:88AF 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 73219 1 00000000a6dbd2c4 100 0 0 10 0                     
   1: 0100007F:88AF 0100007F:C350 01 00000000:00000000 00:00000000 00000000 65534        0 73999 1 00000000a6dbd2c5 20 4 30 10 -1                    
`
	netTCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:84A9 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 61211 1 0000000012cb7a20 100 0 0 10 0
`
	netUnix = `Num       RefCount Protocol Flags    Type St Inode Path
0000000006658bae: 00000003 00000000 00000000 0001 03  1584
00000000d29e2a8c: 00000002 00000000 00010000 0001 01 73220 /tmp/system/m/my.sock
00000000d29e2a8d: 00000002 00000000 00010000 0001 01 73221 /srv/my data/my.sock
`
)

func TestParseStat(t *testing.T) {
	got, ok := parseStat([]byte(mariadbStat))
	want := stat{pid: 2740, ppid: 2735, comm: "mariadbd", start: 257190}
	if !ok || got != want {
		t.Errorf("parseStat = %+v, %v; want %+v", got, ok, want)
	}
	odd := "7 (a) S (b) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0"
	if got, ok := parseStat([]byte(odd)); !ok || got.comm != "a) S (b" || got.start != 55 {
		t.Errorf("parseStat of a name with parentheses = %+v, %v", got, ok)
	}
	for _, bad := range []string{"", "1", "1 (x", "x (y) S 1", "1 (y) S z 1"} {
		if _, ok := parseStat([]byte(bad)); ok {
			t.Errorf("parseStat(%q) accepted", bad)
		}
	}
}

func TestParseCmdline(t *testing.T) {
	got := parseCmdline([]byte("mariadbd\x00--no-defaults\x00--datadir=/srv/my data\x00\x00\x00"))
	if diff := cmp.Diff([]string{"mariadbd", "--no-defaults", "--datadir=/srv/my data"}, got); diff != "" {
		t.Error(diff)
	}
	if got := parseCmdline(nil); got != nil {
		t.Errorf("parseCmdline of nothing = %q", got)
	}
}

func TestParseLimits(t *testing.T) {
	got, ok := parseLimits([]byte(mariadbLimits), "Max open files")
	if !ok || got.soft != 1024 || got.hard != 20000 {
		t.Errorf("open files = %+v, %v", got, ok)
	}
	got, ok = parseLimits([]byte(mariadbLimits), "Max cpu time")
	if !ok || !got.softNone || !got.hardNone {
		t.Errorf("cpu time = %+v, %v", got, ok)
	}
	if _, ok := parseLimits([]byte(mariadbLimits), "Max wishes"); ok {
		t.Error("found a limit that is not there")
	}
}

func TestKilobytes(t *testing.T) {
	for text, want := range map[string]int64{"1764 kB": 1764 << 10, "0 kB": 0} {
		if got, ok := kilobytes(text); !ok || got != want {
			t.Errorf("kilobytes(%q) = %d, %v", text, got, ok)
		}
	}
	for _, bad := range []string{"", "12", "-1 kB", "x kB", "99999999999999999999 kB"} {
		if _, ok := kilobytes(bad); ok {
			t.Errorf("kilobytes(%q) accepted", bad)
		}
	}
}

func TestListeningSockets(t *testing.T) {
	at := map[string]string{}
	parseTCP([]byte(netTCP), at)
	parseTCP([]byte(netTCP6), at)
	parseUnix([]byte(netUnix), at)
	maps.DeleteFunc(at, func(_, where string) bool { return where == "" })
	want := map[string]string{
		"socket:[73219]": "tcp:127.0.0.1:34991",
		"socket:[61211]": "tcp:[::]:33961",
		"socket:[73220]": "unix:/tmp/system/m/my.sock",
		"socket:[73221]": "unix:/srv/my data/my.sock",
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
}

// A line that somebody has written about another's socket by the name of his own sends nobody there: neither about one that listens, on
// whichever network, nor about one that is connected.
func TestForgedSockets(t *testing.T) {
	own, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	f, err := own.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	read := func() listed {
		text, err := os.ReadFile("/proc/self/net/unix")
		if err != nil {
			t.Fatal(err)
		}
		at := listed{}
		parseUnix(text, at)
		return at
	}
	if at := read(); at[link] != "unix:"+own.Addr().String() {
		t.Errorf("it listens at %q", at[link])
	}
	inode := strings.Trim(link, "socket:[]")
	theirs, err := net.Listen("unix", "@plumb"+inode+"\n0: 2 0 00010000 1 1 "+inode+" /tmp/theirs")
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if at := read(); at[link] != forged {
		t.Errorf("it is taken to listen at %q", at[link])
	}
	for _, of := range []string{"73219", "73220"} {
		at := listed{}
		parseUnix([]byte(netUnix+"0: 2 0 00010000 1 1 "+of+" /tmp/theirs\n0: 3 0 00000000 1 3 88 /x\n0: 2 0 00010000 1 1 88 /y\n0: 2 0 00010000 1 1 99 /y\n"), at)
		parseTCP([]byte(netTCP+"9: 0100007F:88AF 0100007F:1234 01 0:0 0:0 0 105 0 99 1 x\n"), at)
		for _, inode := range []string{of, "88", "99"} {
			if is := at["socket:["+inode+"]"]; is != forged {
				t.Errorf("%s is taken to listen at %q", inode, is)
			}
		}
	}
}

// The lines are from MariaDB 11.4 with libaio and 10.11 with io_uring.
func TestParseAIO(t *testing.T) {
	for maps, want := range map[string]bool{
		"7f1c2a5f8000-7f1c2a5fb000 rw-s 00000000 00:0f 14171 /[aio] (deleted)\n":      true,
		"7f1c2a5f8000-7f1c2a5fb000 rw-s 10000000 00:0e 1036  anon_inode:[io_uring]\n": false,
		"7f1c2a5f8000-7f1c2a5fb000 r--p 00000000 fe:00 9     /srv/db/[aio]/t1.ibd\n":  false, "": false,
	} {
		if got := parseAIO([]byte(maps)); got != want {
			t.Errorf("parseAIO(%q) = %v", maps, got)
		}
	}
}

func TestParseAllocator(t *testing.T) {
	const libc = "7f1 r-xp 00000000 fe:00 1234 /usr/lib/x86_64-linux-gnu/libc.so.6\n"
	for maps, want := range map[string]string{
		libc: "glibc",
		libc + "7f2 r-xp 0 fe:00 9 /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n":             "jemalloc",
		"7f0 r-xp 0 fe:00 9 /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4.5.9\n" + libc: "tcmalloc",
		"7f0 r-xp 0 fe:00 9 /opt/libmimalloc.so.2.1\n" + libc:                                "mimalloc",
		"7f0 r-xp 0 fe:00 9 /lib/ld-musl-x86_64.so.1\n":                                      "musl",
		"7f0 r-xp 0 fe:00 9 /usr/lib64/libc-2.28.so\n":                                       "glibc",
		"55c rw-p 0 00:00 0 [heap]\n":                                                        "",
		"7f0 r--p 0 fe:00 9 /srv/mysql/libjemalloc_notes/x.ibd\n" + libc:                     "glibc",
	} {
		if got := parseAllocator([]byte(maps)); got != want {
			t.Errorf("parseAllocator(%q) = %q, want %q", maps, got, want)
		}
	}
}

func TestParseNumaPolicy(t *testing.T) {
	for line, want := range map[string]string{
		"55cc36234000 default file=/usr/bin/cat mapped=2 N0=2 kernelpagesize_kB=4\n": "default",
		"55cc36234000 interleave:0-1 file=/usr/bin/mongod mapped=2":                  "interleave",
		"55cc36234000 bind=static:0 anon=2":                                          "bind",
		"55cc36234000 prefer (many):0 anon=2":                                        "prefer",
		"55cc36234000 weighted interleave:0-1 anon=2":                                "interleave",
	} {
		if got, ok := parseNumaPolicy([]byte(line)); !ok || got != want {
			t.Errorf("parseNumaPolicy(%q) = %q, %v; want %q", line, got, ok, want)
		}
	}
	if _, ok := parseNumaPolicy(nil); ok {
		t.Error("found a policy in nothing")
	}
}

func TestHidesProcesses(t *testing.T) {
	for line, want := range map[string]bool{
		"22 27 0:21 / /proc rw,relatime - proc proc rw\n":                       false,
		"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=2\n":             true,
		"22 27 0:21 / /proc rw,relatime - proc proc rw,gid=4,hidepid=invisible": true,
		"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=off\n":           false,
		"22 27 0:21 / /srv/proc rw,relatime - proc proc rw,hidepid=2\n":         false,
	} {
		if got := hidesProcesses([]byte(line)); got != want {
			t.Errorf("hidesProcesses(%q) = %v", line, got)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{mariadbStat, mariadbLimits, netTCP, netTCP6, netUnix, hybridCgroup, hybridMounts, "max 100000\n", "9223372036854771712\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := parseStat(data); ok && (s.pid <= 0 || s.start < 0) {
			t.Errorf("parseStat accepted %+v", s)
		}
		ended(data)
		parseCmdline(data)
		parseColons(data)
		parseLimits(data, "Max open files")
		at := listed{}
		parseUnix(data, at)
		parseTCP(data, at)
		parseAllocator(data)
		parseAIO(data)
		parseNumaPolicy(data)
		hidesProcesses(data)
		m, ok := parseMembership(data)
		mounts := parseCgroupMounts(data)
		if ok {
			for _, tree := range []mount{mounts.v2, mounts.memory, {dir: "/sys/fs/cgroup", root: "/"}} {
				if dirs, err := tree.levels(m.memory); err == nil && len(dirs) == 0 {
					t.Error("a group without a directory")
				}
			}
		}
		for _, v := range []func(string, []byte) bool{
			func(d string, b []byte) bool { _, ok := parseMaxBytes(d, b); return ok },
			func(d string, b []byte) bool { _, ok := parseV1Bytes(d, b); return ok },
			func(d string, b []byte) bool { _, ok := parseCPUMax(d, b); return ok },
		} {
			v("", data)
		}
	})
}

// A server that was stopped and started is one server, also where nobody waited for the first.
func TestEnded(t *testing.T) {
	const rest = " 1 2 2 0 -1 4228364 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0"
	for line, want := range map[string]bool{"7 (postgres) Z" + rest: true, "7 (a) Z) X" + rest: true, "7 (postgres) S" + rest: false, "7 (Z Z) D" + rest: false, "Z": false} {
		if got := ended([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
