package driven

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Setup writes what a tool needs to know of a set.
type Setup struct {
	Do    host.Streamer
	Tool  Whole
	Login Login
	Was   *Set // as it was written before; nil for a new one
}

// Local is the directory of a store that is one of this machine, "" when it is none.
func Local(at string) string {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return path.Clean(u.Path)
}

// Step is what is written through the journal: the configuration, and the directory of the store. It refuses to touch
// what is there and is not as it would write it. It has no acts when all is as wanted.
func (u Setup) Step(ctx context.Context, s Set) (step change.Prepared, err error) {
	acts, err := u.store(ctx, s)
	if err != nil {
		return step, err
	}
	text, err := u.Do.Raw(ctx, s.Config)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return step, err
	}
	was := map[string]string{}
	if u.Was != nil {
		for _, line := range u.Tool.Config(*u.Was) {
			was[line.Name] = line.Value
		}
	}
	for _, line := range u.Tool.Config(s) {
		value, set, err := edit.Get(edit.Unit, text, line.Name)
		if err != nil {
			return step, fmt.Errorf("read %s: %w", s.Config, err)
		}
		before, known := was[line.Name]
		ours := !set && !known || set && known && before == value // and is to be another now
		if there && value != line.Value && (u.Was == nil || !ours) {
			return step, hint.With(fmt.Errorf("%s is there, and says %q of %s, not %q", s.Config, value, line.Name, line.Value),
				"somebody else wrote that, or it is for another store: plumb undo removes what Plumb wrote; --stanza gives this one another name")
		}
		if !there || value != line.Value {
			acts = append(acts, change.Act{Edit: &change.Edit{File: s.Config, Form: edit.Unit, Key: line.Name, Value: line.Value, Note: "read by " + u.Tool.Name() + "; what is secret is in " + s.Private, Ours: true}})
		}
	}
	of := stack.Knob{Of: s.Server.Ref, Name: u.Tool.Name()}
	return change.Prepared{Step: change.Step{Knob: of, To: stack.Text(s.Name), Because: "asked for by plumb backup --with " + u.Tool.Name()}, Recipe: change.Recipe{Acts: acts}}, nil
}

// store makes the directory of the store, or sees that the server's user can write there.
func (u Setup) store(ctx context.Context, s Set) ([]change.Act, error) {
	dir := Local(s.URL)
	if dir == "" {
		return nil, nil
	}
	uid, gid := u.ids(s)
	st, err := u.Do.Stat(ctx, dir)
	if u.Was != nil {
		if there, _ := u.Do.Glob(ctx, path.Join(host.Verbatim(dir), "*")); err != nil || len(there) == 0 {
			return nil, hint.With(fmt.Errorf("%s had backups of %s, but is empty now", dir, s.Server.Ref), "mount the disk that belongs there")
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, err := host.OnlyOurs(path.Dir(dir))
		if err != nil {
			return nil, hint.With(fmt.Errorf("make %s: %w", dir, err), "make it yourself, and give it to the server's user")
		}
		made := change.Make{Thing: change.Thing{Path: path.Join(parent, path.Base(dir))}, Directory: &change.Dir{Perm: 0o750, UID: uid, GID: gid}}
		return []change.Act{{Make: &made}}, nil
	case err != nil:
		return nil, err
	case !st.Mode.IsDir():
		return nil, fmt.Errorf("%s is not a directory", dir)
	case uid >= 0 && int(st.UID) != uid:
		return nil, hint.With(fmt.Errorf("%s does not belong to the server's user, as which %s runs", dir, u.Tool.Name()), fmt.Sprintf("chown %d:%d %s, or name a directory that is not there yet", uid, gid, dir))
	}
	return nil, nil
}

// ids are the numbers of the server's user, -1 where we are he.
func (u Setup) ids(s Set) (uid, gid int) {
	if !u.Do.About().Root {
		return -1, -1
	}
	return s.Server.UID, s.Server.GID
}

// Ground makes the directories of a set, and writes what is secret: outside of the journal, which keeps what it has
// written. A key that is there stays for ever: it opens the backups that are there.
func (u Setup) Ground(ctx context.Context, s Set) error {
	above := path.Dir(s.Config)
	if _, err := u.Do.Run(ctx, "mkdir", "-p", "-m", "755", "--", above); err != nil {
		return err
	}
	if real, err := host.OnlyOurs(above); err != nil || real != above {
		return errors.Join(fmt.Errorf("keep the configuration in %s, which leads to %s: others could put another file there", above, real), err)
	}
	uid, gid := u.ids(s)
	if err := u.room(ctx, s.Run, 0o700, uid, gid); err != nil {
		return err
	}
	// Who may enter the directory may read what is in it, and only root may change that.
	if err := u.room(ctx, s.Private, 0o750, -1, gid); err != nil {
		return err
	}
	key, login, err := u.Tool.Secrets(s, u.Login)
	if err != nil {
		return err
	}
	if _, err := u.Do.Raw(ctx, s.KeyFile()); errors.Is(err, fs.ErrNotExist) {
		err = u.Do.Replace(ctx, s.KeyFile(), []byte(key), 0o644)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	file := path.Join(s.Private, loginFile)
	had, err := u.Do.Raw(ctx, file)
	if login == "" || err == nil && (string(had) == login || u.Login == Login{}) { // a timer does not know the login of whoever began
		return nil
	}
	return u.Do.Replace(ctx, file, []byte(login), 0o644)
}

// Adopt gives a set the key that somebody kept, on a machine that has none.
func (u Setup) Adopt(ctx context.Context, s Set, text []byte) error {
	key, err := u.Tool.Opens(text)
	if err != nil {
		return err
	}
	had, err := u.Do.Raw(ctx, s.KeyFile())
	if err == nil && strings.TrimSpace(string(had)) != strings.TrimSpace(key) {
		return hint.With(fmt.Errorf("%s exists, and is another key", s.KeyFile()), "it opens other backups: --stanza gives these another name")
	}
	if err == nil {
		return nil
	}
	_, gid := u.ids(s)
	if _, err := u.Do.Run(ctx, "mkdir", "-p", "-m", "755", "--", path.Dir(s.Config)); err != nil {
		return err
	}
	if err := u.room(ctx, s.Private, 0o750, -1, gid); err != nil {
		return err
	}
	return u.Do.Replace(ctx, s.KeyFile(), []byte(key), 0o644)
}

// room makes a directory, or sees that the one that is there is as it would make it.
func (u Setup) room(ctx context.Context, dir string, perm fs.FileMode, uid, gid int) error {
	err := u.Do.MakeDir(ctx, dir, perm, uid, gid)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := u.Do.Readlink(ctx, dir); err == nil {
		return fmt.Errorf("%s is a link, and a directory was expected", dir)
	}
	st, err := u.Do.Stat(ctx, dir)
	switch {
	case err != nil:
		return err
	case !st.Mode.IsDir() || st.Mode.Perm() != perm:
		return fmt.Errorf("%s exists with the mode %o, not %o", dir, st.Mode.Perm(), perm)
	case u.Do.About().Root && (int(st.UID) != max(uid, 0) || gid >= 0 && int(st.GID) != gid):
		return hint.With(fmt.Errorf("%s exists, and belongs to %d:%d", dir, st.UID, st.GID), "it was made for a server that ran as another user: move it away")
	}
	return nil
}
