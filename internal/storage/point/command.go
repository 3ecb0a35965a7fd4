package point

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Command takes points of any storage with somebody's own command, under the same lock and with
// the same proof. What it made is its own business: Plumb does not clone it.
//
// It is run by the shell with the point's name in PLUMB_POINT and the volumes in PLUMB_VOLUMES, one a line:
// device, tab, mount point. What it is to do stands in PLUMB_DO. When that is take, exit status 0 says that all snapshots were
// taken, and the one line that it prints is the identity by which they are known again; look prints the identity of what
// has that name now, and nothing when nothing has it; remove removes it, and finds the identity in PLUMB_IDENTITY.
type Command struct {
	synced
	Line     string        // that takes the snapshots; "" for none, when only those that exist are of interest
	Removes  string        // that looks at those of PLUMB_POINT and removes them; "" for none
	Progress time.Duration // for how long it may neither read nor write nor say anything; a minute
}

var _ protect.Bound = Command{}

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
func (Command) Room(s *stack.Stack, vols []protect.Volume) error { return nil }

// Snapshot implements protect.Storage. Of a command that gives no identity nobody can tell later whether a snapshot is
// the one that it took.
func (c Command) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, _ map[string]string) ([]protect.Member, error) {
	identity, err := c.run(ctx, d, "take", "", vols, name)
	if err != nil {
		return nil, fmt.Errorf("the command that takes the snapshots failed: %w", err)
	}
	var all []protect.Member
	for _, v := range vols {
		all = append(all, protect.Member{Volume: v, Snapshot: name, GUID: identity, Birth: name})
	}
	return all, nil
}

const longestIdentity = 1000 // bytes

// run has the command of a person do something, and gives the one line that it printed.
func (c Command) run(ctx context.Context, d host.Streamer, do, identity string, vols []protect.Volume, name string) (string, error) {
	var lines []string
	for _, v := range vols {
		if strings.ContainsFunc(v.Name+v.Mountpoint, unicode.IsControl) {
			return "", hint.With(fmt.Errorf("%q on %q cannot be passed to a command, which gets one volume per line", v.Name, v.Mountpoint), "mount it on a directory without a line break or tab in its name")
		}
		lines = append(lines, v.Name+"\t"+v.Mountpoint)
	}
	line := c.Removes
	if do == "take" {
		line = c.Line
	}
	var out said
	p := host.Pipe{Argv: []string{"env", "PLUMB_DO=" + do, "PLUMB_IDENTITY=" + identity, "PLUMB_POINT=" + name, "PLUMB_VOLUMES=" + strings.Join(lines, "\n"), "sh", "-c", line},
		Out: &out, Works: true, Progress: c.Progress}
	if p.Progress <= 0 {
		p.Progress = time.Minute
	}
	if _, err := d.Pipe(ctx, p); err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(out))
	if len(text) > longestIdentity || strings.ContainsFunc(text, unicode.IsControl) {
		text = "" // it talks to people
	}
	return text, nil
}

// said keeps the beginning of what a command prints.
type said []byte

// Write implements io.Writer.
func (s *said) Write(text []byte) (int, error) {
	*s = append(*s, text[:min(len(text), longestIdentity+2-min(len(*s), longestIdentity+2))]...)
	return len(text), nil
}

// Find implements protect.Storage. What a killed run's command made is known to nobody but the command.
func (Command) Find(context.Context, host.Reader, []protect.Volume, string) ([]protect.Member, error) {
	return nil, nil
}

// Unable implements protect.Bound.
func (c Command) Unable(m protect.Member) string {
	switch {
	case c.Removes == "":
		return "another command took them, and Plumb was not told with which it can look at them and remove them (plumb prune --with COMMAND)"
	case m.GUID == "" || m.GUID == m.Snapshot: // as an older Plumb wrote it
		return "the command that took them printed nothing by which they are known again: remove them by hand"
	}
	return ""
}

// State implements protect.Storage.
func (c Command) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	d, ok := h.(host.Streamer)
	if !ok || c.Unable(m) != "" {
		return protect.MemberState{Space: -1}, nil
	}
	is, err := c.run(ctx, d, "look", m.GUID, []protect.Volume{m.Volume}, m.Snapshot)
	if err != nil {
		return protect.MemberState{}, fmt.Errorf("the command that looks at snapshots failed: %w", err)
	}
	return protect.MemberState{Gone: is == "", Other: is != "" && is != m.GUID, Space: -1}, nil
}

// Mark implements protect.Storage.
func (Command) Mark(context.Context, host.Streamer, protect.Member, map[string]string) error {
	return nil
}

// Clone implements protect.Storage.
func (Command) Clone(context.Context, host.Streamer, protect.Member, protect.CloneAt) error {
	return hint.With(errors.New("a snapshot that another command took cannot be cloned by Plumb"), "make the copy with the tools of that storage")
}

// Destroy implements protect.Storage. Each point is looked at just before, and must be gone afterwards. Between look and
// removal lies an instant that only the command itself can close: it knows the identity.
func (c Command) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	byName := map[string][]protect.Member{}
	for _, m := range members {
		if why := c.Unable(m); why != "" {
			return fmt.Errorf("destroy the snapshots of %s: %s", m.Snapshot, why)
		}
		byName[m.Snapshot] = append(byName[m.Snapshot], m)
	}
	for name, all := range byName {
		if err := c.destroy(ctx, d, name, all); err != nil {
			return fmt.Errorf("destroy the snapshots of %s: %w", name, err)
		}
	}
	return nil
}

func (c Command) destroy(ctx context.Context, d host.Streamer, name string, all []protect.Member) error {
	st, err := c.State(ctx, d, all[0])
	if err == nil {
		err = destroyable(all[0], st)
	}
	if err != nil || st.Gone {
		return err
	}
	var vols []protect.Volume
	for _, m := range all {
		vols = append(vols, m.Volume)
	}
	if _, err := c.run(ctx, d, "remove", all[0].GUID, vols, name); err != nil {
		return fmt.Errorf("the command that removes snapshots failed: %w", err)
	}
	if st, err = c.State(ctx, d, all[0]); err == nil && !st.Gone {
		err = errors.New("the command said that it removed them, and they are there")
	}
	return err
}
