package rollback

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
)

// Rights and bookmarks of a dataset are in no clone of it: a plan says so, and also when it could not look.
func TestWhatACloneLacks(t *testing.T) {
	const allow, bookmarks = "zfs allow tank/db", "zfs list -H -d 1 -t bookmark -o name tank/db"
	for name, test := range map[string]struct {
		outputs map[string]string
		want    []string
	}{
		"nothing": {map[string]string{allow: "---- Permissions on tank ----\n", bookmarks: ""}, nil},
		"both":    {map[string]string{allow: "---- Permissions on tank/db ----\n", bookmarks: "tank/db#a\ntank/db#b\n"}, []string{"rights that zfs allow gives on tank/db itself", "2 bookmarks of tank/db will stay"}},
		"unseen":  {nil, []string{"whether zfs allow gives rights on tank/db cannot be seen", "whether tank/db has bookmarks cannot be seen"}},
	} {
		c := &checking{h: hosttest.Map{Outputs: test.outputs}}
		c.left(t.Context(), "tank/db")
		if !slices.EqualFunc(c.notes, test.want, strings.HasPrefix) {
			t.Errorf("%s: noted %q", name, c.notes)
		}
	}
}
