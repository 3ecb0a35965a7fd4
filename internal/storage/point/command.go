package point

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Command takes points of any storage with somebody's own command, under the same lock and with
// the same proof. What it made is its own business: Plumb neither finds nor clones it.
//
// It is run by the shell with the point's name in PLUMB_POINT and the volumes in PLUMB_VOLUMES, one a line:
// device, tab, mount point. That its exit status is 0 says that all snapshots were taken.
type Command struct {
	Line     string        // that takes the snapshots; "" for none, when only those that exist are of interest
	Destroys string        // that destroys those of PLUMB_POINT; "" for none
	Progress time.Duration // for how long it may neither read nor write nor say anything; a minute
}

// Name implements protect.Storage.
func (Command) Name() string { return "command" }

// Volume implements protect.Storage. What has no device or server behind it keeps nothing.
func (c Command) Volume(_ *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	source := fs.Text("source")
	if c.Line == "" { // it is not what takes new points
		return protect.Volume{}, false
	}
	kept := strings.ContainsAny(source, "/:") || fs.Text("fstype") == "zfs"
	return protect.Volume{Storage: c.Name(), Name: source, Pool: c.Name(), Mountpoint: fs.Text("mountpoint"), Within: strings.Trim(fs.Text("mount_root"), "/")}, kept
}

// Atomic implements protect.Storage.
func (Command) Atomic(vols []protect.Volume) string {
	for _, v := range vols {
		if v.Name != vols[0].Name {
			return fmt.Sprintf("nobody knows whether the command takes %s and %s at one moment", vols[0].Name, v.Name)
		}
	}
	return ""
}

// Room implements protect.Storage.
func (Command) Room(s *stack.Stack, vols []protect.Volume) string { return "" }

// Settle implements protect.Storage.
func (Command) Settle(ctx context.Context, d host.Streamer, vols []protect.Volume) error {
	return syncAll(ctx, d, vols)
}

// Snapshot implements protect.Storage.
func (c Command) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, _ map[string]string) ([]protect.Member, error) {
	if err := c.run(ctx, d, c.Line, vols, name); err != nil {
		return nil, fmt.Errorf("the command that takes the snapshots failed: %w", err)
	}
	var all []protect.Member
	for _, v := range vols {
		all = append(all, protect.Member{Volume: v, Snapshot: name, GUID: name, Birth: name})
	}
	return all, nil
}

func (c Command) run(ctx context.Context, d host.Streamer, line string, vols []protect.Volume, name string) error {
	var lines []string
	for _, v := range vols {
		lines = append(lines, v.Name+"\t"+v.Mountpoint)
	}
	p := host.Pipe{Argv: []string{"env", "PLUMB_POINT=" + name, "PLUMB_VOLUMES=" + strings.Join(lines, "\n"), "sh", "-c", line}, Works: true, Progress: c.Progress}
	if p.Progress <= 0 {
		p.Progress = time.Minute
	}
	_, err := d.Pipe(ctx, p)
	return err
}

// Find implements protect.Storage. What a killed run's command made is known to nobody but the command.
func (Command) Find(context.Context, host.Reader, []protect.Volume, string) ([]protect.Member, error) {
	return nil, nil
}

// State implements protect.Storage.
func (Command) State(context.Context, host.Reader, protect.Member) (protect.MemberState, error) {
	return protect.MemberState{Space: -1}, nil
}

// Mark implements protect.Storage.
func (Command) Mark(context.Context, host.Streamer, protect.Member, map[string]string) error {
	return nil
}

// Clone implements protect.Storage.
func (Command) Clone(context.Context, host.Streamer, *inventory.Log, protect.Member, string, *inventory.Life) error {
	return hint.With(errors.New("a snapshot that another command took cannot be cloned by Plumb"), "make the copy by the means of that storage")
}

// Destroy implements protect.Storage.
func (c Command) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	byName := map[string][]protect.Volume{}
	for _, m := range members {
		byName[m.Snapshot] = append(byName[m.Snapshot], m.Volume)
	}
	for name, vols := range byName {
		if c.Destroys == "" {
			return hint.With(fmt.Errorf("another command took the snapshots of %s: Plumb does not know how to destroy them", name), "destroy them by the means of that storage, and say with which command Plumb can")
		}
		if err := c.run(ctx, d, c.Destroys, vols, name); err != nil {
			return fmt.Errorf("the command that destroys snapshots failed: %w", err)
		}
	}
	return nil
}
