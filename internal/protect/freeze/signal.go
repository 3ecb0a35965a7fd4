package freeze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
)

// signal stops each process with SIGSTOP, until there are no new ones.
func (f *frozen) signal(ctx context.Context) error {
	f.still = func(ctx context.Context) (bool, error) { return allStopped(ctx, f.d, f.pid) }
	return f.each(ctx, func(pid int) error {
		name := strconv.Itoa(pid)
		return f.will(step{verb: goOn, what: name}, func() error {
			if err := f.tell("stop", name); err != nil {
				return err
			}
			return settled(ctx, func(ctx context.Context) (bool, error) { return stopped(ctx, f.d, pid) })
		})
	})
}

// each does something with each process of the server once, until there are no new ones.
func (f *frozen) each(ctx context.Context, do func(pid int) error) error {
	done := map[int]bool{}
	for {
		pids, err := family(ctx, f.d, f.pid)
		if err != nil {
			return err
		}
		fresh := false
		for _, pid := range pids {
			if done[pid] {
				continue
			}
			fresh, done[pid] = true, true
			if err := do(pid); err != nil {
				return err
			}
		}
		if !fresh {
			return nil
		}
	}
}

// allStopped tells whether all threads of a family are stopped.
func allStopped(ctx context.Context, h host.Reader, pid int) (bool, error) {
	pids, err := family(ctx, h, pid)
	if err != nil {
		return false, err
	}
	for _, pid := range pids {
		if is, err := stopped(ctx, h, pid); err != nil || !is {
			return false, err
		}
	}
	return true, nil
}

// stopped tells whether all threads of a process are stopped, or have ended.
func stopped(ctx context.Context, h host.Reader, pid int) (bool, error) {
	tasks, err := h.Glob(ctx, fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, task := range tasks {
		text, err := h.ReadFile(ctx, task)
		if err != nil {
			continue // it has ended
		}
		_, _, rest, ok := proc.SplitStat(text)
		if !ok || len(rest) == 0 || !strings.Contains("TtZX", rest[0]) {
			return false, nil
		}
	}
	return true, nil
}

// family gives a process and all below it.
func family(ctx context.Context, h host.Reader, pid int) ([]int, error) {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		files, err := h.Glob(ctx, fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil || i == 0 && len(files) == 0 {
			return nil, errors.Join(fmt.Errorf("its processes cannot be listed: process %d has ended, or the kernel does not tell children", pid), err)
		}
		for _, file := range files {
			text, err := h.ReadFile(ctx, file)
			if err != nil {
				continue // the thread has just ended
			}
			for _, word := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(word); err == nil && !slices.Contains(all, child) {
					all = append(all, child)
				}
			}
		}
	}
	return all, nil
}
