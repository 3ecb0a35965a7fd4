package postgres

import "testing"

// TestCopiesTakeNoName: a server keeps its name beside copies of it, which use the same port on a socket of their own.
func TestCopiesTakeNoName(t *testing.T) {
	one, other := &instance{port: "5432", pid: 20}, &instance{port: "5432", pid: 30}
	drill, clone := &instance{port: "5432", pid: 5, copied: true}, &instance{port: "5433", pid: 40, copied: true}
	for _, c := range []struct {
		all  []*instance
		want []string
	}{
		{[]*instance{drill, one, clone}, []string{"5432-5", "5432", "5433"}},
		{[]*instance{drill, clone}, []string{"5432", "5433"}},
		{[]*instance{drill, one, other}, []string{"5432-5", "5432-20", "5432-30"}},
	} {
		nameAll(c.all)
		for i, in := range c.all {
			if in.name != c.want[i] {
				t.Errorf("of %d: %d is %s, want %s", len(c.all), in.pid, in.name, c.want[i])
			}
		}
	}
}
