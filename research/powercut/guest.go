package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"plumb/test/real/vm"
)

//go:embed guest.sh
var guestShell string

// Numbers that the guest and the host share.
const (
	guestPort = 7306 // of the server in the guest
	warehouse = 1    // TPC-C's scale: some 100 MB, and the caches are smaller
	threads   = 4    // sessions of the load
	diskBytes = 2 << 30
	bookBytes = 256 << 20
)

// disk is one of a guest's: $DISK_NAME there.
type disk struct {
	name  string
	file  string // made when it is not there
	bytes int64  // of a new one
	log   string // where blklogwrites logs its writes; "" for nowhere
	cut   bool   // its power will be cut: the context of the run ends
}

// guest is one boot of a machine.
type guest struct {
	release  string
	line     string   // what bash runs, as root
	in       []string // files that are copied into /in
	out      string   // new directory of the host that receives /out; "" for none
	disks    []disk
	deadline time.Duration
	live     io.Writer // sees what the line prints; nil for nobody
}

// hypervisor boots machines. A machine is gone when Run returns. When the
// context ends first, QEMU gets SIGKILL at once, and the error is the
// context's: to the guest that is a power cut. The disks keep what was complete.
type hypervisor interface {
	Run(ctx context.Context, g guest) (code int, output []byte, err error)
}

// script is what a guest runs for a row: prepare, serve, or verify of so many
// records of the ledger, 0 for all.
func (r row) script(what string, records int64) string {
	var b strings.Builder
	for _, v := range []struct{ name, value string }{
		{"ENGINE", r.engine}, {"STORAGE", r.storage}, {"RECORD", r.record}, {"PROPERTIES", strings.Join(r.properties, " ")},
		{"SETTINGS", strings.Join(r.arguments(), " ")}, {"PORT", strconv.Itoa(guestPort)}, {"SCALE", strconv.Itoa(warehouse)},
		{"THREADS", strconv.Itoa(threads)}, {"RECORDS", strconv.FormatInt(records, 10)},
	} {
		fmt.Fprintf(&b, "%s=%s\n", v.name, quote(v.value))
	}
	return b.String() + guestShell + what + "\n"
}

// quote makes one word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// machines boots the machines of test/real/vm. An image that is not there is
// built when a guest first wants it.
type machines struct {
	say func(string, ...any)

	mu   sync.Mutex
	have map[string]*vm.Machine // by release
}

// newHypervisor gives what boots the guests.
func newHypervisor(say func(string, ...any)) hypervisor {
	return &machines{say: say, have: map[string]*vm.Machine{}}
}

func (m *machines) machine(ctx context.Context, release string) (*vm.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.have[release]; one != nil {
		return one, nil
	}
	one, err := vm.New(ctx, release, func(text string) { m.say("%s", text) })
	if err == nil {
		m.have[release] = one
	}
	return one, err
}

// Run implements hypervisor.
func (m *machines) Run(ctx context.Context, g guest) (int, []byte, error) {
	one, err := m.machine(ctx, g.release)
	if err != nil {
		return -1, nil, err
	}
	s := vm.Script{Line: g.line, In: g.in, Out: g.out, Deadline: g.deadline, Live: g.live}
	for _, d := range g.disks {
		s.Disks = append(s.Disks, vm.Disk{Name: d.name, Bytes: d.bytes, File: d.file, Log: d.log})
	}
	r, err := one.Run(ctx, s)
	return r.Code, r.Output, err
}
