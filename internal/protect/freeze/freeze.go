// Package freeze makes a server's processes stand still for as long as a copy of its files
// takes, on a filesystem without snapshots.
//
// Before anything stands still, a process of its own waits for the end of its input: it lets the
// server go on when we close that, when we die, however that is, and when the time is up. It is told how
// to take a step back before each step is done.
//
// Where the freezer of control groups serves, the kernel stops all threads at once: in version
// 1 in a group made for it, in version 2 in the server's own, if nobody else is in that. Elsewhere
// each process gets SIGSTOP. Reads and writes that are under way are waited for: a thread stands still only
// between its calls, and a file that is being written asynchronously cannot be reflinked before that ended.
package freeze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/protect/heir"
)

// Freezer implements protect.Freezer.
type Freezer struct {
	Signals bool // use SIGSTOP, even where there is something better
}

var _ protect.Freezer = Freezer{}

// frozen is a server that stands still, or is about to.
type frozen struct {
	d     host.Launcher
	pid   int
	still func(ctx context.Context) (bool, error) // whether it stands still
	steps []step                                  // back, in the order in which what they undo was done
	mark  string                                  // how often its threads have run

	man *heir.Switch // reads steps back
}

// Freeze implements protect.Freezer.
func (z Freezer) Freeze(ctx context.Context, d host.Launcher, sv protect.Server, limit time.Duration) (protect.Frozen, error) {
	f, err := z.freeze(ctx, d, sv, limit)
	if err != nil {
		return nil, fmt.Errorf("make %s stand still: %w", sv.Ref, err)
	}
	return f, nil
}

func (z Freezer) freeze(ctx context.Context, d host.Launcher, sv protect.Server, limit time.Duration) (*frozen, error) {
	if sv.PID <= 1 {
		return nil, errors.New("it has no process on this host")
	}
	f := &frozen{d: d, pid: sv.PID, still: func(context.Context) (bool, error) { return false, nil }}
	if err := f.arm(ctx, limit); err != nil {
		return nil, hint.With(fmt.Errorf("start the process that lets it continue if we cannot: %w", err), "it needs root, and setsid, timeout and sh")
	}
	within, cancel := context.WithTimeout(ctx, limit/2) // the other half is for the copy
	defer cancel()
	err := z.stop(within, f)
	if err == nil {
		err = f.settled(within)
	}
	if err == nil {
		f.mark, err = f.runs(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Thaw(context.WithoutCancel(ctx)))
	}
	return f, nil
}

// stop makes the processes stand still by the best means that there is.
func (z Freezer) stop(ctx context.Context, f *frozen) error {
	if z.Signals {
		return f.signal(ctx)
	}
	for _, way := range []func(context.Context) (bool, error){f.ownGroup, f.newGroup} {
		if done, err := way(ctx); done || err != nil {
			return err
		}
	}
	return f.signal(ctx)
}

// settled waits until all stand still.
func (f *frozen) settled(ctx context.Context) error {
	for {
		still, err := f.still(ctx)
		if err != nil || still {
			return err
		}
		if await.Pause(ctx, time.Millisecond) != nil {
			return hint.With(errors.New("it does not come to a stop in time: a thread waits for the disk"), "try again when there is less to write, or allow it longer")
		}
	}
}

// Whole implements protect.Frozen. A thread that ran has been switched to.
func (f *frozen) Whole(ctx context.Context) error {
	if ended, err := f.man.Ended(); ended {
		return errors.Join(errors.New("the process that lets it continue has ended, so it continued in the middle"), err)
	}
	still, err := f.still(ctx)
	if err == nil && !still {
		err = errors.New("it runs")
	}
	if err != nil {
		return err
	}
	mark, err := f.runs(ctx)
	if err == nil && mark != f.mark {
		err = errors.New("a thread of it has run")
	}
	return err
}

