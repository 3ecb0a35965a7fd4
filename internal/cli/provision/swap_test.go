package provision

import (
	"testing"

	"plumb/internal/change"
	"plumb/internal/stack"
)

// Going back takes the last swap, with what brought its programs, and none before it.
func TestOfLast(t *testing.T) {
	stage := func(number int, name string) *change.Change {
		return &change.Change{Number: number, Begin: change.Begin{Steps: []change.Step{{To: stack.Text(name)}}}}
	}
	first, swap := "programs of MariaDB 11.8", "mysql:3306 from MariaDB 10.11 to MariaDB 11.8"
	for name, c := range map[string]struct {
		all  []*change.Change
		want []int
	}{
		"a swap with programs":    {[]*change.Change{stage(1, first), stage(2, swap)}, []int{2, 1}},
		"one without":             {[]*change.Change{stage(1, swap)}, []int{1}},
		"two":                     {[]*change.Change{stage(1, first), stage(2, swap), stage(3, first), stage(4, swap)}, []int{4, 3}},
		"two without":             {[]*change.Change{stage(1, swap), stage(2, swap)}, []int{2}},
		"killed while it fetched": {[]*change.Change{stage(1, first), stage(2, swap), stage(3, first)}, []int{3}},
		"none":                    {nil, nil},
	} {
		var got []int
		for _, one := range ofLast(c.all) {
			got = append(got, one.Number)
		}
		if len(got) != len(c.want) || len(got) > 0 && (got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
