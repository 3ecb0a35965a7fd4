package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// How many processes of one server are read: at the fast pace no more than what
// takes a millisecond or two.
const (
	maxFast = 128
	maxSlow = 8192
)

// server reads the process of one server, or all its processes where it has one
// for each client.
type server struct {
	of     stack.Ref
	pid    int
	engine string
	many   bool
	page   int64
	last   *kept
}

func processSources(p *stack.Thing, pid int, page int64) []sample.Source {
	s := server{of: p.Ref, pid: pid, engine: p.Text("engine"), page: page}
	s.many = product.Of(s.engine).SharesMemory
	fast, slow := s, s
	fast.last, slow.last = &kept{}, &kept{} // they are asked at the same time
	return []sample.Source{
		sample.Made("process "+p.Ref.Name, sample.Second, fast.fast),
		sample.Made("process "+p.Ref.Name+" I/O", sample.Ten, slow.slow),
	}
}

// kept is what was last told of a server. A process that ends while the
// processes are added up is counted by none, until the next time: the first one
// is read before the others, and has what they used when it has waited for them.
// A sum that would fall for that stands still instead.
type kept struct {
	start  int64 // of the first process
	values map[string]int64
}

func (k *kept) set(b *series.Batch, of stack.Ref, start int64, name string, n int64) {
	if k.values == nil || k.start != start {
		k.start, k.values = start, map[string]int64{}
	}
	k.values[name] = max(k.values[name], n)
	b.Set(of, name, float64(k.values[name]))
}

// sum is what the processes of a server used together.
type sum struct {
	start          int64 // of the first process
	user, system   int64 // ms
	threads, pages int64
	processes      int
	children       int // as they were listed, before some ended
	read, written  int64
	noIO           error
}

// fast reads the processor time. That of a server of very many processes is read
// with the rest.
func (s server) fast(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := s.add(ctx, h, maxFast, false)
	if errors.Is(err, errMany) {
		return nil
	}
	if err != nil {
		return err
	}
	s.time(b, t)
	return nil
}

func (s server) time(b *series.Batch, t sum) {
	s.last.set(b, s.of, t.start, "cpu_user_ms", t.user)
	s.last.set(b, s.of, t.start, "cpu_system_ms", t.system)
}

// slow reads what takes a file more for each process.
func (s server) slow(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := s.add(ctx, h, maxSlow, true)
	if err != nil {
		return err
	}
	if t.children > maxFast {
		s.time(b, t)
	}
	b.Set(s.of, "threads", float64(t.threads))
	if s.many {
		b.Set(s.of, "processes", float64(t.processes))
	} else if s.page > 0 {
		b.Set(s.of, "rss", float64(t.pages*s.page))
	}
	if t.noIO != nil {
		b.Gap(s.of, t.noIO.Error(), hintFor(t.noIO), "read_bytes", "written_bytes")
		return nil
	}
	s.last.set(b, s.of, t.start, "read_bytes", t.read)
	s.last.set(b, s.of, t.start, "written_bytes", t.written)
	return nil
}

var (
	errMany  = errors.New("too many processes")
	errOther = errors.New("another program runs under that number now")
)

// add adds up the processes.
func (s server) add(ctx context.Context, h host.Reader, most int, io bool) (sum, error) {
	own, err := s.usage(ctx, h, s.pid)
	if err != nil {
		return sum{}, err
	}
	if !s.isServer(own.Comm) {
		return sum{}, fmt.Errorf("process %d: %w", s.pid, errOther)
	}
	t := sum{start: own.Start}
	t.with(own)
	t.io(ctx, h, s.pid, io)
	if !s.many {
		return t, nil
	}
	children, err := childrenOf(ctx, h, s.pid)
	if err != nil {
		return sum{}, err
	}
	if len(children) > most {
		return sum{}, fmt.Errorf("it has %d processes, of which at most %d are read: %w", len(children)+1, most, errMany)
	}
	t.children = len(children)
	for _, pid := range children {
		u, err := s.usage(ctx, h, pid)
		if gone(err) {
			continue // its time is with the first one's, as soon as that has waited for it
		}
		if err != nil {
			return sum{}, err
		}
		t.with(u)
		t.io(ctx, h, pid, io)
	}
	return t, nil
}

func (t *sum) with(u process.Usage) {
	t.user, t.system = t.user+u.User, t.system+u.System
	t.threads, t.pages = t.threads+u.Threads, t.pages+u.Pages
	t.processes++
}

func (t *sum) io(ctx context.Context, h host.Reader, pid int, wanted bool) {
	if !wanted || t.noIO != nil {
		return
	}
	src := file(pid, "io")
	data, err := h.ReadFile(ctx, src)
	if gone(err) {
		return
	}
	read, written, ok := process.ParseIO(data)
	if err == nil && !ok {
		err = errors.New(src + " is not understood")
	}
	t.noIO = err
	t.read, t.written = t.read+read, t.written+written
}

// isServer tells whether a process still has the name of such a server; one
// started through the dynamic loader has the loader's.
func (s server) isServer(comm string) bool {
	return s.engine == "" || product.OfProgram(comm).Kind == s.engine || strings.HasPrefix(comm, "ld-") || strings.HasPrefix(comm, "ld.so")
}

func (s server) usage(ctx context.Context, h host.Reader, pid int) (process.Usage, error) {
	src := file(pid, "stat")
	data, err := h.ReadFile(ctx, src)
	if err != nil {
		return process.Usage{}, err
	}
	u, ok := process.ParseUsage(data)
	if !ok || u.PID != pid {
		return process.Usage{}, errors.New(src + " is not understood")
	}
	return u, nil
}

// childrenOf lists the processes that a process started. The file is there
// where the kernel has CONFIG_PROC_CHILDREN, as those of distributions have.
func childrenOf(ctx context.Context, h host.Reader, pid int) ([]int, error) {
	n := strconv.Itoa(pid)
	data, err := h.ReadFile(ctx, "/proc/"+n+"/task/"+n+"/children")
	if err != nil {
		return nil, fmt.Errorf("list the processes of %d: %w", pid, err)
	}
	return parseChildren(data), nil
}

func parseChildren(data []byte) []int {
	const most = 1 << 16
	var out []int
	for f := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 && len(out) < most {
			out = append(out, pid)
		}
	}
	return out
}

// gone tells an error of what is not there, such as a process that ended.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func file(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
