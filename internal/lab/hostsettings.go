package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/proc"
	"plumb/internal/inventory"
	"plumb/internal/lab/experiment"
)

// counterparts are settings of which one is zeroed when the other is set: the
// kernel refuses a 0, so what is put back is the one that was in force.
var counterparts = map[string]string{
	"vm.dirty_bytes": "vm.dirty_ratio", "vm.dirty_ratio": "vm.dirty_bytes",
	"vm.dirty_background_bytes": "vm.dirty_background_ratio", "vm.dirty_background_ratio": "vm.dirty_background_bytes",
}

// hostSettings puts the machine's settings of an arm in force until the trial
// is over.
func (b *bench) hostSettings(ctx context.Context) error {
	if len(b.setup.Host) > 0 && !b.lab.Host {
		return errHost()
	}
	for _, key := range slices.Sorted(maps.Keys(b.setup.Host)) {
		if err := b.hostSetting(ctx, key, b.setup.Host[key]); err != nil {
			return err
		}
	}
	return nil
}

func errHost() error {
	return hint.With(fmt.Errorf("the experiment changes settings of the whole machine"), "--allow-host allows it; each is restored after its trial, if necessary by plumb lab sweep")
}

func (b *bench) hostSetting(ctx context.Context, key, value string) error {
	box := b.lab.Box
	t := inventory.Thing{Kind: inventory.Sysctl, Name: key, Proof: map[string]string{"value": value}}
	before, err := sysctl(ctx, box, key)
	if err != nil {
		return fmt.Errorf("host setting %s: %w", key, err)
	}
	if before == value {
		return nil
	}
	t.Proof["before"] = before
	if other := counterparts[key]; other != "" && before == "0" {
		if t.Proof["before"], err = sysctl(ctx, box, other); err != nil {
			return err
		}
		t.Name, t.Proof["value"] = other, "0"
	}
	t, err = box.Book.Make(ctx, t, func(*inventory.Thing) error {
		return box.Do.Write(ctx, proc.Sysctl(key), []byte(value+"\n"))
	})
	if err != nil {
		return fmt.Errorf("host setting %s = %s: %w", key, value, err)
	}
	b.later(func(ctx context.Context) error { return box.Book.Remove(ctx, t) })
	return nil
}

func sysctl(ctx context.Context, b Workspace, key string) (string, error) {
	text, err := b.Do.ReadFile(ctx, proc.Sysctl(key))
	return strings.Join(strings.Fields(string(text)), " "), err
}

// asksHost tells whether an experiment changes the machine.
func asksHost(x experiment.Experiment) bool {
	return slices.ContainsFunc(x.Arms, func(a experiment.Arm) bool { return len(a.Setup.Host) > 0 })
}
