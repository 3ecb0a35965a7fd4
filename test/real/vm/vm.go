// Package vm boots Debian with a real OpenZFS in QEMU, runs a script in it and
// brings files back. The machines that test Plumb have no ZFS module; this one
// builds it, once, and needs no help of the processor.
//
// A run never hangs, because it has a deadline, and leaves no process, because
// QEMU ends with us however we end. What it writes to the system's disk is
// forgotten; what is to stay goes to /out or to a [Disk] with a file.
//
// What this machine lacks gives an error of type [sandbox.Missing].
package vm

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// Machine is a machine that can be booted any number of times, also several
// at a time: each run begins with the disk as it was built.
type Machine struct {
	Image
	MemoryMB int // 3072
	CPUs     int // 2, or 1 for who may use only one
	qemu     string
}

// New gives a machine of a release, building its image when the cache does not
// have it: ten minutes, of which say hears. Building needs root.
func New(ctx context.Context, release string, say Say) (*Machine, error) {
	qemu, err := findProgram("qemu-system-x86_64", "qemu-system-x86")
	if err != nil {
		return nil, err
	}
	image, err := Build(ctx, release, say)
	if err != nil {
		return nil, err
	}
	// With more of them than there are here, one would wait for a lock of another that does not run.
	return &Machine{Image: image, MemoryMB: 3072, CPUs: min(2, runtime.NumCPU()), qemu: qemu}, nil
}

// Open gives a machine to a test, or skips it with the reason. It wants
// PLUMB_REAL, and its image built: a build takes ten minutes, and many more on a
// busy machine, so that only FULL=1 begins one.
func Open(t testing.TB, release string) *Machine {
	t.Helper()
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("boots a virtual machine: make test-real runs it")
	}
	if !Built(release) && !sandbox.Full() {
		t.Skipf("no image of %s was built yet: make vm VM='-release %s' RUN='zpool version' builds it, and make test-real FULL=1", release, release)
	}
	m, err := New(t.Context(), release, func(text string) { t.Log(text) })
	sandbox.Need(t, err)
	return m
}

// Do runs a script for a test that wants it to succeed.
func (m *Machine) Do(t testing.TB, s Script) Result {
	t.Helper()
	r, err := m.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Output)
	}
	if r.Code != 0 {
		t.Fatalf("the script ended with %d\n%s", r.Code, r.Output)
	}
	return r
}

// Say is told what happens while somebody waits, a line at a time.
type Say func(text string)

func (s Say) tell(text string) {
	if s != nil {
		s(strings.TrimSpace(text))
	}
}
