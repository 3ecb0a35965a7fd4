package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
)

// Room is how many bytes may still be read on behalf of one server, as contents of files and names in directories. Without it a server
// could name as many files as it likes.
type Room struct{ left atomic.Int64 }

// NewRoom makes room for so many bytes.
func NewRoom(bytes int64) *Room {
	r := &Room{}
	r.left.Store(bytes)
	return r
}

// each is what every call takes of the room in addition to what is read, as an answer is kept together with its path.
const each = 1 << 10

// take returns how much of limit there is room for. A nil Room has room for all of it.
func (r *Room) take(limit int) int {
	if r == nil {
		return limit
	}
	return int(max(0, min(int64(limit), r.left.Add(-each))))
}

func (r *Room) used(bytes int) {
	if r != nil {
		r.left.Add(-int64(bytes))
	}
}

// behalf says on whose behalf something is read.
type behalf struct {
	pid      int // a process; 0 for uid and gid
	uid, gid int
	room     *Room
}

type behalfKey struct{}

// For returns a context for reading files that a process names: in its arguments, its
// environment or its working directory, or in other files that it names. They are read with
// the file permissions of the user who started the process, because anybody can
// start one that names /etc/shadow, and no more in all than there is room for.
// If Plumb is not root, it reads with its own permissions.
func For(ctx context.Context, pid int, room *Room) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{pid: pid, room: room})
}

// AsUser returns a context for reading files in a directory that a user can write to: what
// is a log file now may be a link to something else when it is opened.
func AsUser(ctx context.Context, uid, gid int) context.Context {
	if uid == 0 {
		return ctx
	}
	return context.WithValue(ctx, behalfKey{}, behalf{uid: uid, gid: gid})
}

// ourselves undoes For and AsUser.
func ourselves(ctx context.Context) context.Context { return context.WithValue(ctx, behalfKey{}, nil) }

func behalfOf(ctx context.Context) (behalf, bool) {
	b, ok := ctx.Value(behalfKey{}).(behalf)
	return b, ok
}

// onBehalf adds to the arguments of a call on whose behalf it is made, as the answer can depend on that.
func onBehalf(ctx context.Context, of ...string) []string {
	switch b, ok := behalfOf(ctx); {
	case !ok:
		return of
	case b.pid != 0:
		return append(of[:len(of):len(of)], "for process "+strconv.Itoa(b.pid))
	default:
		return append(of[:len(of):len(of)], "for user "+strconv.Itoa(b.uid))
	}
}

func roomOf(ctx context.Context) *Room {
	b, _ := behalfOf(ctx)
	return b.room
}

// rights is the user whose file permissions count.
type rights struct {
	uid, gid int
	groups   []int
}

// withRights runs f with the file permissions that the context asks for.
func withRights[T any](ctx context.Context, f func() (T, error)) (T, error) {
	b, ok := behalfOf(ctx)
	if !ok || os.Geteuid() != 0 {
		return f()
	}
	var value T
	who := rights{uid: b.uid, gid: b.gid}
	if b.pid != 0 {
		var err error
		if who, err = userOf(b.pid); err != nil {
			return value, err
		}
	}
	if who.uid == 0 {
		return f()
	}
	err := onLostThread(func() (err error) {
		if err = become(who); err == nil {
			value, err = f()
		}
		return err
	})
	return value, err
}

// become gives this thread, and no other, the file permissions of a user. The thread loses those of root (CAP_DAC_OVERRIDE and its like),
// but not the right to look at other processes: /proc/PID/root is how a container's files are reached.
func become(who rights) error {
	if err := unix.Setgroups(who.groups); err != nil {
		return fmt.Errorf("take the rights of user %d: %w", who.uid, err)
	}
	// These do not tell whether they failed, only what was in force before.
	_, _ = unix.SetfsgidRetGid(who.gid)
	_, _ = unix.SetfsuidRetUid(who.uid)
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uid != who.uid || gid != who.gid {
		return fmt.Errorf("take the rights of user %d: %w", who.uid, ErrDenied)
	}
	return nil
}

// userOf returns the real user of a process, who started it. The effective user of a setuid program is root, and its arguments come from
// anybody.
func userOf(pid int) (rights, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return rights{}, hint.Cause(err)
	}
	return parseUser(text)
}

var errNoUser = errors.New("the process's status names no user")

func parseUser(text []byte) (rights, error) {
	var u rights
	seen := 0
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "Uid" && name != "Gid" && name != "Groups" {
			continue
		}
		ids, err := idsIn(rest)
		if err != nil || name != "Groups" && len(ids) == 0 {
			return rights{}, errNoUser
		}
		seen++
		switch name {
		case "Uid":
			u.uid = ids[0]
		case "Gid":
			u.gid = ids[0]
		default:
			u.groups = ids
		}
	}
	if seen != 3 {
		return rights{}, errNoUser
	}
	return u, nil
}

func idsIn(text string) ([]int, error) {
	var all []int
	for _, field := range strings.Fields(text) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
