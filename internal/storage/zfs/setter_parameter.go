package zfs

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host/proc"
	"plumb/internal/zfs"
)

// Where parameters of the module are.
const (
	parametersDir = "/sys/module/zfs/parameters/"
	modprobeOurs  = "/etc/modprobe.d/zz-plumb-zfs.conf"
)

// parameter sets a parameter of the module: now, and for its next load.
func (a *alteration) parameter() (change.Recipe, error) {
	file, to := parametersDir+a.name, a.want.To.String()
	r := change.Recipe{Effect: catalog.Now}
	if cmdline, err := a.h.ReadFile(a.ctx, "/proc/cmdline"); err == nil && !a.want.Image && !a.want.Passing {
		if v, set := parseBootOptions(cmdline)[a.name]; set && v != to {
			return r, &change.Refusal{Why: fmt.Sprintf("zfs.%s=%s on the kernel's command line sets it at each boot", a.name, v), What: "change it in the boot loader"}
		}
	}
	if !a.want.Image {
		now, err := a.h.ReadFile(a.ctx, file)
		if err != nil {
			return r, &change.Refusal{Why: fmt.Sprintf("the ZFS of this host has no parameter %s: %v", a.name, err)}
		}
		if err := a.passedOver(); err != nil {
			return r, err
		}
		if a.want.Fact.Knob.Effect == catalog.Restart || to == "0" && inForce[a.name] != "" {
			r.Effect, r.Waits = catalog.Restart, "the next load of the zfs module, which is a reboot on most hosts"
		} else {
			r.Acts = append(r.Acts, a.liveParameter(file, to, strings.TrimSpace(string(now))))
		}
		r.Notes = append(a.notes, "where zfs is loaded from the initramfs, update-initramfs -u (or dracut -f) must follow, or the next boot does not see the file")
	}
	if a.want.Passing {
		r.Notes = a.notes
		return r, nil
	}
	var err error
	if r.Lasts, err = a.modprobeFile(); err != nil {
		return r, err
	}
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: r.Lasts, Form: edit.Modprobe, Key: "zfs/" + a.name, Value: to,
		Ours: r.Lasts == modprobeOurs, Note: "Read when the zfs module is loaded."}})
	return r, nil
}

// inForce are parameters of which 0 stands for a size that is computed when
// the module is loaded, with the field of arcstats that tells the size. A
// running module passes over a 0: the limit stays where it is.
var inForce = map[string]string{"zfs_arc_max": "c_max", "zfs_arc_min": "c_min", "zfs_arc_sys_free": "arc_sys_free", "zfs_arc_meta_limit": "arc_meta_limit"}

// passedOver refuses limits that the module stores, shows and does not use
// (arc_tuning_update in module/zfs/arc.c).
func (a *alteration) passedOver() error {
	to, ok := a.want.To.Int()
	if !ok || to == 0 {
		return nil
	}
	least, most := int64(0), int64(0)
	switch a.name {
	case "zfs_arc_max":
		least = 64 << 20
		if n, known := a.arcstat("c_min"); known {
			least = max(least, n+1)
		}
		if n, known := a.memory(); known {
			most = n - 1
		}
	case "zfs_arc_min":
		least = 32 << 20
		if n, known := a.arcstat("c_max"); known {
			most = n
		}
	}
	if most == 0 {
		most = math.MaxInt64
	}
	if to < least || to > most {
		return &change.Refusal{Why: fmt.Sprintf("the ARC would ignore it: here %s can be from %d to %d", a.name, least, most), What: "zfs_arc_min bounds zfs_arc_max from below, and zfs_arc_max bounds zfs_arc_min from above"}
	}
	return nil
}

// memory gives MemTotal in bytes.
func (a *alteration) memory() (int64, bool) {
	text, err := a.h.ReadFile(a.ctx, "/proc/meminfo")
	if err != nil {
		return 0, false
	}
	n, known := proc.Keyed(text, "MemTotal:")
	return n << 10, known
}

// arcstat reads one number of arcstats.
func (a *alteration) arcstat(name string) (int64, bool) {
	text, err := a.h.ReadFile(a.ctx, zfs.ARCStats)
	if err != nil || name == "" {
		return 0, false
	}
	n, ok := zfs.ParseKstat(text)[name]
	return n, ok
}

// liveParameter sets a parameter of the running module. To undo a limit that
// was 0, the size in force is written first, because the 0 alone would leave
// the new limit where it is.
func (a *alteration) liveParameter(file, to, now string) change.Act {
	write := func(text string) change.Op { return change.Op{Write: &change.Write{File: file, Text: text}} }
	undo := []change.Op{write("{before}")}
	if size, known := a.arcstat(inForce[a.name]); known && now == "0" {
		undo = slices.Insert(undo, 0, write(strconv.FormatInt(size, 10)))
		a.notes = append(a.notes, fmt.Sprintf("a running module does not go back to computing it: undo sets the %d in force now, and shows 0 again", size))
	}
	return change.Act{Switch: &change.Switch{On: file, Inspect: change.Inspection{File: file}, After: to, Do: []change.Op{write(to)}, Undo: undo}}
}

// modprobeFile is the file in which a line decides: ours, unless one that is
// read later sets the parameter. Files are read in the order of their names,
// and one in /etc hides those of the same name elsewhere.
func (a *alteration) modprobeFile() (string, error) {
	decides := modprobeOurs
	files, _ := modprobeFiles(a.ctx, a.h)
	for _, f := range files {
		if path.Base(f) <= path.Base(modprobeOurs) {
			continue
		}
		text, err := a.h.ReadFile(a.ctx, f)
		if err != nil {
			continue
		}
		if _, set, err := edit.Get(edit.Modprobe, text, "zfs/"+a.name); err == nil && set {
			decides = f
		}
	}
	if !strings.HasPrefix(decides, "/etc/") {
		return "", &change.Refusal{Why: decides + " sets it too and is read last", What: "a file of that name in /etc/modprobe.d takes its place: copy it there and run plumb fix again"}
	}
	return decides, nil
}
