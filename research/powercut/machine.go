package main

import (
	"context"
	"sync"

	"plumb/test/real/vm"
)

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
