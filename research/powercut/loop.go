package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/units"
)

// loop is a loop device. It ends with its last user: us and whoever mounted it.
type loop struct {
	name string // such as /dev/loop3
	file *os.File
}

// loopTries is how often another may snatch the free device that we were told of.
const loopTries = 50

// attach makes a loop device of a file, with sectors of 512 bytes as a virtual
// machine's disk has. It does without direct I/O: see the daemon's options for
// why its writes must come one after the other.
func attach(file *os.File) (*loop, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("find a loop device: %w", err)
	}
	defer control.Close()
	for range loopTries {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		l := &loop{name: fmt.Sprintf("/dev/loop%d", number)}
		if l.file, err = os.OpenFile(l.name, os.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return nil, fmt.Errorf("open the loop device: %w", err)
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Size: 512}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		copy(config.Info.File_name[:len(config.Info.File_name)-1], "plumb-powercut")
		if err = unix.IoctlLoopConfigure(int(l.file.Fd()), &config); err == nil {
			return l, nil
		}
		l.file.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %s: %w", l.name, err)
		}
	}
	return nil, errors.New("find a loop device: others take each that is free")
}

// attachFile makes a loop device of the file of a name.
func attachFile(name string) (*loop, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the device has it now
	return attach(f)
}

// loopEnds is how long the last user of a loop device may take to leave it: a
// filesystem that is unmounted and writes back what it has.
const loopEnds = time.Minute

// close gives the device back and waits until nothing uses it. A filesystem
// that is still mounted would meet the next one of its UUID.
func (l *loop) close() error {
	// Our own descriptor keeps the number from being given to another, so
	// what we see until we close it is ours.
	for until := time.Now().Add(loopEnds); ; time.Sleep(5 * time.Millisecond) {
		free, err := l.unused()
		if err != nil {
			return errors.Join(err, l.file.Close())
		}
		if free {
			return l.file.Close()
		}
		if time.Now().After(until) {
			return errors.Join(fmt.Errorf("%s is still used after %s", l.name, units.Short(loopEnds)), l.file.Close())
		}
	}
}

// unused says that nobody has the device mounted: only then may it be opened
// exclusively.
func (l *loop) unused() (bool, error) {
	f, err := os.OpenFile(l.name, os.O_RDONLY|unix.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether %s is used: %w", l.name, err)
	}
	return true, f.Close()
}
