package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plumb/test/locked"
	"plumb/test/namespace"
)

// Filesystem makes a filesystem in a file, attaches it to a loop device and
// mounts it. fstype is ext4, xfs or btrfs; options are mount options.
func (b *Box) Filesystem(name, fstype string, megabytes int, mkfs []string, options string) (string, error) {
	if err := needRoot("a " + fstype + " filesystem on a loop device"); err != nil {
		return "", err
	}
	loop, err := b.Loop(name, megabytes)
	if err != nil {
		return "", err
	}
	return b.FilesystemOn(loop, name, fstype, mkfs, options)
}

// FilesystemOn makes a filesystem on a device of the box and mounts it.
func (b *Box) FilesystemOn(device, name, fstype string, mkfs []string, options string) (string, error) {
	maker, err := find("no mkfs."+fstype, "apt-get install e2fsprogs xfsprogs btrfs-progs", "mkfs."+fstype)
	if err != nil {
		return "", err
	}
	if _, err := output(exec.Command(maker, append(mkfs, device)...)); err != nil {
		return "", err
	}
	return b.Mount(name, fstype, device, options)
}

// Loop attaches a new file of the box to a loop device.
func (b *Box) Loop(name string, megabytes int) (string, error) {
	image := filepath.Join(b.Dir, name+".img")
	if err := truncate(image, int64(megabytes)<<20); err != nil {
		return "", err
	}
	return b.attach(image)
}

// attach makes a loop device of a file.
func (b *Box) attach(image string) (string, error) {
	loop, err := output(exec.Command("losetup", "--find", "--show", "--direct-io=on", image))
	if err != nil {
		return "", Missing{"no loop device: " + err.Error(), "run where loop devices may be made"}
	}
	loop = strings.TrimSpace(loop)
	b.OnClose(func() error { return insist("losetup", "--detach", loop) })
	return loop, nil
}

// Mount mounts a filesystem on a directory of the box; options may be "".
func (b *Box) Mount(name, fstype, source, options string) (string, error) {
	dir, err := b.Mkdir(name)
	if err != nil {
		return "", err
	}
	args := []string{"-t", fstype, source, dir}
	if options != "" {
		args = append([]string{"-o", options}, args...)
	}
	if _, err := output(exec.Command("mount", args...)); err != nil {
		return "", Missing{"cannot mount " + fstype + ": " + err.Error(), "run where the kernel has it"}
	}
	b.OnClose(func() error { return insist("umount", dir) })
	return dir, os.Chown(dir, b.uid, b.gid)
}

// insist repeats a command while a filesystem is still busy for a moment
// after its server went away.
func insist(argv ...string) error {
	return until(patience, func(context.Context) error {
		_, err := output(exec.Command(argv[0], argv[1:]...))
		return err
	})
}