// Thaw implements protect.Frozen. All is done by us and then once more by the one who waits for our end:
// to let go what goes on already is no harm.
func (f *frozen) Thaw(ctx context.Context) error {
	var failed error
	for _, s := range slices.Backward(f.steps) {
		if err := s.back(ctx, f.d); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed = errors.Join(failed, f.man.Wait(ctx)); failed == nil {
		return nil
	}
	if still, err := f.still(ctx); err == nil && !still || errors.Is(err, fs.ErrNotExist) {
		return nil // the other did it
	}
	return fmt.Errorf("let the server continue: %w", failed)
}

// runs tells how often each thread of the server was given a processor: a text that changes
// when one of them runs.
func (f *frozen) runs(ctx context.Context) (string, error) {
	pids, err := family(ctx, f.d, f.pid)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, pid := range pids {
		tasks, err := f.d.Glob(ctx, fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			return "", err
		}
		for _, task := range tasks {
			text, err := f.d.ReadFile(ctx, task)
			if err != nil {
				return "", err
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "voluntary_ctxt_switches") {
					fmt.Fprint(&all, task, line)
				}
			}
		}
	}
	return all.String(), nil
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

// step is a step back. Both we and the one who waits for our end can take it.
type step struct{ verb, what, where string }

// Verbs of steps.
const (
	goOn      = "cont"  // what: process
	write     = "write" // what: text, where: file
	moveOut   = "move"  // what: control group, where: to which its processes go
	dropGroup = "drop"  // what: control group
)

func (s step) back(ctx context.Context, d host.Doer) error {
	switch s.verb {
	case goOn:
		_, err := d.Run(ctx, "sh", "-c", `kill -s CONT -- "$1" || ! kill -s 0 -- "$1"`, "sh", s.what)
		return err
	case write:
		return d.Write(ctx, s.where, []byte(s.what))
	case moveOut:
		text, err := d.ReadFile(ctx, path.Join(s.what, "cgroup.procs"))
		for _, pid := range strings.Fields(string(text)) {
			_ = d.Write(ctx, path.Join(s.where, "cgroup.procs"), []byte(pid)) // it may have ended; what is left keeps the group
		}
		return err
	}
	_, err := d.Run(ctx, "rmdir", "--", s.what)
	return err
}

// takesOver is the dead man's switch: it reads steps back until its input ends or the time is up, and then
// takes them, the last first. timeout ends with the input too.
const takesOver = `echo armed
timeout -s KILL "$1" cat | {
	steps=
	while IFS= read -r line; do
		steps="$line
$steps"
	done
	printf '%s' "$steps" | while IFS='	' read -r verb what where; do
		case $verb in
		cont) kill -s CONT -- "$what" ;;
		write) printf '%s' "$what" >"$where" ;;
		move) while read -r pid; do echo "$pid" >"$where/cgroup.procs"; done <"$what/cgroup.procs" ;;
		drop) rmdir -- "$what" ;;
		esac
	done
}
exit 0
`

// arm starts the dead man's switch and waits until it is ready.
func (f *frozen) arm(ctx context.Context, limit time.Duration) (err error) {
	seconds := strconv.Itoa(int(math.Ceil(max(limit.Seconds(), 1))))
	f.man, err = heir.Start(ctx, f.d, takesOver, []string{seconds}, nil, limit)
	return err
}

// will tells the dead man's switch how to take a step back, and only then does it.
func (f *frozen) will(s step, do func() error) error {
	line := strings.Join([]string{s.verb, s.what, s.where}, "\t")
	if strings.ContainsAny(s.what+s.where, "\t\n") {
		return fmt.Errorf("the name of a control group cannot be passed on: %q", line)
	}
	if _, err := io.WriteString(f.man, line+"\n"); err != nil {
		return errors.New("the process that lets it continue has ended")
	}
	f.steps = append(f.steps, s)
	return do()
}

// signal stops each process with SIGSTOP, until there are no new ones.
func (f *frozen) signal(ctx context.Context) error {
	f.still = func(ctx context.Context) (bool, error) { return allStopped(ctx, f.d, f.pid) }
	return f.each(ctx, func(pid int) error {
		name := strconv.Itoa(pid)
		return f.will(step{verb: goOn, what: name}, func() error {
			_, err := f.d.Run(ctx, "sh", "-c", `kill -s STOP -- "$1" || ! kill -s 0 -- "$1"`, "sh", name)
			return err
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
	}
	return true, nil
}

// Where control groups are mounted.
var groupRoots = struct{ two, hybrid, one string }{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"}

// groupOf gives the directory of a process's control group in a hierarchy: "" for version 2.
func groupOf(ctx context.Context, h host.Reader, pid int, controller string) (string, error) {
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (f[1] == controller || controller != "" && slices.Contains(strings.Split(f[1], ","), controller)) {
			return f[2], nil
		}
	}
	return "", nil
}

// ownGroup freezes the server's own control group of version 2, when all in it and below it is
// the server.
func (f *frozen) ownGroup(ctx context.Context) (bool, error) {
	group, err := groupOf(ctx, f.d, f.pid, "")
	if err != nil || group == "" || group == "/" {
		return false, err
	}
	dir := path.Join(groupRoots.two, group)
	if _, err := f.d.Stat(ctx, path.Join(dir, "cgroup.freeze")); err != nil {
		dir = path.Join(groupRoots.hybrid, group)
		if _, err := f.d.Stat(ctx, path.Join(dir, "cgroup.freeze")); err != nil {
			return false, nil // a kernel before 5.2, or groups in a namespace of their own
		}
	}
	if alone, err := f.alone(ctx, dir); err != nil || !alone {
		return false, err
	}
	f.still = f.says(path.Join(dir, "cgroup.events"), "frozen 1")
	file := path.Join(dir, "cgroup.freeze")
	return true, f.will(step{write, "0", file}, func() error { return f.d.Write(ctx, file, []byte("1")) })
}

// alone tells whether a control group holds the server and nobody else.
func (f *frozen) alone(ctx context.Context, dir string) (bool, error) {
	pids, err := family(ctx, f.d, f.pid)
	if err != nil {
		return false, err
	}
	if below, err := f.d.Glob(ctx, dir+"/*/cgroup.procs"); err != nil || len(below) > 0 {
		return false, err
	}
	text, err := f.d.ReadFile(ctx, path.Join(dir, "cgroup.procs"))
	in := strings.Fields(string(text))
	for _, pid := range in {
		n, err := strconv.Atoi(pid)
		if err != nil || !slices.Contains(pids, n) {
			return false, nil
		}
	}
	return len(in) == len(pids), err
}

// newGroup freezes the server in a group of version 1 below its own, made for this.
func (f *frozen) newGroup(ctx context.Context) (bool, error) {
	group, err := groupOf(ctx, f.d, f.pid, "freezer")
	if err != nil || group == "" {
		return false, err
	}
	was := path.Join(groupRoots.one, group)
	if _, err := f.d.Stat(ctx, path.Join(was, "cgroup.procs")); err != nil {
		return false, nil
	}
	dir := path.Join(was, fmt.Sprintf("plumb-freeze-%d", f.pid))
	if !inventory.Missing(ctx, f.d, dir) { // another freezes it, or its switch was killed too
		return false, nil
	}
	f.still = f.says(path.Join(dir, "freezer.state"), "FROZEN")
	err = f.will(step{verb: dropGroup, what: dir}, func() error {
		_, err := f.d.Run(ctx, "mkdir", "--", dir) // a control group's directory is on no disk, and cannot be made durable
		return err
	})
	if err == nil {
		err = f.will(step{moveOut, dir, was}, func() error { return f.enter(ctx, dir) })
	}
	if err == nil {
		state := path.Join(dir, "freezer.state")
		err = f.will(step{write, "THAWED", state}, func() error { return f.d.Write(ctx, state, []byte("FROZEN")) })
	}
	return true, err
}

// enter puts the server's processes into a group, until there are no new ones.
func (f *frozen) enter(ctx context.Context, dir string) error {
	return f.each(ctx, func(pid int) error {
		err := f.d.Write(ctx, path.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)))
		if err != nil && !inventory.Missing(ctx, f.d, fmt.Sprintf("/proc/%d/exe", pid)) {
			return err
		}
		return nil
	})
}

// says tells whether a file of the kernel says something.
func (f *frozen) says(file, word string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		text, err := f.d.ReadFile(ctx, file)
		return err == nil && slices.Contains(strings.Split(strings.TrimSpace(string(text)), "\n"), word), err
	}
}
