package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
	"plumb/internal/zfs"
)

// keyFormat looks at the file of a key, and not at the key. The note says of a file that it does not last.
func keyFormat(ctx context.Context, h host.Reader, file string) (format, note string, err error) {
	st, err := h.Stat(ctx, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", change.Refuse(fmt.Sprintf("create one that only root can read: (umask 077; head -c 32 /dev/urandom >%s), and keep a copy on another machine", file), "the key of the pool, %s, does not exist", file)
	case err != nil:
		return "", "", err
	case !st.Mode.IsRegular() || st.Mode.Perm()&0o077 != 0 || st.UID != 0:
		return "", "", change.Refuse("chown root: and chmod 600 it", "the key %s is not a file that only root can read", file)
	}
	for _, dir := range []string{path.Dir(file), path.Dir(st.Resolved)} {
		if err := change.RootsAlone(ctx, h, dir); err != nil {
			return "", "", fmt.Errorf("see whether %s stays the key that it is: %w", file, err)
		}
	}
	in, err := h.Statfs(ctx, file)
	if err != nil {
		return "", "", fmt.Errorf("see on what the key %s lies: %w", file, err)
	}
	if in.InMemory() {
		note = fmt.Sprintf("%s is in memory, and is gone after a reboot: unless something restores it before the pool is mounted, all data are lost", file)
	}
	switch {
	case st.Size == 32:
		return "raw", note, nil
	case st.Size == 64 || st.Size == 65: // with an end of line
		return "hex", note, nil
	case st.Size >= 8 && st.Size <= 513:
		return "passphrase", note, nil
	}
	return "", "", change.Refuse("a key has 32 bytes, 64 hexadecimal digits, or is a passphrase of 8 to 512 characters", "%s has %d bytes, and is not a key", file, st.Size)
}

// encrypted refuses a pool that is there and not encrypted, where the spec names a key: what is in it stays readable.
func encrypted(ctx context.Context, h host.Reader, p spec.Pool) error {
	out, err := h.Output(ctx, zfs.Value("encryption", p.Name)...)
	if err != nil {
		return fmt.Errorf("see whether the pool %s is encrypted: %w", p.Name, err)
	}
	if strings.TrimSpace(string(out)) == "off" {
		return change.Refuse("use another name for a new pool; without key the data in this one stay unencrypted", "the pool %s exists and is not encrypted: it can no longer be encrypted with the key %s", p.Name, p.Key)
	}
	return nil
}

// keyAtStart has the key loaded before datasets are mounted: the unit that mounts them does not do it.
func (m *poolMaking) keyAtStart() error {
	unit, err := firstOf(m.ctx, m.h, "/usr/lib/systemd/system/zfs-mount.service", "/lib/systemd/system/zfs-mount.service")
	if err != nil {
		return err
	}
	program, err := firstOf(m.ctx, m.h, "/usr/sbin/zfs", "/sbin/zfs")
	if err != nil {
		return err
	}
	if unit == "" || program == "" {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("after a start of the machine, zfs load-key %s and zfs mount -a are yours to run: there is no zfs-mount.service to do it", m.pool.Name))
		return nil
	}
	const dir = "/etc/systemd/system/zfs-mount.service.d"
	if _, err := m.h.Stat(m.ctx, dir); errors.Is(err, fs.ErrNotExist) {
		m.out.Acts = append(m.out.Acts, directory(dir, 0o755))
	}
	e := &change.Edit{File: path.Join(dir, "plumb-key-"+m.pool.Name+".conf"), Form: edit.Unit, Key: "Service/ExecStartPre",
		Value: "-" + program + " load-key -r " + m.pool.Name, Ours: true, Note: "Loads the key of the pool before its datasets are mounted."}
	if e.Apply, err = change.ReloadUnits(m.ctx, m.h); err != nil {
		return err
	}
	m.out.Acts = append(m.out.Acts, change.Act{Edit: e})
	return nil
}

// firstOf gives the first file of a list that is there; "" for none.
func firstOf(ctx context.Context, h host.Reader, names ...string) (string, error) {
	for _, name := range names {
		found, err := h.Glob(ctx, name)
		if err != nil || len(found) > 0 {
			return name, err
		}
	}
	return "", nil
}
