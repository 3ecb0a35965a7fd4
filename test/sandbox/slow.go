package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Speed is what a disk does at most.
type Speed struct {
	Each  time.Duration // what a request takes that finds the disk idle
	IOPS  int           // requests a second; 0 for no limit
	Bytes int           // bytes a second; 0 for no limit
}

// apart is how long after a request of so many bytes the next one can begin.
func (s Speed) apart(bytes int) (d time.Duration) {
	if s.IOPS > 0 {
		d = time.Second / time.Duration(s.IOPS)
	}
	if s.Bytes > 0 {
		d = max(d, time.Duration(bytes)*time.Second/time.Duration(s.Bytes))
	}
	return d
}

// pace lets requests through, in the order in which they come.
type pace struct {
	mu    sync.Mutex
	speed Speed
	next  time.Time // when one can begin
}

// atOneTime is how much a limit that was not used lets through at once, as limits of kernels and
// hypervisors do: without, whatever is late once is lost.
const atOneTime = 100 * time.Millisecond

// end tells when a request is done that comes now. A limit is kept on average, however late a
// request is answered: the next one's turn does not depend on it.
func (p *pace) end(now time.Time, bytes int) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if idle := now.Add(-atOneTime); p.next.Before(idle) {
		p.next = idle
	}
	begin := now
	if p.next.After(now) {
		begin = p.next
	}
	p.next = p.next.Add(p.speed.apart(bytes))
	return begin.Add(p.speed.Each)
}

func (p *pace) become(s Speed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.speed, p.next = s, time.Time{}
}

// SlowDisk is a disk that is as fast as a test says, and no control group knows why: as a
// volume of a cloud is. The kernel's side of it is real: a loop device, with requests, queues and statistics. The file
// behind it is one of FUSE, of which this process serves the reads and writes, in memory.
type SlowDisk struct {
	Device string // /dev/loop3

	pace pace
	data *os.File
	size int64
	fuse int           // the connection to the kernel
	done chan struct{} // is closed when nothing more is served
}

// Become changes what the disk does from now on.
func (d *SlowDisk) Become(s Speed) { d.pace.become(s) }

// SlowDisk makes one, as fast as memory until it is told to become otherwise.
func (b *Box) SlowDisk(name string, megabytes int) (*SlowDisk, error) {
	if err := needRoot("a disk of FUSE"); err != nil {
		return nil, err
	}
	d := &SlowDisk{size: int64(megabytes) << 20, done: make(chan struct{})}
	memory, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	d.data = os.NewFile(uintptr(memory), name)
	b.OnClose(d.data.Close)
	if err := d.data.Truncate(d.size); err != nil {
		return nil, err
	}
	door := filepath.Join(b.Dir, name+".fuse")
	if err := d.mount(door); err != nil {
		return nil, err
	}
	b.OnClose(func() error { return d.unmount(door) })
	d.Device, err = b.attach(door)
	return d, err
}

func (d *SlowDisk) mount(door string) (err error) {
	if d.fuse, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return Missing{"no FUSE: " + err.Error(), "run where the kernel has it"}
	}
	if err := os.WriteFile(door, nil, 0o600); err != nil {
		return err
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=0,group_id=0", d.fuse, unix.S_IFREG|0o600)
	if err := unix.Mount("plumb-disk", door, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(d.fuse)
		return Missing{"no mount of FUSE: " + err.Error(), "run where root may mount"}
	}
	go d.serve()
	return nil
}

// unmount ends the serving, too.
func (d *SlowDisk) unmount(door string) error {
	// Who looks at all mounts of the machine, as a test beside this one, keeps it busy for a moment.
	if err := until(patience, func(context.Context) error { return unix.Unmount(door, 0) }); err != nil {
		return fmt.Errorf("unmount %s: %w", door, err)
	}
	<-d.done // the kernel lets go of a file that it has unmounted
	return unix.Close(d.fuse)
}
