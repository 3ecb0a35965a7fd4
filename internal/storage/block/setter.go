package block

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// udevOurs is our file of rules. Rules are read in the order of names, and a
// later assignment of an attribute wins.
const udevOurs = "/etc/udev/rules.d/99-plumb-block.rules"

// Setter sets attributes of request queues.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"block"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, _ *stack.Stack, w change.Want) (change.Recipe, error) {
	name, to := w.Knob.Of.Name, w.To.String()
	file := "/sys/block/" + name + "/queue/" + w.Knob.Name
	r := change.Recipe{Effect: catalog.Now}
	if !w.Image {
		now, err := h.ReadFile(ctx, file)
		if err != nil {
			return r, &change.Refusal{Why: fmt.Sprintf("%s has no such attribute of its own: %v", name, err), What: "a partition uses the queue of its disk: set it there"}
		}
		if offered := choices(string(now)); len(offered) > 0 && !slices.Contains(offered, to) {
			return r, &change.Refusal{Why: fmt.Sprintf("%s offers no %s: %s", name, to, strings.Join(offered, ", ")), What: "its module may have to be loaded first"}
		}
		r.Acts = append(r.Acts, live(file, w.Knob.Name, to))
		if w.Knob.Name == "scheduler" {
			r.Notes = append(r.Notes, "nr_requests and wbt_lat_usec go to the new scheduler's defaults")
		}
	}
	if !w.Image && !ruled(ctx, h) {
		r.Notes = append(r.Notes, "the next boot forgets it: there is no udev here to set it")
		return r, nil
	}
	r.Lasts = udevOurs
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: udevOurs, Form: edit.Udev, Value: to, Ours: true,
		Key:  `ACTION=="add|change", SUBSYSTEM=="block", ` + match(ctx, h, name) + " ATTR{queue/" + w.Knob.Name + "}",
		Note: "Read by udev when a disk appears."}})
	if !w.Image {
		if _, err := h.Stat(ctx, "/run/udev/control"); err == nil {
			r.Acts[len(r.Acts)-1].Edit.Apply = &change.Op{Argv: []string{"udevadm", "control", "--reload"}}
		}
	}
	return r, nil
}

// live is the half that works at once.
func live(file, knob, to string) change.Act {
	s := &change.Switch{On: file, Look: change.Look{File: file, Choice: true}, After: to,
		Do:   []change.Op{{Write: &change.Write{File: file, Text: to}}},
		Undo: []change.Op{{Write: &change.Write{File: file, Text: "{before}"}}}}
	return change.Act{Switch: s}
}

// choices are the values that a file with one in brackets offers.
func choices(text string) []string {
	if !strings.Contains(text, "[") {
		return nil
	}
	return strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(text))
}

// ruled tells whether udev sets up the disks of this host.
func ruled(ctx context.Context, h host.Reader) bool {
	for _, sign := range []string{"/run/udev/control", "/etc/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"} {
		if _, err := h.Stat(ctx, sign); err == nil {
			return true
		}
	}
	return false
}

// match names a disk in a way that survives a boot, where the disk tells who
// it is: kernel names are given in the order in which disks answer.
func match(ctx context.Context, h host.Reader, name string) string {
	for _, id := range []struct{ file, key string }{
		{"wwid", "ATTR{wwid}"}, {"dm/uuid", "ATTR{dm/uuid}"}, {"device/wwid", "ATTRS{wwid}"}, {"serial", "ATTR{serial}"},
	} {
		text, err := h.ReadFile(ctx, "/sys/block/"+name+"/"+id.file)
		if value := strings.TrimSpace(string(text)); err == nil && value != "" && !strings.ContainsAny(value, "\"\\$%*?[]|\n") {
			return id.key + `=="` + value + `"`
		}
	}
	return `KERNEL=="` + name + `"`
}
