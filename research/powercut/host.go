package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plumb/test/namespace"
	"plumb/test/sandbox"
)

//go:embed host.sh
var hostShell string

// host runs guests on this host, without a machine: in namespaces of their
// own, on loop devices. A disk whose power will be cut is kept by a
// qemu-storage-daemon, whose death is the cut.
type host struct {
	dir string // for what runs need
}

// errLeft says that a guest is not quite gone.
var errLeft = errors.New("something of the guest is left")

// mostOutput bounds what is kept of what a guest prints.
const mostOutput = 4 << 20

// Run implements hypervisor.
func (h *host) Run(ctx context.Context, g guest) (code int, output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.deadline)
	defer cancel()
	dir, err := os.MkdirTemp(h.dir, "host-")
	if err != nil {
		return -1, nil, err
	}
	defer os.RemoveAll(dir)
	if err := stage(ctx, dir, g); err != nil {
		return -1, nil, err
	}
	r := &running{dir: dir, output: &executor{live: g.live, most: mostOutput}}
	err = r.begin(ctx, g)
	if err == nil {
		select {
		case <-r.guest.gone:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if left := r.end(); left != nil {
		err = errors.Join(err, errLeft, left)
	}
	if err == nil {
		err = bringOut(dir, g.out)
	}
	if err != nil {
		return -1, r.output.kept, err
	}
	return r.guest.cmd.ProcessState.ExitCode(), r.output.kept, nil
}

// stage makes the guest's directories and its new disks.
func stage(ctx context.Context, dir string, g guest) error {
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "in"), 0o755), os.Mkdir(filepath.Join(dir, "out"), 0o755)); err != nil {
		return err
	}
	for _, name := range g.in {
		to := filepath.Join(dir, "in", filepath.Base(name))
		if os.Link(name, to) == nil {
			continue
		}
		if err := copyImage(ctx, name, to); err != nil {
			return err
		}
	}
	for _, d := range g.disks {
		if _, err := os.Stat(d.file); err == nil || d.bytes == 0 {
			continue
		}
		if err := errors.Join(os.WriteFile(d.file, nil, 0o600), os.Truncate(d.file, d.bytes)); err != nil {
			return err
		}
	}
	return nil
}

// bringOut gives the caller what the guest left.
func bringOut(dir, out string) error {
	if out == "" {
		return nil
	}
	return os.CopyFS(out, os.DirFS(filepath.Join(dir, "out")))
}

// running is one guest with all that must be gone after it.
type running struct {
	dir    string
	group  *freezer
	power  []*daemon
	loops  []*loop
	guest  *child
	output *executor
}

// begin starts the guest on its disks.
func (r *running) begin(ctx context.Context, g guest) (err error) {
	env := []string{"IN=/srv/in", "OUT=/srv/out", "DIR=" + r.dir, "HOME=/root", "LANG=C.UTF-8", "CACHE=" + sandbox.Cache(), "PATH=" + os.Getenv("PATH")}
	for _, d := range g.disks {
		l, err := r.attach(ctx, d)
		if err != nil {
			return fmt.Errorf("make the disk %s: %w", d.name, err)
		}
		r.loops = append(r.loops, l)
		env = append(env, "DISK_"+d.name+"="+l.name)
	}
	if r.group, err = newFreezer(fmt.Sprintf("plumb-powercut-%d-%s", os.Getpid(), filepath.Base(r.dir))); err != nil {
		return err
	}
	cmd := exec.Command("bash", "-c", namespace.LetGo(r.dir)+hostShell, "powercut", g.line)
	cmd.Dir, cmd.Env = "/", append(env, "PLACE="+r.group.dir)
	cmd.Stdout, cmd.Stderr = r.output, r.output
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Unshareflags: syscall.CLONE_NEWNS, // Go makes its mounts private
	}
	if r.guest, err = start(cmd); err != nil {
		r.guest = nil
		return fmt.Errorf("make namespaces: %w", err)
	}
	return nil
}

func (r *running) attach(ctx context.Context, d disk) (*loop, error) {
	if !d.cut {
		return attachFile(d.file)
	}
	k, err := startDaemon(ctx, r.dir, d)
	if err != nil {
		return nil, err
	}
	r.power = append(r.power, k)
	return k.disk()
}

// end cuts the power of a guest that runs, and waits until everything of any
// guest is gone. The guest is frozen first: of a disk that died, which is no
// power cut, its programs see nothing and acknowledge nothing more. What it had
// sent to the disk goes on until the daemon is killed, which is at once.
func (r *running) end() error {
	var all error
	if r.group != nil {
		all = errors.Join(all, r.group.freeze())
	}
	for _, k := range r.power {
		k.kill()
	}
	if r.group != nil {
		all = errors.Join(all, r.group.kill())
	}
	if r.guest != nil {
		r.guest.kill()
	}
	if r.group != nil {
		all = errors.Join(all, r.group.close())
	}
	for _, l := range r.loops {
		all = errors.Join(all, l.close())
	}
	return all
}

// executor keeps the beginning of an output and shows it to somebody.
type executor struct {
	kept []byte
	live io.Writer
	most int
}

// Write implements io.Writer.
func (k *executor) Write(p []byte) (int, error) {
	k.kept = append(k.kept, p[:min(len(p), k.most-len(k.kept))]...)
	if k.live != nil {
		return k.live.Write(p)
	}
	return len(p), nil
}

// child is a process that gets SIGKILL when we die.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it ended
	err  error         // how, after that
}

// start starts a process. What kills it with us is tied to the thread that
// started it, so the thread stays until it ended.
func start(cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.WaitDelay = 10 * time.Second
	c, begun := &child{cmd: cmd, gone: make(chan struct{})}, make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.gone)
		}
	}()
	return c, <-begun
}

// kill ends the process and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.gone
}

// freezer is a control group whose processes can all be stopped at once, of
// version 1 or 2.
type freezer struct {
	dir, file, stop, run string
}

func newFreezer(name string) (*freezer, error) {
	f := &freezer{filepath.Join("/sys/fs/cgroup/freezer", name), "freezer.state", "FROZEN", "THAWED"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		f = &freezer{filepath.Join("/sys/fs/cgroup", name), "cgroup.freeze", "1", "0"}
	}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return nil, sandbox.Missing{What: "cannot make a control group: " + err.Error(), Hint: "run where /sys/fs/cgroup can be written and has the freezer"}
	}
	return f, nil
}

// freeze stops what runs in the group. A process that waits in the kernel goes
// on waiting, and stops before it sees what the kernel says.
func (f *freezer) freeze() error {
	return os.WriteFile(filepath.Join(f.dir, f.file), []byte(f.stop), 0)
}

// kill sends SIGKILL to all that is in the group and lets it go on, into death:
// the signal comes before any instruction of theirs.
func (f *freezer) kill() error {
	text, err := os.ReadFile(filepath.Join(f.dir, "cgroup.procs"))
	for _, word := range strings.Fields(string(text)) {
		if pid, bad := strconv.Atoi(word); bad == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one that is gone is as good
		}
	}
	return errors.Join(err, os.WriteFile(filepath.Join(f.dir, f.file), []byte(f.run), 0))
}

// close takes the group away when its processes are gone.
func (f *freezer) close() error {
	var err error
	for until := time.Now().Add(loopEnds); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if err = os.Remove(f.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		err = errors.Join(err, f.kill())
	}
	return fmt.Errorf("remove the control group: %w", err)
}
