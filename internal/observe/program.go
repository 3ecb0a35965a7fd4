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
	if p.UID, p.GID, err = RunsAs(ctx, h, pid); err != nil {
		return p, err
	}
	environ, err := h.ReadFile(ctx, proc+"/environ")
	if err == nil {
		p.Env = Libraries(environ)
	}
	return p, err
}

// RunsAs gives the effective ids of a process.
func RunsAs(ctx context.Context, h host.Reader, pid int) (uid, gid int, err error) {
	name := fmt.Sprintf("/proc/%d/status", pid)
	status, err := h.ReadFile(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	if uid, gid = effective(status, "Uid"), effective(status, "Gid"); uid < 0 || gid < 0 {
		err = fmt.Errorf("%s does not say as which user it runs", name)
	}
	return uid, gid, err
}

// Libraries picks from an environment what a program may not find its libraries without.
func Libraries(environ []byte) (env []string) {
	for pair := range strings.SplitSeq(string(environ), "\x00") {
		if strings.HasPrefix(pair, "LD_LIBRARY_PATH=") {
			env = append(env, pair)
		}
	}
	return env
}

// effective gives the effective id of a line of a process's status, -1 when it is not there.
func effective(status []byte, name string) int {
	if words := statusOf(status, name); len(words) > 1 {
		if id, err := strconv.Atoi(words[1]); err == nil {
			return id
		}
	}
	return -1
}

// statusOf gives what a line of a process's status says; nothing when it is not there.
func statusOf(status []byte, name string) []string {
	for line := range strings.Lines(string(status)) {
		if said, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(said)
		}
	}
	return nil
}

// Parent gives the process id of the parent of a process, "" when it is not known.
func Parent(ctx context.Context, h host.Reader, pid string) string {
	status, err := h.ReadFile(ctx, "/proc/"+pid+"/status")
	if words := statusOf(status, "PPid"); err == nil && len(words) == 1 {
		return words[0]
	}
	return ""
}
