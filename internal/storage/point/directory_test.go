package point

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/observe"
)

// A mount of which it is not known what it is may be the one that is looked for: it is not said that there is none.
func TestTopThatIsNotKnown(t *testing.T) {
	h := hosttest.LiveDoer(t)
	for _, c := range []struct {
		err  error
		want string
	}{{nil, "not mounted for writing"}, {errors.New("/sys/fs/btrfs does not answer"), "does not answer"}} {
		_, err := topMount(t.Context(), h, func(observe.Mount) (bool, error) { return false, c.err })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
