package kinds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/inventory"
)

// ordinary tells whether a path may be that of something a lab made: written
// in full, without detours, and not the root or directly below it.
func ordinary(name string) bool {
	return strings.HasPrefix(name, "/") && path.Clean(name) == name && strings.Count(name, "/") >= 2
}

// freeName refuses a name under which something is already: what was there
// before us is not ours to take away.
func freeName(ctx context.Context, d host.Doer, t inventory.Thing) error {
	if !ordinary(t.Name) {
		return errors.New("what a lab makes is named in full, without detours, and not directly below the root")
	}
	if !inventory.Missing(ctx, d, t.Name) {
		return fs.ErrExist
	}
	return nil
}

// sameInode tells whether a file or directory is the one of a proof. Earlier books have the device and the inode alone.
func sameInode(st host.Stat, proof string) bool {
	return identity.Same(identity.Of(st), proof) || proof == fmt.Sprintf("%d:%d %d", st.DevMajor, st.DevMinor, st.Inode)
}

func proveInode(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	st, err := d.Stat(ctx, t.Name)
	t.Proof[inodeProof] = identity.Of(st)
	return err
}

func proveTree(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	if inventory.Missing(ctx, d, path.Join(t.Name, inventory.Marker)) {
		return fmt.Errorf("it lacks the marker %s", inventory.Marker)
	}
	return proveInode(ctx, d, t)
}

// file removes a file.
func (h holder) file(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if inventory.Missing(ctx, h.Do, name) {
		return nil
	}
	if !h.belowTree(ctx, name) && !h.Live {
		st, err := h.Do.Stat(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !sameInode(st, e.Thing.Proof[inodeProof]) {
			return foreign("it is another file now, or not known to be ours")
		}
	}
	return h.Do.Remove(ctx, name)
}

// tree removes a directory with all that is in it. rm follows no links, and
// with nothing mounted below it stays on the lab's own filesystem.
func (h holder) tree(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if gone, err := missing(ctx, h.Do, e.Thing); err != nil || gone {
		return err
	}
	err := h.ownTree(ctx, e)
	if errors.Is(err, errUnmarked) && !e.Whole && h.Do.Remove(ctx, name) == nil {
		return nil // its lab died before it could mark it, and it was empty
	}
	if err != nil {
		return err
	}
	return await.Until(ctx, patience, func() (bool, error) {
		mounted, err := mountsBelow(ctx, h.Do, name)
		if err == nil && len(mounted) > 0 {
			err = fmt.Errorf("%s is still mounted", strings.Join(mounted, ", "))
		}
		if err != nil {
			return true, err
		}
		// The marker goes last: killed before, what is left is still known for ours.
		if err = errors.Join(h.late(ctx, name), emptied(ctx, h.Do, name)); err == nil {
			err = host.RemoveTree(ctx, h.Do, name)
		}
		return err == nil, err // a process that is just ending may write once more
	})
}

// emptied removes what is in a tree but for its marker, in steps that show that it goes on.
func emptied(ctx context.Context, d host.Doer, dir string) error {
	argv := []string{"find", dir, "-mindepth", "1", "-maxdepth", "1", "!", "-name", inventory.Marker, "-exec", "rm", "-rfv", "--one-file-system", "--", "{}", "+"}
	if s, ok := d.(host.Streamer); ok {
		_, err := s.Pipe(ctx, host.Pipe{Argv: argv, Works: true})
		return err
	}
	_, err := d.Run(ctx, argv...)
	return err
}

var errUnmarked = foreign("it holds no %s", inventory.Marker)

// ownTree tells whether a directory is ours: nil, or why not.
func (h holder) ownTree(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if !ordinary(name) {
		return foreign("it is not a directory of a lab")
	}
	st, err := h.Do.Stat(ctx, name)
	if err != nil {
		return err
	}
	if _, err := h.Do.Readlink(ctx, name); err == nil || !st.Mode.IsDir() {
		return foreign("it is not a directory")
	}
	text, err := h.Do.ReadFile(ctx, path.Join(name, inventory.Marker))
	if errors.Is(err, fs.ErrNotExist) {
		return errUnmarked
	}
	if err != nil {
		return err
	}
	// A lab that died while it marked the directory left a part of the name.
	ours, run := cmp.Or(e.Thing.Proof["run"], h.Run), strings.TrimSpace(string(text))
	if run != "" && run != ours && (e.Whole || !strings.HasPrefix(ours, run)) {
		return foreign("it is marked as of the run %s", run)
	}
	if e.Whole && !sameInode(st, e.Thing.Proof[inodeProof]) {
		return foreign("it is another directory now")
	}
	return nil
}
