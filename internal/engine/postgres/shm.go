package postgres

import (
	"errors"
	"io/fs"

	"plumb/internal/stack"
)

// sharedMemory sets the size of the filesystem in which parallel workers share
// memory where dynamic_shared_memory_type is posix: /dev/shm as the server
// sees it. A container's own is 64 MB unless it was given more.
func (l *look) sharedMemory() {
	facts := []string{"shm_size", "shm_free"}
	if l.in.process == nil {
		l.gap("the server is remote", "run Plumb on the server's host", facts...)
		return
	}
	dir := l.in.root + "/dev/shm"
	space, err := l.h.Statfs(l.ctx, dir)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrPermission) {
			hint = "run as root"
		}
		l.gap(err.Error(), hint, facts...)
		return
	}
	for name, n := range map[string]uint64{"shm_size": space.TotalBytes, "shm_free": space.AvailBytes} {
		l.t.Set(name, stack.Int(int64(n)), "statfs "+dir)
	}
}
