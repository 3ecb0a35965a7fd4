package capture

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/units"
)

// mostThreads is how many threads of a process are looked at.
const mostThreads = 64

// Threads writes what the threads of a process do, as the kernel has it: name,
// state, the kernel function it waits in, and its kernel stack, which only root
// may read. Those that run or wait for a disk come first.
func Threads(ctx context.Context, h host.Reader, pid int) (string, error) {
	names, err := h.Glob(ctx, "/proc/"+strconv.Itoa(pid)+"/task/[0-9]*/stat")
	if len(names) == 0 {
		return "", errors.Join(fmt.Errorf("the threads of process %d cannot be seen", pid), err)
	}
	var busy, others []string
	for _, name := range names {
		text, state := thread(ctx, h, path.Dir(name))
		switch state {
		case "":
		case "R", "D":
			busy = append(busy, text)
		default:
			others = append(others, text)
		}
	}
	all := append(busy, others...)
	head := fmt.Sprintf("%s of process %d, %d of them running or waiting for a disk\n\n", units.Count(len(all), "thread"), pid, len(busy))
	return head + strings.Join(all[:min(len(all), mostThreads)], "\n"), nil
}

// thread describes one; no state where it has ended meanwhile.
func thread(ctx context.Context, h host.Reader, dir string) (text, state string) {
	stat, err := h.ReadFile(ctx, dir+"/stat")
	if err != nil {
		return "", ""
	}
	_, name, rest, ok := proc.SplitStat(stat)
	if !ok || len(rest) == 0 {
		return "", ""
	}
	wait, _ := h.ReadFile(ctx, dir+"/wchan") // 0 where it does not wait, or nobody may know
	kernel, err := h.ReadFile(ctx, dir+"/stack")
	if err != nil {
		kernel = []byte("stack: " + err.Error() + "\n")
	}
	return fmt.Sprintf("%s %q %s %s\n%s", path.Base(dir), name, rest[0], strings.TrimSpace(string(wait)), kernel), rest[0]
}
