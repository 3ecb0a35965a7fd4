package point

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
)

// pointsDir is the directory at the top of a filesystem in which its points and their clones
// are. Only root enters it, so that no path in it is anybody else's to change.
const pointsDir = ".plumb-points"

// factsEnd ends the name of the file of facts beside a snapshot.
const factsEnd = ".json"

// makePoints makes the directory for points, or checks that the one that is there is ours.
func makePoints(ctx context.Context, d host.Doer, top string) error {
	st, err := d.Stat(ctx, top)
	if err != nil {
		return err
	}
	if st.UID != 0 || st.Mode.Perm()&0o022 != 0 {
		return hint.With(fmt.Errorf("users other than root can write to the top of the filesystem at %s", top),
			"points lie there, and whoever may write there could put others in their place: keep the server's data in a directory or subvolume below it, and give the top to root")
	}
	dir := path.Join(top, pointsDir)
	if err := d.MakeDir(ctx, dir, 0o700, 0, 0); !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, link := d.Readlink(ctx, dir)
	st, err = d.Stat(ctx, dir)
	if err == nil && (link == nil || !st.Mode.IsDir() || st.UID != 0 || st.Mode.Perm()&0o077 != 0) {
		err = hint.With(fmt.Errorf("%s is not a directory that only root can enter", dir), "look at what it is and at who made it; Plumb keeps points there")
	}
	return err
}

// topMount finds the uppermost mount of the top of a filesystem that can be written to. While it is not known of a
// mount which filesystem it is, it is not known that there is none. Where a part of it is mounted the filesystem itself is there.
func topMount(ctx context.Context, h host.Reader, is func(observe.Mount) (bool, error)) (observe.Mount, error) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return observe.Mount{}, err
	}
	var unknown, there error
	for i, m := range all {
		if slices.Contains(m.Options, "ro") {
			continue
		}
		top := m.Root == "/" && !slices.ContainsFunc(all[i+1:], func(o observe.Mount) bool { return o.Point == m.Point })
		it, err := is(m)
		switch {
		case it && top:
			return m, nil
		case it:
			there = fmt.Errorf("%w, mounted on %s, but not its top", protect.ErrThere, m.Point)
		case err != nil && top:
			unknown = errors.Join(unknown, fmt.Errorf("look at what is mounted on %s: %w", m.Point, err))
		}
	}
	if err := errors.Join(there, unknown); err != nil {
		return observe.Mount{}, err
	}
	return observe.Mount{}, errors.New("it is not mounted for writing anywhere")
}

// newClone names a clone among the points, unlike any other.
func newClone() string { return pointsDir + "/clone-" + unlike() }

// unlike is a name that nothing else has: many clones are made in one second.
func unlike() string { return protect.NewID(time.Now()) + "-" + strings.ToLower(rand.Text()[:8]) }

// writeFacts adds facts to the file of facts.
func writeFacts(ctx context.Context, d host.Doer, file string, facts map[string]string) error {
	all := map[string]string{}
	text, err := d.Raw(ctx, file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	maps.Copy(all, facts)
	if text, err = json.MarshalIndent(all, "", "\t"); err != nil {
		return err
	}
	return d.Replace(ctx, file, append(text, '\n'), 0o600)
}
