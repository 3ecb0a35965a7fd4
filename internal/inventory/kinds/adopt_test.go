package kinds

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
)

const (
	askGUID = "zfs get -Hp -o value guid "
	askPool = "zpool get -Hp all tank"
)

// machineWith is one with a dataset and a pool, of these GUIDs.
func machineWith(dataset, pool string) fake {
	f := newFake(hosttest.Map{
		Files: map[string]string{bootFile: "now\n", "/proc/self/mountinfo": ""},
		Outputs: map[string]string{
			"zpool list -H -o name":        "tank\n",
			"zfs list -H -o name tank/own": "tank/own\n", "zfs list -H -o name " + sandbox: sandbox + "\n",
			askGUID + "tank/own": dataset + "\n", askGUID + sandbox: dataset + "\n",
			"zfs get -H -r -o name,value,source org.plumb:run tank/own": "tank/own\t-\t-\n",
			askSandbox: sandbox + "\trun1\tlocal\n",
			askPool:    "tank\tsize\t1\t-\ntank\tguid\t" + pool + "\t-\n",
		},
		Errors: map[string]error{},
	})
	f.does = map[string]func(hosttest.Map){"zfs destroy tank/own": func(hosttest.Map) {}, "zfs destroy -r " + sandbox: func(hosttest.Map) {}, "zpool destroy -f tank": func(hosttest.Map) {}}
	return f
}

func TestAdoptByGUID(t *testing.T) {
	f := machineWith("77", "88")
	for name, c := range map[string]struct {
		kind, name, id string
		proof          string // "" when it is refused
	}{
		"named":               {inventory.Dataset, "tank/own", "77", "77"},
		"another of its name": {inventory.Dataset, "tank/own", "76", ""},
		"nothing says so":     {inventory.Dataset, "tank/own", "", ""},
		"marked by a run":     {inventory.Dataset, sandbox, "", "77"},
		"a pool":              {inventory.Pool, "tank", "88", "88"},
		"a pool of nobody":    {inventory.Pool, "tank", "", ""},
		"another pool":        {inventory.Pool, "tank", "87", ""},
		"a pool as a dataset": {inventory.Dataset, "tank", "88", ""},
		"an option":           {inventory.Dataset, "-r/x", "77", ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			thing := thingOf(c.kind, c.name, map[string]string{"guid": c.id})
			err := All()[c.kind].Adopt(t.Context(), f, &thing)
			if (err == nil) != (c.proof != "") || err == nil && thing.Proof["guid"] != c.proof {
				t.Errorf("%+v, %v", thing, err)
			}
		})
	}
}

// A dataset or pool that took the place of the one in the inventory is left
// alone, also when it says that the same run made it.
func TestAnotherGUIDIsForeign(t *testing.T) {
	lab := map[string]string{"run": "run1", "below": "data golden", "guid": "77"}
	for name, c := range map[string]struct {
		thing inventory.Thing
		done  string
	}{
		"adopted dataset": {thingOf(inventory.Dataset, "tank/own", map[string]string{"guid": "77"}), "zfs destroy tank/own"},
		"dataset of lab":  {thingOf(inventory.Dataset, sandbox, lab), "zfs destroy -r " + sandbox},
		"adopted pool":    {thingOf(inventory.Pool, "tank", map[string]string{"guid": "77"}), "zpool destroy -f tank"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if done, err := takenAway(t, machineWith("77", "77"), false, c.thing); err != nil || done != c.done {
				t.Errorf("the same: did %q, %v", done, err)
			}
			if done, err := takenAway(t, machineWith("78", "78"), false, c.thing); !errors.Is(err, inventory.ErrForeign) || done != "" {
				t.Errorf("another: did %q, %v", done, err)
			}
			f := machineWith("77", "77")
			maps.DeleteFunc(f.Map.Outputs, func(ask, _ string) bool { return strings.Contains(ask, "guid") || ask == askPool })
			if done, err := takenAway(t, f, false, c.thing); err == nil || done != "" {
				t.Errorf("one that does not tell: did %q, %v", done, err)
			}
		})
	}
}
