package kinds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/inventory"
)

// endedAtOnce stands for the start of a process that had ended before it
// could be read.
const endedAtOnce = "ended"

// Proven completes a process: its name and when it started.
func Proven(ctx context.Context, h host.Reader, t *inventory.Thing, pid int) error {
	t.Name = strconv.Itoa(pid)
	if t.Proof == nil {
		t.Proof = map[string]string{}
	}
	t.Proof["boot"] = inventory.Boot(ctx, h)
	st, err := readStat(ctx, h, pid)
	if errors.Is(err, fs.ErrNotExist) {
		t.Proof["start"] = endedAtOnce
		return nil
	}
	if err != nil {
		return err
	}
	t.Proof["start"] = st.start
	if argv := readArgv(ctx, h, pid); argv != "" {
		t.Proof["argv"] = argv
	}
	return nil
}

// Runs tells whether a process that was proven runs still.
func Runs(ctx context.Context, h host.Reader, t inventory.Thing) (bool, error) {
	pid, err := strconv.Atoi(t.Name)
	if err != nil || t.Proof["boot"] != inventory.Boot(ctx, h) {
		return false, err
	}
	st, err := readStat(ctx, h, pid)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && st.start == t.Proof["start"] && !st.ended(), err
}

// stat is what /proc/PID/stat tells (proc_pid_stat(5)).
type stat struct {
	state   string // R, S, D, Z, ...
	group   int    // process group
	session int
	start   string // ticks after boot
}

// ended tells whether it runs no more: a zombie waits for its parent only.
func (s stat) ended() bool { return s.state == "Z" || s.state == "X" }

func readStat(ctx context.Context, h host.Reader, pid int) (stat, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := h.ReadFile(ctx, name)
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(text)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}

// parseStat reads the text of /proc/PID/stat.
func parseStat(text []byte) (stat, error) {
	const start = 19 // of the fields after the name: field 22 of all
	_, _, f, ok := proc.SplitStat(text)
	if !ok || len(f) <= start {
		return stat{}, errors.New("too few fields")
	}
	group, err := strconv.Atoi(f[2])
	session, err2 := strconv.Atoi(f[3])
	_, err3 := strconv.ParseUint(f[start], 10, 64)
	return stat{state: f[0], group: group, session: session, start: f[start]}, errors.Join(err, err2, err3)
}

// readArgv gives a command line, joined by blanks; "" when it has none.
func readArgv(ctx context.Context, h host.Reader, pid int) string {
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return joinArgv(text)
}

func joinArgv(text []byte) string {
	return string(bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte{' '}))
}

// process ends a process and what it started.
func (h holder) process(ctx context.Context, e inventory.Entry) error {
	if h.rebooted(ctx) || e.Thing.Proof["start"] == endedAtOnce {
		return nil
	}
	if e.Thing.Name == "" {
		return h.unnamedProcess(ctx, e)
	}
	pid, err := strconv.Atoi(e.Thing.Name)
	if err != nil || pid <= 1 {
		return foreign("%q is not the PID of one of our processes", e.Thing.Name)
	}
	st, err := readStat(ctx, h.Do, pid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	proof := e.Thing.Proof
	switch {
	case proof["start"] == "" && h.Live: // we started it, and could not read when
	case proof["start"] == "" || proof["start"] != st.start:
		return foreign("the number is another's now")
	case proof["boot"] == "" && !st.ended() && proof["argv"] != readArgv(ctx, h.Do, pid):
		// The start is counted from boot: without the boot's name it is no proof.
		return foreign("it runs another program now")
	}
	return h.end(ctx, pid, st)
}

// unnamedProcess finds the process of a lab that died before it could write
// the number down: by its command line, which names something in a directory of
// the lab, so that nobody else's can be the same.
func (h holder) unnamedProcess(ctx context.Context, e inventory.Entry) error {
	want := e.Thing.Proof["argv"]
	if !h.mentionsTree(ctx, want) {
		return nil // nothing tells it from others: it has a control group, or is not known
	}
	files, err := h.Do.Glob(ctx, "/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	var all []error
	for _, file := range files {
		text, err := h.Do.Raw(ctx, file)
		if errors.Is(err, context.DeadlineExceeded) { // it may be the one
			all = append(all, err)
		}
		argv := joinArgv(text)
		if err != nil || !h.begunAs(ctx, argv, want) {
			continue
		}
		pid, err := strconv.Atoi(path.Base(path.Dir(file)))
		if err != nil {
			continue
		}
		if st, err := readStat(ctx, h.Do, pid); err == nil {
			all = append(all, h.end(ctx, pid, st))
		}
	}
	return errors.Join(all...)
}

// begunAs tells whether a running command line is of the one that was begun: itself, a script's with its interpreter before
// it, or what nice or unshare ran in its own place, if that still names something of ours.
func (h holder) begunAs(ctx context.Context, argv, begun string) bool {
	return argv == begun || strings.HasSuffix(argv, " "+begun) || strings.HasSuffix(begun, " "+argv) && h.mentionsTree(ctx, argv)
}

func (h holder) mentionsTree(ctx context.Context, argv string) bool {
	for _, tree := range h.trees(ctx) {
		if strings.Contains(argv+" ", tree+"/") || strings.Contains(argv+" ", tree+" ") {
			return true
		}
	}
	return false
}

// end asks a process and its group to end, and then makes them.
func (h holder) end(ctx context.Context, pid int, was stat) error {
	for _, signal := range []string{"TERM", "KILL"} {
		to := strconv.Itoa(pid)
		if was.group == pid {
			to = "-" + to
		}
		if err := h.kill(ctx, signal, to); err != nil {
			if runs, look := h.runs(ctx, pid, was); runs || look != nil {
				return errors.Join(err, look)
			}
		}
		err := await.Until(ctx, patience, func() (bool, error) { runs, err := h.runs(ctx, pid, was); return !runs && err == nil, err })
		if err == nil {
			return h.endRest(ctx, pid, was)
		}
		if ctx.Err() != nil {
			return err
		}
	}
	return errors.New("it does not end, not even killed: it waits in the kernel")
}

// endRest kills what is left of a session whose leader has just ended. Its
// number cannot be another's while any of them lives.
func (h holder) endRest(ctx context.Context, pid int, was stat) error {
	if was.session != pid {
		return nil
	}
	files, err := h.Do.Glob(ctx, "/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	var all []error
	for _, file := range files {
		text, err := h.Do.ReadFile(ctx, file)
		if err != nil {
			continue // has ended
		}
		if st, err := parseStat(text); err == nil && st.session == pid && !st.ended() {
			all = append(all, h.kill(ctx, "KILL", path.Base(path.Dir(file))))
		}
	}
	return errors.Join(all...)
}

// runs tells whether a process is still the one it was and runs.
func (h holder) runs(ctx context.Context, pid int, was stat) (bool, error) {
	st, err := readStat(ctx, h.Do, pid)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && st.start == was.start && !st.ended(), err
}

// kill sends a signal. The shell has the command; small systems have no other.
func (h holder) kill(ctx context.Context, signal, to string) error {
	_, err := h.Do.Run(ctx, "sh", "-c", `kill -s "$1" -- "$2"`, "sh", signal, to)
	return err
}
