package observe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Program is what a process runs, and as whom.
type Program struct {
	Path     string
	UID, GID int
	Env      []string // that it may not find its libraries without
}

// ProgramOf reads what a process runs.
func ProgramOf(ctx context.Context, h host.Reader, pid int) (p Program, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	if p.Path, err = h.Readlink(ctx, proc+"/exe"); err != nil {
		return p, hint.With(err, "run as root")
	}
	if strings.HasSuffix(p.Path, " (deleted)") {
		return p, hint.With(fmt.Errorf("its program %s was replaced since it was started", strings.TrimSuffix(p.Path, " (deleted)")), "restart the server first: a copy would start the new program")
	}
	status, err := h.ReadFile(ctx, proc+"/status")
	if err != nil {
		return p, err
	}
	p.UID, p.GID = effective(status, "Uid:"), effective(status, "Gid:")
	if p.UID < 0 || p.GID < 0 {
		return p, fmt.Errorf("%s/status does not say as whom it runs", proc)
	}
	environ, err := h.ReadFile(ctx, proc+"/environ")
	for pair := range strings.SplitSeq(string(environ), "\x00") {
		if err == nil && strings.HasPrefix(pair, "LD_LIBRARY_PATH=") {
			p.Env = append(p.Env, pair)
		}
	}
	return p, err
}

// effective gives the effective id of a line of a process's status, -1 when it is not there.
func effective(status []byte, name string) int {
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == name {
			if id, err := strconv.Atoi(fields[2]); err == nil {
				return id
			}
		}
	}
	return -1
}
