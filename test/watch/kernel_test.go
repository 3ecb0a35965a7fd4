package watch

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// Incident 9: somebody copies more than the disk takes, so that the kernel lets whoever writes wait. What may be
// dirty is little, as on a host with little memory. The twin's copy goes to another disk.
func TestTheKernelHoldsWritersBack(t *testing.T) {
	for name, want := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofPostgres)
			other := s.slowDisk("other")
			where := s.filesystem(other, "elsewhere")
			s.postgres("shared_buffers = 16MB\nbgwriter_lru_maxpages = 0\nsynchronous_commit = off\nmax_wal_size = 4GB\n", nil)
			s.dirty(32<<20, 64<<20)
			for _, d := range []*sandbox.SlowDisk{s.disk, other} {
				d.Become(sandbox.Speed{Each: 200 * time.Microsecond, Bytes: 40 << 20})
			}
			if want {
				where = s.dir
			}
			s.watch()
			s.quiet(40 * time.Second)
			s.copies(filepath.Join(where, "copy"))
			s.asking(4, 5*time.Millisecond, oneUpdate)
			s.raised("kernel/writeback", want, looked)
		})
	}
}

// dirty sets how much of the page cache may be dirty, of this whole machine, until the scene is over.
func (s *scene) dirty(background, most int64) {
	s.t.Helper()
	lock, err := sandbox.Alone("vm-dirty")
	check_(s.t, err)
	s.t.Cleanup(func() { lock.Close() })
	for name, n := range map[string]int64{"dirty_background": background, "dirty": most} {
		bytes, ratio := "/proc/sys/vm/"+name+"_bytes", "/proc/sys/vm/"+name+"_ratio"
		back, was := bytes, number(s.t, bytes)
		if was == "0" { // the ratio holds, and setting one of the two resets the other
			back, was = ratio, number(s.t, ratio)
		}
		s.t.Cleanup(func() { check_(s.t, os.WriteFile(back, []byte(was), 0)) })
		write(s.t, bytes, fmt.Sprint(n))
	}
}

func number(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	check_(t, err)
	return strings.TrimSpace(string(text))
}

// copies has somebody write a file of 400 MB through the page cache, again and again.
func (s *scene) copies(file string) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			err := exec.CommandContext(ctx, "dd", "if=/dev/zero", "of="+file, "bs=1M", "count=400", "conv=notrunc").Run()
			if err != nil && ctx.Err() == nil {
				s.t.Errorf("copy: %v", err)
				return
			}
		}
	})
	s.t.Cleanup(func() {
		s.disk.Become(sandbox.Speed{})
		cancel()
		all.Wait()
	})
}

// Incident 10: the control group has less memory than the pool, and the rest of it is in swap. The
// twin's was squeezed once, has room again, and asks for nothing of what is in swap since.
func TestMemoryComesBackFromSwap(t *testing.T) {
	for name, want := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			paths, wrap := own(t, "memory")
			s := place(t, ofMySQL)
			s.swap()
			s.mariadb("innodb_buffer_pool_size=256M\n", wrap)
			s.exec("SELECT SUM(LENGTH(pad)) FROM w.t")
			limit := paths["memory"] + "/memory.limit_in_bytes"
			squeeze(t, limit, 84<<20) // with less, the kernel may end the server
			work := readRow
			if !want {
				write(t, limit, "-1")
				work = func(ctx context.Context, c *sql.Conn, _ *rand.Rand) error {
					time.Sleep(20 * time.Millisecond)
					return c.QueryRowContext(ctx, "SELECT pad FROM w.t WHERE id=7").Scan(new(string))
				}
			}
			s.watch()
			s.load(8, work)
			s.raised("memory/swapping", want, looked)
		})
	}
}

// swap makes a swap device until the server has ended.
func (s *scene) swap() {
	s.t.Helper()
	device, err := s.box.Loop("swap", 1000)
	sandbox.Need(s.t, err)
	for _, argv := range [][]string{{"mkswap", device}, {"swapon", device}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			s.t.Skipf("no swap can be made here: %v %s", err, out)
		}
	}
	s.box.OnClose(func() error { return exec.Command("swapoff", device).Run() })
}

// squeeze limits a control group, which the kernel refuses while it cannot take enough away.
func squeeze(t *testing.T, file string, most int64) {
	t.Helper()
	var err error
	for range 50 {
		if err = os.WriteFile(file, fmt.Append(nil, most), 0); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	sandbox.Need(t, sandbox.Missing{What: "cannot limit memory: " + err.Error(), Hint: "run where control groups of version 1 have swap"})
}