func truncate(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

// Pool is a ZFS pool on files of the box.
type Pool struct {
	Name  string
	Dir   string   // mount point of its root dataset
	Files []string // files and devices of the box that it is made of
	box   *Box
	lost  bool
}

// ZFSFuse starts the zfs-fuse daemon when none runs and makes a pool on one
// file of the box, with more vdevs given as zpool arguments in which FILE
// stands for a further file and LOOP for a further loop device, which is what
// a cache device has to be.
func (b *Box) ZFSFuse(megabytes int, vdevs ...string) (*Pool, error) {
	return b.ZFSFuseOf(megabytes, append([]string{"FILE"}, vdevs...)...)
}

// ZFSFuseOf is ZFSFuse with all vdevs as they are given: "mirror", "FILE", "FILE".
func (b *Box) ZFSFuseOf(megabytes int, vdevs ...string) (*Pool, error) {
	if err := needRoot("a ZFS pool"); err != nil {
		return nil, err
	}
	daemon, err := find("no zfs-fuse", "apt-get install zfs-fuse", "zfs-fuse")
	if err != nil {
		return nil, err
	}
	if err := b.zfsDaemon(daemon); err != nil {
		return nil, err
	}
	return b.newPool(megabytes, vdevs...)
}

// OpenZFS is ZFSFuse with the ZFS that is in the kernel.
func (b *Box) OpenZFS(megabytes int, vdevs ...string) (*Pool, error) {
	if err := needRoot("a ZFS pool"); err != nil {
		return nil, err
	}
	return b.newPool(megabytes, append([]string{"FILE"}, vdevs...)...)
}

// AnyZFS makes pools of the ZFS that is here: that of the kernel, or else zfs-fuse. It is for
// what both can do.
func (b *Box) AnyZFS() (make func(megabytes int, vdevs ...string) (*Pool, error), fuse bool) {
	if _, err := os.Stat("/sys/module/zfs"); err == nil {
		return b.OpenZFS, false
	}
	return b.ZFSFuse, true
}

func (b *Box) newPool(megabytes int, vdevs ...string) (*Pool, error) {
	b.pools++
	name := fmt.Sprintf("%s%d", strings.ReplaceAll(filepath.Base(b.Dir), "-", ""), b.pools)
	p := &Pool{Name: name, Dir: filepath.Join(b.Dir, fmt.Sprintf("pool%d", b.pools)), box: b}
	args := []string{"create", "-f", "-m", p.Dir, name}
	for i, word := range vdevs {
		v, err := b.vdev(word, fmt.Sprintf("vdev%d-%d", b.pools, i), megabytes)
		if err != nil {
			return nil, err
		}
		if v != word {
			p.Files = append(p.Files, v)
		}
		args = append(args, v)
	}
	if _, err := output(exec.Command("zpool", args...)); err != nil {
		return nil, err
	}
	b.OnClose(p.destroy)
	return p, nil
}

// Lose takes the pool away with all that is on it, before its box is closed.
func (p *Pool) Lose() error {
	err := p.destroy()
	p.lost = err == nil
	return err
}

// destroy takes the pool away. zfs-fuse calls a pool busy for a while after
// its last server has gone, so its mounts are let go first.
func (p *Pool) destroy() error {
	if p.lost {
		return nil
	}
	return until(patience, func(context.Context) error {
		_, err := output(exec.Command("zpool", "destroy", "-f", p.Name))
		if err != nil {
			_, _ = output(exec.Command("sh", "-c", `awk -v d="$1" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount -l`, "sh", p.Dir))
		}
		return err
	})
}

// vdev replaces the words FILE and LOOP.
func (b *Box) vdev(word, name string, megabytes int) (string, error) {
	switch word {
	case "FILE":
		path := filepath.Join(b.Dir, name)
		return path, truncate(path, int64(megabytes)<<20)
	case "LOOP":
		return b.Loop(name, megabytes)
	}
	return word, nil
}

// zfsDaemon starts zfs-fuse for this box. A machine can run only one daemon,
// so boxes of other processes wait for their turn, and one that somebody else
// started is used as it is.
func (b *Box) zfsDaemon(daemon string) error {
	if b.pools > 0 {
		return nil
	}
	if _, err := os.Stat("/var/lock"); err != nil {
		return Missing{"zfs-fuse keeps its lock in /var/lock, and that leads nowhere", "mkdir /run/lock"}
	}
	if err := b.lock("zfs-fuse"); err != nil {
		return err
	}
	if _, err := output(exec.Command("zpool", "list")); err == nil {
		return clearStale()
	}
	cmd := exec.Command(daemon, "-n")
	if os.Getenv(namespace.EnvApart) != "" {
		cmd.Dir = b.Dir // where test/reaper finds it, if this test is killed: no next one will use it
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Its pools are destroyed by then. Asked to end, it would take four seconds, and take its figures away itself.
	if _, err := b.run(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	b.OnClose(func() error {
		_, _ = output(exec.Command("umount", "-l", "/zfs-kstat")) // of a daemon that never had a pool there is none
		return nil
	})
	err := until(30*time.Second, func(context.Context) error { // where FUSE does not work, each test waits so long
		_, err := output(exec.Command("zpool", "list"))
		return err
	})
	if err != nil {
		return Missing{"zfs-fuse does not start: " + err.Error(), "run where FUSE works"}
	}
	return clearStale()
}

// lock waits until no other process holds what the machine has only once.
func (b *Box) lock(what string) error {
	f, err := Alone(what)
	if err == nil {
		b.OnClose(f.Close)
	}
	return err
}

// Alone waits until no other test or demo holds what the machine has only
// once, and holds it until the file is closed. The file lies in the same place
// for all of them, whatever their TMPDIR says.
func Alone(what string) (*os.File, error) {
	return locked.File("/tmp/plumb-test-" + what + ".lock")
}

// Dataset makes a dataset with properties such as "recordsize=16K" and gives
// its mount point.
func (p *Pool) Dataset(name string, properties ...string) (string, error) {
	args := []string{"create"}
	for _, prop := range properties {
		args = append(args, "-o", prop)
	}
	if _, err := output(exec.Command("zfs", append(args, p.Name+"/"+name)...)); err != nil {
		return "", err
	}
	dir := filepath.Join(p.Dir, name)
	return dir, os.Chown(dir, p.box.uid, p.box.gid)
}

// Set sets a property of a dataset; "" is the root dataset.
func (p *Pool) Set(dataset, property string) error {
	full := p.Name
	if dataset != "" {
		full += "/" + dataset
	}
	_, err := output(exec.Command("zfs", "set", property, full))
	return err
}

// Snapshot takes a snapshot of each dataset, one command each.
func (p *Pool) Snapshot(name string, datasets ...string) error {
	for _, d := range datasets {
		if _, err := output(exec.Command("zfs", "snapshot", p.Name+"/"+d+"@"+name)); err != nil {
			return err
		}
	}
	return nil
}
