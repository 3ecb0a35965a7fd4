// Package sandbox sets up real servers, filesystems, pools and control groups
// for the tests and the demo, in a directory of its own, and takes everything
// away again. Servers run unprivileged on their own sockets and ports and
// never touch an installed one.
//
// What this machine does not offer gives an error of type [Missing], which
// tests turn into a skip with its reason.
package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plumb/internal/await"
	"plumb/test/reaper"
)

// Missing says what this machine does not offer, and how it could.
type Missing struct{ What, Hint string }

// Error implements error.
func (m Missing) Error() string { return m.What + " (" + m.Hint + ")" }

// Box is a directory with everything that was set up in it.
type Box struct {
	Dir     string
	cleanup []func() error
	uid     int // servers run as this user; our own when not root
	gid     int
	pools   int // ZFS pools made so far
}

// New makes a box in a new directory below parent ("" for the system's
// temporary directory). Servers refuse to run as root, so with root's rights
// they run as the first of the users mysql, postgres, nobody that exists.
func New(parent string) (*Box, error) {
	dir, err := os.MkdirTemp(parent, "plumb-")
	if err != nil {
		return nil, err
	}
	if err := reaper.Mind(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return at(dir)
}

// At makes a box in a directory that must not exist yet, for output in which
// the name shows.
func At(dir string) (*Box, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return at(dir)
}

func at(dir string) (*Box, error) {
	b := &Box{Dir: dir, uid: os.Getuid(), gid: os.Getgid()}
	if b.uid == 0 {
		if err := b.unprivileged(); err != nil {
			return nil, err
		}
	}
	b.OnClose(func() error { return os.RemoveAll(dir) })
	return b, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, b.uid, b.gid))
}

func (b *Box) unprivileged() error {
	for _, name := range []string{"mysql", "postgres", "nobody"} {
		if b.As(name) == nil {
			return nil
		}
	}
	return errors.New("none of the users mysql, postgres and nobody exists to run servers as")
}

// As makes the servers that are set up from now on run as another user. It does
// nothing without root's rights.
func (b *Box) As(name string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return Missing{"no user " + name, "install the server's package"}
	}
	b.uid, _ = strconv.Atoi(u.Uid)
	b.gid, _ = strconv.Atoi(u.Gid)
	return nil
}

// User is the user as whom servers run.
func (b *Box) User() (uid, gid int) { return b.uid, b.gid }

// OnClose registers something to take away before what is there already.
func (b *Box) OnClose(f func() error) { b.cleanup = append(b.cleanup, f) }

// Close stops and removes everything that was set up.
func (b *Box) Close() error {
	var errs []error
	for _, f := range slices.Backward(b.cleanup) {
		errs = append(errs, f())
	}
	b.cleanup = nil
	return errors.Join(errs...)
}

// Mkdir makes a directory that the servers can write. A relative name is
// taken below the box.
func (b *Box) Mkdir(name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.Dir, name)
	}
	if err := os.MkdirAll(name, 0o750); err != nil {
		return "", err
	}
	return name, os.Chown(name, b.uid, b.gid)
}

// home makes the directories of a server of the box: for its data, unless they
// shall be elsewhere, and for its socket and log.
func (b *Box) home(name, elsewhere string) (data, run string, err error) {
	if data, err = b.Mkdir(cmp.Or(elsewhere, name)); err != nil {
		return "", "", err
	}
	run, err = b.Mkdir(name + "-run")
	return data, run, err
}

// Write writes a file that the servers can read, below the box.
func (b *Box) Write(name, content string) (string, error) {
	path := filepath.Join(b.Dir, name)
	if _, err := b.Mkdir(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		return "", err
	}
	return path, os.Chown(path, b.uid, b.gid)
}

// asServer makes a command run as the servers' user in a group of its own.
func (b *Box) asServer(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.gid)}
	}
	cmd.Dir = b.Dir
	return cmd
}

// output runs a command to its end; the error carries what it printed.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// start starts a server that is stopped with sig when the box is closed.
// wrap is a command that starts it, such as a control group's shell; nil for
// none.
func (b *Box) start(wrap []string, sig syscall.Signal, env []string, argv ...string) (pid int, err error) {
	argv = append(slices.Clone(wrap), argv...)
	log, err := os.Create(filepath.Join(b.Dir, filepath.Base(argv[len(wrap)])+"-"+strconv.Itoa(len(b.cleanup))+".out"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := b.asServer(exec.Command(argv[0], argv[1:]...))
	if len(wrap) > 0 { // joining a group needs root; the wrapper steps down itself
		cmd.SysProcAttr.Credential = nil
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	return b.run(cmd, sig)
}

// run starts a command that is stopped with sig when the box is closed.
func (b *Box) run(cmd *exec.Cmd, sig syscall.Signal) (pid int, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	b.OnClose(func() error { return stop(cmd.Process, sig, done) })
	return cmd.Process.Pid, nil
}

func stop(p *os.Process, sig syscall.Signal, done <-chan struct{}) error {
	p.Signal(sig)
	select {
	case <-done:
		return nil
	case <-time.After(patience):
		p.Kill()
		<-done
		return fmt.Errorf("process %d had to be killed", p.Pid)
	}
}

// patience is how long it is waited for what comes or goes, on a machine that has other work: a server, a daemon, a mount that is busy.
const patience = 2 * time.Minute

// until tries f until it succeeds or the time is up.
func until(limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return await.Until(ctx, limit, func() (bool, error) {
		err := f(ctx)
		return err == nil, err
	})
}

// find gives the first program that exists, by path or by name.
func find(what, hint string, names ...string) (string, error) {
	for _, n := range names {
		if matches, _ := filepath.Glob(n); len(matches) > 0 {
			return matches[len(matches)-1], nil
		}
		for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
			if p := filepath.Join(dir, n); !filepath.IsAbs(n) && executable(p) {
				return p, nil
			}
		}
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", Missing{what, hint}
}

func executable(p string) bool { st, err := os.Stat(p); return err == nil && st.Mode()&0o111 != 0 }

// needRoot gives a Missing error without root's rights.
func needRoot(what string) error {
	if os.Getuid() != 0 {
		return Missing{what + " needs root", "run the tests as root"}
	}
	return nil
}
