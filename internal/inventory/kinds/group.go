package kinds

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/await"
	"plumb/internal/inventory"
)

// group removes a control group, after its processes were ended.
func (h holder) group(ctx context.Context, e inventory.Entry) error {
	dir := e.Thing.Name
	if !strings.HasPrefix(dir, "/sys/fs/cgroup/") || path.Clean(dir) != dir {
		return foreign("it is not a control group")
	}
	return await.Until(ctx, patience, func() (bool, error) {
		text, err := h.Do.ReadFile(ctx, path.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		for _, pid := range members(string(text)) {
			_ = h.kill(ctx, "KILL", pid) // it may have ended by itself
		}
		_, err = h.Do.Run(ctx, "rmdir", dir)
		return err == nil, err
	})
}

// members gives the processes of a group, each once. 0 is one of another PID
// namespace, which is nobody's to kill from here.
func members(text string) []string {
	all := slices.DeleteFunc(strings.Fields(text), func(s string) bool {
		pid, err := strconv.Atoi(s)
		return err != nil || pid <= 1
	})
	slices.Sort(all)
	return slices.Compact(all)
}
