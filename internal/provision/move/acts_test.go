package move

import (
	"slices"
	"testing"

	"plumb/internal/provision"
)

// A server that crashed in its new place is started again by its unit: an undo stops that although nobody listens. A person's own
// command may fail where nothing runs, and is left out then.
func TestAServerThatCrashedIsStopped(t *testing.T) {
	for _, c := range []struct {
		stop   []string
		always bool
	}{{[]string{"systemctl", "stop", "--", "mariadb.service"}, true}, {[]string{"/usr/local/bin/stop-db"}, false}} {
		p := planning{Move: provision.Move{Stop: c.stop}}
		s := p.starting()
		if s.Always != c.always || len(s.Undo) != 1 || !slices.Contains(s.Undo[0].Argv, c.stop[len(c.stop)-1]) {
			t.Errorf("%q: always %v, %+v", c.stop, s.Always, s.Undo)
		}
	}
}
