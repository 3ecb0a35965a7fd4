package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// hostile is a machine on which everything is there, at the limits of what
// the door lets through, and none of it makes sense. All its texts are one: host.Cached
// keeps what it was given, and gives copies. With a text of its own for each file, the
// more a processor reads in the time of the test, the more memory it would take.
type hostile struct {
	text  []byte        // of every file and command: 8 MiB, with ErrTooLarge, as host.Live gives it
	paths int           // of every glob
	wait  time.Duration // before every answer
}

func (h hostile) About() host.About {
	return host.About{Taken: time.Unix(1, 0).UTC(), Root: true, User: "root"}
}

func (h hostile) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(h.wait):
	}
	return ctx.Err()
}

func (h hostile) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := h.pause(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if strings.HasSuffix(name, "/comm") { // so that there are servers
		return []byte("mariadbd\n"), nil
	}
	return h.text, fmt.Errorf("read %s: %w", name, host.ErrTooLarge)
}

func (h hostile) Glob(ctx context.Context, pattern string) ([]string, error) {
	if err := h.pause(ctx); err != nil {
		return nil, fmt.Errorf("glob %s: %w", pattern, err)
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	found, one := make([]string, h.paths), strings.NewReplacer("[0-9]", "", "?", "x").Replace(pattern)
	for i := range found {
		found[i] = strings.ReplaceAll(one, "*", strconv.Itoa(i))
	}
	return found, fmt.Errorf("glob %s: %w", pattern, host.ErrTooLarge)
}

func (h hostile) Stat(ctx context.Context, name string) (host.Stat, error) {
	return host.Stat{DevMajor: 8, Mode: fs.ModeDir, Resolved: name, Size: -1, Inode: 1 << 63}, h.pause(ctx)
}

func (h hostile) Readlink(ctx context.Context, name string) (string, error) {
	return name, h.pause(ctx)
}

func (h hostile) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	return host.Statfs{BlockSize: -1, FreeBytes: 1 << 63, TotalBytes: 1}, h.pause(ctx)
}

func (h hostile) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if err := h.pause(ctx); err != nil {
		return nil, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return h.text, fmt.Errorf("run %s: %w", argv[0], host.ErrTooLarge)
}

func (h hostile) Query(ctx context.Context, _ host.Target, query string) (host.Rows, error) {
	cell := string(h.text[:min(len(h.text), 1000)])
	return host.Rows{Columns: []string{cell, ""}, Values: [][]*string{{&cell, nil}, {nil}, {}, nil}, Cut: true}, h.pause(ctx)
}

// nonsense are texts that parsers have stumbled over.
func nonsense(size int) map[string][]byte {
	noise := make([]byte, size)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	fill := func(s string) []byte { return bytes.Repeat([]byte(s), size/len(s)) }
	return map[string][]byte{
		"noise":    noise,
		"zeros":    make([]byte, size),
		"newlines": fill("\n"),
		"one line": fill("a"),
		"numbers":  fill("99999999999999999999 -1 0x 1e999\n"),
		"sysctl":   fill("vm.*=\n-\n=\n*\nvm.swappiness = [\n"),
		"fstab":    fill("/dev/sda\\040 / ext4 \\\\999 x y\n"),
		"mounts":   fill("1 1 8:0 / / - ext4 /dev/sda1 rw\n2 1 8:0 \\0 / rw - x\n36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n"),
		"options":  fill("[mysqld]\n!include /etc/my.cnf\n!includedir /etc\n'=\"\n"),
		"json":     fill(`{"a":[`),
	}
}

// A hostile machine costs the time that was given and little memory, breaks
// no probe, and gives a report.
func TestHostileMachine(t *testing.T) {
	k, err := (&app{Shell: shell.Shell{Err: new(bytes.Buffer)}}).loadKnowledge(check.Choice{}, "")
	must(t, err)
	limit := 2 * time.Second
	if testing.Short() {
		limit /= 8
	}
	for name, text := range nonsense(8 << 20) {
		t.Run(name, func(t *testing.T) {
			survived(t, k, hostile{text: text, paths: 100_000, wait: time.Microsecond}, limit)
		})
	}
	t.Run("no answer", func(t *testing.T) { survived(t, k, hostile{wait: time.Hour}, limit/8) })
}

