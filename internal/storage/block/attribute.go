package block

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"plumb/internal/observe"
	"plumb/internal/stack"
)

// group reads all facts that the catalogue has from one place, "queue/", with
// the directory that holds the place for this device.
func (d *device) group(ctx context.Context, dir, place string) {
	for _, s := range d.catalog.ReadFrom("block", place) {
		d.setFrom(ctx, s.Fact.Name, dir+place+s.Name)
	}
}

// set reads one attribute into a fact.
func (d *device) set(ctx context.Context, fact, attribute string) {
	d.setFrom(ctx, fact, d.dir+"/"+attribute)
}

// setFrom reads a file into a fact of its type. An attribute this kernel or
// driver does not have is an absent fact.
func (d *device) setFrom(ctx context.Context, fact, name string) {
	text, ok := d.told(ctx, fact, name)
	if !ok {
		return
	}
	v, err := observe.ValueIn(d.catalog.Fact("block", fact), []byte(text))
	if err != nil {
		d.obs.Gap(d.thing.Ref, fmt.Sprintf("%s: not understood: %.60q", name, text), "", fact)
		return
	}
	d.thing.Set(fact, v, name)
}

// setSectors reads a number of 512 bytes each, which is what the kernel counts
// in whatever the sector size.
func (d *device) setSectors(ctx context.Context, fact string) {
	name := d.dir + "/" + fact
	text, ok := d.told(ctx, fact, name)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/512 {
		d.obs.Gap(d.thing.Ref, fmt.Sprintf("%s: not understood: %.60q", name, text), "", fact)
		return
	}
	d.thing.Set(fact, stack.Int(n*512), name)
}

// told reads the text of an attribute. While an array is reshaped, the number
// it had before follows: "11 (10)".
func (d *device) told(ctx context.Context, fact, name string) (string, bool) {
	gaps := len(d.obs.Gaps)
	text, ok := d.textAt(ctx, name, fact)
	if !ok && len(d.obs.Gaps) == gaps {
		d.thing.SetAbsent(fact, name)
	}
	now, _, reshaped := strings.Cut(text, " (")
	if reshaped && strings.HasSuffix(text, ")") {
		text = now
	}
	return text, ok
}

// identities are the files in which a device tells who it is, and what rules of udev call them.
var identities = []struct{ file, key string }{
	{"wwid", "ATTR{wwid}"}, {"dm/uuid", "ATTR{dm/uuid}"}, {"md/uuid", "ATTR{md/uuid}"}, {"device/wwid", "ATTRS{wwid}"}, {"serial", "ATTR{serial}"},
}

// who sets what tells the device from every other one. Its name does not: kernels give names in the order in which disks answer.
func (d *device) who(ctx context.Context, layer string) {
	dir, part := d.dir, ""
	if disk := parentOf(d.real, d.name); layer == "partition" && disk != "" {
		dir, part = "/sys/class/block/"+disk, " "+strings.TrimPrefix(d.name, disk)
	}
	silent := true
	for _, id := range identities {
		text, err := d.h.ReadFile(ctx, dir+"/"+id.file)
		if value := strings.TrimSpace(string(text)); value != "" && err == nil {
			d.thing.Set("wwid", stack.Text(value+part), dir+"/"+id.file)
			return
		}
		silent = silent && (err == nil || errors.Is(err, fs.ErrNotExist))
	}
	if silent {
		d.thing.SetAbsent("wwid", dir)
	}
}
