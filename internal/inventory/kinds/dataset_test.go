package kinds

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
)

const (
	sandbox    = "tank/db/plumb-lab-run1-v1"
	askSandbox = "zfs get -H -r -o name,value,source org.plumb:run " + sandbox
	mountsOurs = "61 25 0:45 / /lab/v1/data rw shared:1 - fuse.zfs " + sandbox + "/data rw\n62 25 0:46 / /db rw shared:1 - fuse.zfs tank/db rw\n"
)

func TestDataset(t *testing.T) {
	const own = sandbox + "\trun1\tlocal\n"
	const rest = sandbox + "/golden\trun1\tinherited from " + sandbox + "\n" + sandbox + "/golden@lab\t-\t-\n" + sandbox + "/golden@daily\trun1\tinherited from " + sandbox + "\n"
	for name, c := range map[string]struct {
		says    string // of the property
		name    string // of the thing, when another
		proof   string // of the run, when another
		gone    bool
		pools   string
		done    string
		foreign bool
		err     string
	}{
		"ours":                 {says: own + rest, done: "zfs destroy -r " + sandbox},
		"half made":            {says: own, done: "zfs destroy -r " + sandbox},
		"gone":                 {gone: true},
		"of another run":       {says: strings.ReplaceAll(own, "run1", "run2"), foreign: true},
		"of nobody":            {says: sandbox + "\t-\t-\n", foreign: true},
		"below ours":           {says: sandbox + "\trun1\tinherited from tank/db\n", foreign: true},
		"received":             {says: sandbox + "\trun1\treceived\n", foreign: true},
		"unread":               {says: "", foreign: true},
		"without a proof":      {says: sandbox + "\t\tlocal\n", proof: "-", foreign: true},
		"a pool":               {name: "tank", says: own, foreign: true},
		"a snapshot":           {name: "tank/db@today", says: own, foreign: true},
		"an option":            {name: "-r/tank", says: own, foreign: true},
		"with more below":      {says: own + rest + sandbox + "/theirs\trun1\tinherited from " + sandbox + "\n", err: "somebody made " + sandbox + "/theirs"},
		"with another's below": {says: own + sandbox + "/golden\trun2\tlocal\n", err: "somebody made " + sandbox + "/golden"},
		"not imported":         {says: own, pools: "other\n", err: "not imported"},
	} {
		t.Run(name, func(t *testing.T) {
			pools := "other\ntank\n"
			if c.pools != "" {
				pools = c.pools
			}
			f := newFake(hosttest.Map{
				Files:   map[string]string{bootFile: "now\n", "/proc/self/mountinfo": "62 25 0:46 / /db rw shared:1 - fuse.zfs tank/db rw\n"},
				Outputs: map[string]string{"zpool list -H -o name": pools, askSandbox: c.says, "zfs list -H -o name " + sandbox: sandbox + "\n"},
				Errors:  map[string]error{},
			})
			if c.gone {
				f.Errors["run zfs list -H -o name "+sandbox] = errors.New("cannot open '" + sandbox + "': dataset does not exist")
			}
			f.does = map[string]func(hosttest.Map){"zfs destroy -r " + sandbox: func(hosttest.Map) {}, "zfs destroy -r " + c.name: func(hosttest.Map) {}}
			thing := thingOf(inventory.Dataset, sandbox, map[string]string{"run": "run1", "below": "data golden"})
			if c.name != "" {
				thing.Name = c.name
			}
			if c.proof != "" {
				thing.Proof = nil
			}
			done, err := takenAway(t, f, false, thing)
			if done != c.done || errors.Is(err, inventory.ErrForeign) != c.foreign || (err != nil) != (c.foreign || c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("did %q, %v", done, err)
			}
		})
	}
}

// What cannot be asked about is not known to be gone.
func TestDatasetThatNobodyCanBeAskedAbout(t *testing.T) {
	thing := thingOf(inventory.Dataset, sandbox, map[string]string{"run": "run1"})
	for _, why := range []error{host.ErrNoCommand, errors.New("connect: refused")} {
		f := newFake(hosttest.Map{Errors: map[string]error{"run zpool list -H -o name": why}})
		if done, err := takenAway(t, f, false, thing); err == nil || errors.Is(err, inventory.ErrForeign) || done != "" {
			t.Errorf("%v: did %q, %v", why, done, err)
		}
	}
	f := newFake(hosttest.Map{Outputs: map[string]string{"zpool list -H -o name": "tank\n"}, Errors: map[string]error{"run zfs list -H -o name " + sandbox: errors.New("I/O error")}})
	if _, err := takenAway(t, f, false, thing); err == nil {
		t.Error("a dataset that cannot be read is said to be gone")
	}
}

// A zfs-fuse that was killed leaves its mounts.
func TestDeadMountsOfADataset(t *testing.T) {
	f := newFake(hosttest.Map{
		Files:   map[string]string{"/proc/self/mountinfo": mountsOurs},
		Outputs: map[string]string{"zpool list -H -o name": "tank\n"},
		Errors:  map[string]error{"run zfs list -H -o name " + sandbox: errors.New("dataset does not exist")},
	})
	f.does = map[string]func(hosttest.Map){"umount -l /lab/v1/data": func(hosttest.Map) {}}
	if done, err := takenAway(t, f, false, thingOf(inventory.Dataset, sandbox, map[string]string{"run": "run1"})); err != nil || done != "umount -l /lab/v1/data" {
		t.Errorf("did %q, %v", done, err)
	}
}

// A dataset is only made where there is none.
func TestDatasetIsFree(t *testing.T) {
	f := newFake(hosttest.Map{Outputs: map[string]string{"zfs list -H -o name tank/there": "tank/there\n"}, Errors: map[string]error{"run zfs list -H -o name tank/new": errors.New("dataset does not exist")}})
	for name, free := range map[string]bool{"tank/new": true, "tank/there": false, "tank": false, "tank/a@b": false, "/tank/a": false} {
		if err := freeDataset(t.Context(), f, inventory.Thing{Kind: inventory.Dataset, Name: name}); (err == nil) != free {
			t.Errorf("%s: %v", name, err)
		}
	}
}
