package instance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/protect"
)

// A stranger is a copy of a server of another host. Who made its data can have put anything into it that a server
// runs: a copy of it is that host's program, whatever it is called. So nothing of it runs with the rights of
// anybody who has any: it has an account of its own, which reaches no network and no socket, and gains no rights;
// of that account nothing is left when the copy goes.

// Account is the user as whom copies of other hosts' servers run.
const Account = "plumb-verify"

// sockets are the directories in which servers and the system listen.
func sockets() []string { return []string{"/run", "/var/run", "/tmp", "/var/tmp"} }

// resettled gives a server of another host as it can be run here.
func (m Maker) resettled(ctx context.Context, e protect.Engine, sv protect.Server) (protect.Server, error) {
	resident, ok := e.(protect.Resident)
	if !ok {
		return sv, fmt.Errorf("copies of a %s of another host are not started", sv.Ref.Kind)
	}
	var err error
	if sv.UID, sv.GID, err = Verifier(ctx, m.Keeper.Do); err != nil {
		return sv, err
	}
	sv.Env, sv.Unit, sv.PID = nil, "", 0
	var why []string
	for _, pattern := range resident.Programs() {
		files, err := m.Keeper.Do.Glob(ctx, pattern)
		if err != nil {
			return sv, err
		}
		for _, file := range files {
			version, err := versionOf(ctx, m.Keeper.Do, sv, file)
			if err == nil {
				var here protect.Server
				if here, err = resident.Resettle(sv, file, version); err == nil {
					return here, nil
				}
			}
			why = append(why, file+": "+err.Error())
		}
	}
	err = fmt.Errorf("no program of this host starts a copy of %s", sv.Product)
	if why != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(why, "; "))
	}
	return sv, hint.With(err, "install the server of the same release here; it need not run")
}

// versionOf asks a program of its version, as the account. It must be one that only root can change.
func versionOf(ctx context.Context, d host.Streamer, sv protect.Server, file string) (string, error) {
	st, err := d.Stat(ctx, file)
	if err != nil {
		return "", err
	}
	real, err := host.OnlyOurs(file)
	switch {
	case err != nil:
		return "", err
	case !st.Mode.IsRegular() || st.UID != 0 || st.Mode.Perm()&0o022 != 0:
		return "", errors.New("users other than root can change it")
	}
	out, err := d.Run(ctx, append(sv.As(d.About().Root), real, "--version")...)
	return strings.TrimSpace(string(out)), err
}

// Verifier finds the user of Account, who must exist and have nothing that runs.
func Verifier(ctx context.Context, d host.Streamer) (uid, gid int, err error) {
	if !d.About().Root {
		return 0, 0, errors.New("only root starts a copy of another host's server")
	}
	for flag, to := range map[string]*int{"-u": &uid, "-g": &gid} {
		out, err := d.Run(ctx, "id", flag, "--", Account)
		if err == nil {
			*to, err = strconv.Atoi(strings.TrimSpace(string(out)))
		}
		if err != nil {
			return 0, 0, hint.With(fmt.Errorf("the user %s, who runs copies of other hosts' servers, does not exist here: %w", Account, err),
				"useradd --system --no-create-home --shell /usr/sbin/nologin "+Account)
		}
	}
	if uid <= 0 || gid <= 0 {
		return 0, 0, fmt.Errorf("the user %s has the rights of root", Account)
	}
	running, err := of(ctx, d, uid)
	if err == nil && len(running) > 0 {
		err = hint.With(fmt.Errorf("the user %s is already running something: process %s", Account, running[0]), "the account is for this alone, and for one copy at a time")
	}
	return uid, gid, err
}

// of lists the processes of a user.
func of(ctx context.Context, h host.Reader, uid int) (pids []string, err error) {
	files, err := h.Glob(ctx, "/proc/[0-9]*/status")
	for _, file := range files {
		text, gone := h.ReadFile(ctx, file)
		if real, known := proc.Keyed(text, "Uid:"); gone == nil && known && real == int64(uid) && !strings.Contains(string(text), "\nState:\tZ") {
			pids = append(pids, strings.Split(file, "/")[2])
		}
	}
	return pids, err
}

// endAll ends all that a user runs. What was started meanwhile is ended with the next look.
func endAll(ctx context.Context, d host.Streamer, uid int) error {
	return await.Until(ctx, 20*time.Second, func() (bool, error) {
		pids, err := of(ctx, d, uid)
		if err != nil || len(pids) == 0 {
			return err == nil, err
		}
		_, _ = d.Run(ctx, append([]string{"kill", "-KILL", "--"}, pids...)...) // one that has ended meanwhile is an error
		return false, fmt.Errorf("the user %s goes on running process %s", Account, pids[0])
	})
}

// given gives the files of a clone to the account: on the other host they belong to whoever has their numbers
// there. Links are not followed, and rights that go with a program are lost.
func (c *Copy) given(ctx context.Context, at string) error {
	_, err := c.maker.Keeper.Do.Run(ctx, "chown", "-R", "-P", "-h", strconv.Itoa(c.Server.UID)+":"+strconv.Itoa(c.Server.GID), "--", at)
	return err
}
