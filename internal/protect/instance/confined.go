package instance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/hint"
)

// ErrConfined says that AppArmor kept a copy's server from its files, which says nothing of the point.
var ErrConfined = errors.New("AppArmor confines its program")

// confined adds to the error of a copy that did not come up that AppArmor kept its program from its files. What confines the source's
// process confines the copy's too: a profile is found by the program.
func (c *Copy) confined(ctx context.Context, err error) error {
	do, pid := c.maker.Keeper.Do, strconv.Itoa(c.Server.PID)
	exe, failed := do.Readlink(ctx, "/proc/"+pid+"/exe")
	label, unread := do.ReadFile(ctx, "/proc/"+pid+"/attr/current")
	if failed != nil || unread != nil || exe != c.Server.Executable() {
		return err
	}
	profile := keptOut(string(label), err.Error())
	if profile == "" {
		return err
	}
	return hint.With(fmt.Errorf("%w (%w, by the profile %s)", err, ErrConfined, profile),
		"allow the copies in the profile: a line "+c.maker.Dir+"/** rwk, in the file of /etc/apparmor.d/local that it includes, and apparmor_parser -r of the profile")
}

// keptOut gives the profile of a label that is enforced, when a server says that it may not open a file; "" otherwise.
func keptOut(label, said string) string {
	profile, enforced := strings.CutSuffix(strings.TrimRight(label, "\n\x00"), " (enforce)")
	denied := strings.Contains(said, "ermission denied") || strings.Contains(said, "rror: 13") || strings.Contains(said, "rrcode: 13") || strings.Contains(said, "rrno: 13")
	if !enforced || !denied {
		return ""
	}
	return profile
}
