package propose

import (
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// The spec of a replica is not carried out on its primary, nor the other way round. A server of which that is not known, and
// a new one that nobody follows yet, are taken.
func TestTheSpecOfAnotherServerIsRefused(t *testing.T) {
	primary, replica, unknown, fresh, standby := stack.NewThing("mysql", "1"), stack.NewThing("mysql", "2"), stack.NewThing("mysql", "3"), stack.NewThing("mysql", "4"), stack.NewThing("postgres", "5")
	primary.Set("is_replica", stack.Bool(false), "test")
	primary.Set("replicas", stack.Int(2), "test")
	replica.Set("is_replica", stack.Bool(true), "test")
	replica.Set("replicas", stack.Int(1), "test") // and passes on
	fresh.Set("is_replica", stack.Bool(false), "test")
	standby.Set("replication_role", stack.Text("standby"), "test")
	for _, c := range []struct {
		t       *stack.Thing
		want    spec.Role
		refused string
	}{
		{primary, spec.Primary, ""}, {primary, "", ""}, {primary, spec.Replica, "is the primary of 2 replicas"},
		{replica, spec.Replica, ""}, {replica, "", ""}, {replica, spec.Primary, "is a replica"},
		{standby, spec.Replica, ""}, {standby, spec.Primary, "is a replica"},
		{fresh, spec.Replica, ""}, {unknown, spec.Replica, ""}, {unknown, spec.Primary, ""},
	} {
		err := plays(c.t, c.want)
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || hint.Of(err) == "") {
			t.Errorf("%s as %q: %v", c.t.Ref, c.want, err)
		}
	}
}
