package block

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// udevOurs is our file of rules. Rules are read in the order of names, and a
// later assignment of an attribute wins: many files of others begin with 99.
const udevOurs = "/etc/udev/rules.d/99-zz-plumb-block.rules"

// Setter sets attributes of request queues.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"block"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want) (change.Recipe, error) {
	name, to := queueOf(ctx, h, seen, w), w.To.String()
	r := change.Recipe{Effect: catalog.Now}
	if !w.Image {
		act, err := live(ctx, h, name, w)
		if err != nil {
			return r, err
		}
		r.Acts = append(r.Acts, act)
		r.Notes = notes(name, w)
	}
	if !w.Image && !ruled(ctx, h) {
		r.Notes = append(r.Notes, "the next boot forgets it: there is no udev here to set it")
		return r, nil
	}
	by, lasting := match(ctx, h, name)
	if !lasting && !w.Image {
		r.Notes = append(r.Notes, name+" tells no serial number: the rule of udev knows it by the kernel's name, which another disk may have after a boot")
	}
	for _, later := range rulesAfter(ctx, h, w.Knob.Name) {
		r.Notes = append(r.Notes, later+" sets "+w.Knob.Name+" too and is read after Plumb's rules: where it means "+name+", its value comes back at boot")
	}
	r.Lasts = udevOurs
	e := &change.Edit{File: udevOurs, Form: edit.Udev, Value: to, Ours: true,
		Key:  `ACTION=="add|change", SUBSYSTEM=="block", ` + by + " ATTR{queue/" + w.Knob.Name + "}",
		Note: "Read by udev when a disk appears."}
	if _, err := h.Stat(ctx, "/run/udev/control"); err == nil && !w.Image {
		e.Apply = &change.Op{Argv: []string{"udevadm", "control", "--reload"}}
	}
	r.Acts = append(r.Acts, change.Act{Edit: e})
	return r, nil
}

// queueOf names the disk whose queue has the knob. A partition has none, but
// for one of device-mapper: it reads ahead as its disk does.
func queueOf(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want) string {
	name := w.Knob.Of.Name
	t := seen.Find(w.Knob.Of)
	if t == nil || t.Text("layer") != "partition" || len(t.Links["on"]) != 1 {
		return name
	}
	if _, err := h.ReadFile(ctx, "/sys/block/"+name+"/queue/"+w.Knob.Name); err == nil {
		return name
	}
	return t.Links["on"][0].Name
}

// notes are what a person should know of a disk's attribute.
func notes(name string, w change.Want) []string {
	var all []string
	if name != w.Knob.Of.Name {
		all = append(all, w.Knob.Of.Name+" has no queue of its own: it is set for all of "+name)
	}
	switch w.Knob.Name {
	case "scheduler":
		all = append(all, "nr_requests and wbt_lat_usec go to the new scheduler's defaults")
	case "nr_requests":
		all = append(all, "another scheduler has its own default")
	}
	return all
}

// live is the half that works at once.
func live(ctx context.Context, h host.Reader, name string, w change.Want) (change.Act, error) {
	file, to := "/sys/block/"+name+"/queue/"+w.Knob.Name, w.To.String()
	now, err := h.ReadFile(ctx, file)
	if err != nil {
		return change.Act{}, &change.Refusal{Why: fmt.Sprintf("%s has no such attribute of its own: %v", name, err), What: "a partition uses the queue of its disk: set it there"}
	}
	if offered := choices(string(now)); len(offered) > 0 && !slices.Contains(offered, to) {
		return change.Act{}, &change.Refusal{Why: fmt.Sprintf("%s offers no %s: %s", name, to, strings.Join(offered, ", ")), What: "its module may have to be loaded first"}
	}
	if w.Knob.Name == "wbt_lat_usec" && to == "-1" {
		return change.Act{}, &change.Refusal{Why: "-1 means the kernel's default, which is read back as another number", What: "give the number: 2000 for flash, 75000 for rotating disks"}
	}
	if w.Knob.Name == "max_sectors_kb" {
		if most, err := h.ReadFile(ctx, "/sys/block/"+name+"/queue/max_hw_sectors_kb"); err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(most)), 10, 64)
			if want, _ := w.To.Int(); err == nil && want > n {
				return change.Act{}, &change.Refusal{Why: fmt.Sprintf("%s accepts at most %s per request", name, units.Bytes(n<<10))}
			}
		}
	}
	return change.Act{Switch: &change.Switch{On: file, Inspect: change.Inspection{File: file, Choice: true}, After: reads(w),
		Do:   []change.Op{{Write: &change.Write{File: file, Text: to}}},
		Undo: []change.Op{{Write: &change.Write{File: file, Text: "{before}"}}}}}, nil
}

// reads is how the kernel shows a value that was written. It reads ahead in
// whole pages, and drops the rest.
func reads(w change.Want) string {
	kb, ok := w.To.Int()
	if ok && w.Knob.Name == "read_ahead_kb" {
		return strconv.FormatInt(kb/pageKB*pageKB, 10)
	}
	return w.To.String()
}

// pageKB is the size of a page but on a few ARM and POWER kernels, where a
// number that is no multiple of their pages is shown as the one that was taken.
const pageKB = 4

// rulesAfter lists files of udev that set an attribute and are read after ours.
func rulesAfter(ctx context.Context, h host.Reader, attribute string) []string {
	var all []string
	masked := map[string]bool{}
	for _, dir := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"} {
		files, err := h.Glob(ctx, dir+"/udev/rules.d/*.rules")
		if err != nil {
			continue
		}
		for _, f := range files {
			base := path.Base(f)
			if text, err := h.ReadFile(ctx, f); err == nil && !masked[base] && base > path.Base(udevOurs) && setsAttribute(string(text), attribute) {
				all = append(all, f)
			}
			masked[base] = true
		}
	}
	return all
}

// setsAttribute tells whether a file of rules assigns an attribute of a queue.
func setsAttribute(text, attribute string) bool {
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, "ATTR{queue/"+attribute+"}")
		rest = strings.TrimSpace(rest)
		if ok && !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
			return true
		}
	}
	return false
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
func match(ctx context.Context, h host.Reader, name string) (rule string, lasting bool) {
	for _, id := range identities {
		text, err := h.ReadFile(ctx, "/sys/block/"+name+"/"+id.file)
		if value := strings.TrimSpace(string(text)); err == nil && value != "" && !strings.ContainsAny(value, "\"\\$%*?[]|#\n") {
			return id.key + `=="` + value + `"`, true
		}
	}
	return `KERNEL=="` + name + `"`, false
}