// survived looks at a machine and judges it.
func survived(t *testing.T, k check.Knowledge, h hostile, limit time.Duration) {
	t.Helper()
	stop := watchMemory()
	started := time.Now()
	s, err := lookInTime(context.Background(), host.NewCached(h), k.Catalog, dsn.Given{}, limit)
	if err != nil {
		t.Fatal(err)
	}
	k.Judge(s)
	// The machine may be busy with other tests.
	if took := time.Since(started); took > limit+time.Minute {
		t.Errorf("took %v with a deadline of %v", took, limit)
	}
	// Every file here is 8 MiB: this catches growth without bound. What a
	// check may take on a real machine is asserted in test/real.
	if most := stop(); most > 2<<30 {
		t.Errorf("held %d MB", most>>20)
	}
	unbroken(t, s)
}

// watchMemory samples the heap; what it gives tells the most that was in use.
func watchMemory() func() uint64 {
	runtime.GC()
	done, answer := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				answer <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(done); return <-answer }
}

func unbroken(t *testing.T, s *stack.Stack) {
	t.Helper()
	for _, g := range s.Gaps {
		if strings.Contains(g.Hint, "bug in Plumb") {
			t.Errorf("%s: %s", g.Probe, g.Why)
		}
	}
}

// spoiler gives another reader's answers, one in some of them spoilt.
type spoiler struct {
	host.Reader

	mu     sync.Mutex
	random *rand.Rand
}

// pick tells whether and how to spoil an answer.
func (s *spoiler) pick(ways int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random.IntN(4) > 0 {
		return -1
	}
	return s.random.IntN(ways)
}

func (s *spoiler) number(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(max(n, 1))
}

func (s *spoiler) bytes(b []byte) []byte {
	b = bytes.Clone(b)
	switch s.pick(6) {
	case 0:
		return nil
	case 1:
		return b[:s.number(len(b))]
	case 2:
		return append(b, b[s.number(len(b)):]...)
	case 3:
		for range 3 {
			if len(b) > 0 {
				b[s.number(len(b))] = byte(s.number(256))
			}
		}
	case 4:
		return bytes.ReplaceAll(b, []byte("1"), []byte("99999999999999999999"))
	case 5:
		return bytes.ReplaceAll(b, []byte(" "), []byte("\t\x00-"))
	}
	return b
}

func (s *spoiler) ReadFile(ctx context.Context, name string) ([]byte, error) {
	b, err := s.Reader.ReadFile(ctx, name)
	return s.bytes(b), err
}

func (s *spoiler) Output(ctx context.Context, argv ...string) ([]byte, error) {
	b, err := s.Reader.Output(ctx, argv...)
	return s.bytes(b), err
}

func (s *spoiler) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	rows, err := s.Reader.Query(ctx, t, query)
	out := host.Rows{Columns: rows.Columns, Cut: rows.Cut}
	for _, row := range rows.Values {
		cells := make([]*string, 0, len(row))
		for _, cell := range row {
			if cell != nil {
				spoilt := string(s.bytes([]byte(*cell)))
				cell = &spoilt
			}
			if s.number(50) == 0 {
				cell = nil
			}
			cells = append(cells, cell)
		}
		out.Values = append(out.Values, cells)
	}
	switch s.pick(5) {
	case 0:
		out.Values = nil
	case 1:
		out.Columns = out.Columns[:s.number(len(out.Columns))]
	case 2:
		for i := range out.Values {
			out.Values[i] = out.Values[i][:s.number(len(out.Values[i]))]
		}
	case 3:
		out = host.Rows{}
	}
	return out, err
}

// Whatever a captured host is made to answer, files, commands and queries
// alike, no probe and no rule breaks. This is where parsers of rows are tried.
func TestSpoiltAnswers(t *testing.T) {
	k, err := (&app{Shell: shell.Shell{Err: new(bytes.Buffer)}}).loadKnowledge(check.Choice{}, "")
	must(t, err)
	for _, name := range capturedHosts(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for seed := range uint64(rounds(t)) {
				taped, err := (&app{}).openTape(name)
				if err != nil {
					t.Fatal(err)
				}
				r := &spoiler{Reader: taped, random: rand.New(rand.NewPCG(seed, 7))}
				s, err := lookInTime(context.Background(), host.NewCached(r), k.Catalog, dsn.Given{}, time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				unbroken(t, s)
				k.Judge(s)
				if t.Failed() {
					t.Fatalf("with seed %d", seed)
				}
			}
		})
	}
}

func rounds(t *testing.T) int {
	if testing.Short() {
		return 3
	}
	return 15
}
