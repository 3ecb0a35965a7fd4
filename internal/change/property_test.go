package change

import (
	"testing"

	"plumb/internal/host/hosttest"
)

// A dataset is known by its GUID: neither its name nor what others wrote on theirs counts.
func TestPropertyOfTheDatasetAlone(t *testing.T) {
	list := []string{"zfs", "get", "guid", "tank"}
	const guids = "tank\t1\ntank/aa\t12\ntank/db\t123\ntank/db@p\t123\ntank/zz\t1234\n"
	h := hosttest.Map{Outputs: map[string]string{"zfs get guid tank": guids,
		"zfs get -Hp -o value org.plumb:used tank/db": "yes\ntank/db\tno\n", "zfs get -Hp -o value origin tank/db": "-\n"}}
	for _, c := range []struct{ made, id, property, want string }{
		{"tank/next", "guid 123", "name", "tank/db"},
		{"tank/next", "guid 123", "origin", "-"},
		{"tank/next", "guid 123", "org.plumb:used", "yes\ntank/db\tno"},
		{"tank/next", "guid 9", "name", None}, // it is gone
		{"tank/next", "", "name", None},       // it was not made
		{"tank/other", "guid 123", "name", None},
	} {
		made := &Make{Thing: Thing{Dataset: c.made}}
		done := &Change{Acts: []Recorded{{Act: Act{Make: made}, Identity: c.id}}}
		a := Act{Switch: &Switch{Inspect: Inspection{Of: &Property{Made: "tank/next", List: list, Name: c.property}}}}
		got, err := inspect(t.Context(), h, done.identified(a).Switch.Inspect)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v", c.property, c.id, got, err)
		}
		if a.Switch.Inspect.Of.id != "" {
			t.Error("the act itself was changed, and would not be found in the plan")
		}
	}
	if err := (Inspection{Of: &Property{Made: "tank/next"}}).known("x"); err == nil {
		t.Error("a property of nothing is known")
	}
}
