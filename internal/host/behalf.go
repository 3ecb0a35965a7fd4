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

// Room is how much may still be read for one server, its files and the names
// in its directories together: who names them may name as many as he likes.
type Room struct{ left atomic.Int64 }

// NewRoom makes room for so many bytes.
func NewRoom(bytes int64) *Room {
	r := &Room{}
	r.left.Store(bytes)
	return r
}

// each is what a call takes of the room besides what it gives: an answer is
// kept with its path.
const each = 1 << 10

// take gives how much of limit there is room for.
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

// behalf says for whom something is read.
type behalf struct {
	pid      int // a process; 0 for uid and gid
	uid, gid int
	room     *Room
}

type behalfKey struct{}

// For marks reads of what a process names: its arguments, its environment, its
// working directory, and what the files there name in turn. They are done with
// the rights on files of the user who started the process, because anybody can
// start one that names /etc/shadow, and give no more in all than there is room for.
// Without root's rights Plumb reads with its own.
func For(ctx context.Context, pid int, room *Room) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{pid: pid, room: room})
}

// AsUser marks reads of files in a directory that a user can write to: what
// is a log now may be a link to something else when it is opened.
func AsUser(ctx context.Context, uid, gid int) context.Context {
	if uid == 0 {
		return ctx
	}
	return context.WithValue(ctx, behalfKey{}, behalf{uid: uid, gid: gid})
}

// ourselves takes such a mark off again.
func ourselves(ctx context.Context) context.Context { return context.WithValue(ctx, behalfKey{}, nil) }

func behalfOf(ctx context.Context) (behalf, bool) {
	b, ok := ctx.Value(behalfKey{}).(behalf)
	return b, ok
}

// onBehalf adds for whom a call is made to its arguments: another may be
// given another answer.
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

// rights are whose rights on files count.
type rights struct {
	uid, gid int
	groups   []int
}

// withRights runs f with the rights on files that the context asks for.
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

// become takes the rights of a user on files, for this thread alone. With
// them go root's own (CAP_DAC_OVERRIDE and its like), but not the right to look
// at other processes: /proc/PID/root is how a container's files are reached.
func become(who rights) error {
	if err := unix.Setgroups(who.groups); err != nil {
		return fmt.Errorf("take the rights of user %d: %w", who.uid, err)
	}
	// These say nothing of failure, but what was in force before.
	_, _ = unix.SetfsgidRetGid(who.gid)
	_, _ = unix.SetfsuidRetUid(who.uid)
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uid != who.uid || gid != who.gid {
		return fmt.Errorf("take the rights of user %d: %w", who.uid, ErrDenied)
	}
	return nil
}

// userOf gives who started a process: the real user. The effective one of a
// setuid program is root, and its arguments are anybody's.
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
