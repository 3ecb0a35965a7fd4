package guard

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
)

// unitName is what may become part of the name of a drop-in's directory.
var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]{1,200}\.service$`)

// Mounts lets a unit start only when all of some directories are mounted. zfs tells that ZFS
// mounts them: systemd has no unit for such a mount before zfs-mount.service has made it.
func Mounts(ctx context.Context, h host.Reader, unit string, dirs []string, zfs bool) (acts []change.Act, err error) {
	if !unitName.MatchString(unit) {
		return nil, fmt.Errorf("%q is not a service name", unit)
	}
	reload, err := change.ReloadUnits(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := plainPath(dir); err != nil {
			return nil, err
		}
		file := "/etc/systemd/system/" + unit + ".d/zz-plumb-mount" + strings.ReplaceAll(dir, "/", "-") + ".conf"
		set := func(name, value string) {
			acts = append(acts, change.Act{Edit: &change.Edit{File: file, Form: edit.Unit, Key: "Unit/" + name, Value: value, Ours: true,
				Note: "The server's data lie in a mount: without it, it must not start on the empty directory."}})
		}
		set("RequiresMountsFor", dir)
		set("AssertPathIsMountPoint", dir)
		if zfs {
			set("Wants", "zfs-mount.service")
			set("After", "zfs-mount.service")
		}
	}
	acts, err = toDo(ctx, h, acts)
	return reread(acts, reload), err
}

// reread has systemd read its files once the last of them is done, and once the first is
// as it was: acts are taken back last to first.
func reread(acts []change.Act, reload *change.Op) []change.Act {
	if n := len(acts); n > 0 {
		acts[0].Edit.Apply, acts[n-1].Edit.Apply = reload, reload
	}
	return acts
}

// plainPath wants a path that means the same in every file it is written to: units have
// specifiers, profiles have patterns.
func plainPath(dir string) error {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" || !plainPaths.MatchString(dir) {
		return &change.Refusal{Why: fmt.Sprintf("%q cannot be written to units and profiles", dir), What: "choose a path of letters, digits, dots, dashes and underlines"}
	}
	return nil
}

var plainPaths = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)
