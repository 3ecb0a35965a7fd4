package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"plumb/internal/inventory"
)

// logicalVolume removes a logical volume: LVM itself looks once more at its UUID. One whose run died
// before it wrote that down has a name that is nobody else's.
func (h holder) logicalVolume(ctx context.Context, e inventory.Entry) error {
	group, name, ok := strings.Cut(e.Thing.Name, "/")
	if !ok || group == "" || strings.HasPrefix(group, "-") || !strings.HasPrefix(name, "plumb-clone-") || strings.ContainsAny(name, `"'\ `) {
		return foreign("it is not the name of one of our clones")
	}
	which := `lv_name="` + name + `"`
	if uuid := e.Thing.Proof["uuid"]; uuid != "" {
		which += ` && lv_uuid="` + uuid + `"`
	}
	_, err := h.Do.Run(ctx, "lvremove", "--yes", "--select", which, "--", group)
	return err
}

// image removes an image of Ceph.
func (h holder) image(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if !strings.HasPrefix(path.Base(name), "plumb-clone-") {
		return foreign("it is not the name of one of our clones")
	}
	out, err := h.Do.Run(ctx, "rbd", "info", "--format", "json", "--", name)
	if err != nil && strings.Contains(err.Error(), "No such file") {
		return nil
	}
	var said struct {
		ID string `json:"id"`
	}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		return fmt.Errorf("look at the image %s: %w", name, err)
	}
	if id := e.Thing.Proof["id"]; id != "" && id != said.ID {
		return foreign("it is another image now")
	}
	_, err = h.Do.Run(ctx, "rbd", "rm", "--no-progress", "--", name)
	return err
}

// mapping gives the device of an image back. A run that died before it knew the device
// left the image's name.
func (h holder) mapping(ctx context.Context, e inventory.Entry) error {
	image := e.Thing.Proof["image"]
	devices, err := h.Do.Glob(ctx, "/sys/bus/rbd/devices/*/name")
	if err != nil || image == "" {
		return err
	}
	for _, file := range devices {
		name, err := h.Do.ReadFile(ctx, file)
		if err != nil {
			continue // just given back
		}
		pool, err := h.Do.ReadFile(ctx, path.Join(path.Dir(file), "pool"))
		device := "/dev/rbd" + path.Base(path.Dir(file))
		if err != nil || strings.TrimSpace(string(pool))+"/"+strings.TrimSpace(string(name)) != image || e.Thing.Name != "" && e.Thing.Name != device {
			continue
		}
		if _, err := h.Do.Run(ctx, "rbd", "device", "unmap", "--", device); err != nil {
			return err
		}
	}
	return nil
}
