package backups

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"plumb/internal/backup/known"
	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

var taken = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

const mounts = `27 1 254:0 / / rw - ext4 /dev/vda rw
40 27 0:50 / /mnt/nas rw - nfs4 nas:/export rw
41 27 8:1 / /mnt/usb rw - ext4 /dev/sda1 rw
`

var (
	disk   = known.Lies{Directory: "/mnt/usb/db", Mount: "/mnt/usb", Type: "ext4", Source: "/dev/sda1"}
	root   = known.Lies{Directory: "/backups", Mount: "/", Type: "ext4", Source: "/dev/vda"}
	away   = known.Lies{Directory: "/mnt/away/db", Mount: "/mnt/away", Type: "ext4", Source: "/dev/sdb1"}
	nas    = known.Lies{Directory: "/mnt/nas/db", Mount: "/mnt/nas", Type: "nfs4", Source: "nas:/export"}
	bucket = known.Lies{Site: "s3.example.org", Login: "a"}
)

// place is one that has a backup of mysql:3306 of so many days ago.
func placed(lies known.Lies, days float64, change ...func(*known.Place)) known.Place {
	p := known.Place{Form: 1, Lies: lies}
	p.Made(manifest.Manifest{ID: "x", Server: "mysql:3306", Point: "p", Ended: taken.Add(-time.Duration(days * 24 * float64(time.Hour)))})
	for _, c := range change {
		c(&p)
	}
	return p
}

func keys(files ...string) func(*known.Place) {
	return func(p *known.Place) { p.Keys = files }
}

func machine(t *testing.T, places ...known.Place) hosttest.Map {
	t.Helper()
	h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": mounts, "/root/key.txt": "a key"}, Stats: map[string]host.Stat{"/root/key.txt": {}}, Who: host.About{Taken: taken}}
	for i, p := range places {
		p.URL = fmt.Sprint("place ", i)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		h.Files[fmt.Sprintf("/s/known/%d.json", i)] = string(text)
	}
	return h
}

func look1(t *testing.T, places ...known.Place) *stack.Thing {
	t.Helper()
	seen := &stack.Stack{Things: []*stack.Thing{stack.NewThing("mysql", "3306")}}
	var obs stack.Observation
	fs := obs.New("filesystem", "/mnt/usb")
	fs.Set("mount_id", stack.Int(41), "mountinfo")
	seen.Add("filesystem", obs)
	got, err := Probe{State: "/s"}.Collect(t.Context(), machine(t, places...), seen)
	if err != nil || len(got.Gaps) > 0 {
		t.Fatalf("%+v, %v", got.Gaps, err)
	}
	for _, one := range got.Things {
		if one.Ref.Name == "mysql:3306" {
			return one
		}
	}
	t.Fatalf("%+v", got.Things)
	return nil
}

// value is a fact as text: - for absent, ? for unknown.
func value(t *stack.Thing, name string) string {
	f, known := t.Facts[name]
	switch {
	case !known:
		return "?"
	case f.Value.IsAbsent():
		return "-"
	}
	return fmt.Sprint(f.Value.Any())
}

func TestWhere(t *testing.T) {
	other := bucket
	other.Site = "s3.other.org"
	second := other
	second.Login = "b"
	lent := other
	lent.Login = ""
	for _, c := range []struct {
		name                                string
		places                              []known.Place
		copies, sites, site, here, oneLogin string
	}{
		{"a disk of this machine", []known.Place{placed(disk, 1)}, "1", "1", "this machine", "true", "-"},
		{"two of them", []known.Place{placed(disk, 1), placed(root, 1)}, "2", "1", "this machine", "true", "-"},
		{"a disk that is not mounted now", []known.Place{placed(away, 1)}, "1", "1", "place 0", "?", "-"},
		{"one, and one that is not mounted now", []known.Place{placed(disk, 1), placed(away, 1)}, "2", "?", "?", "?", "-"},
		{"a file server", []known.Place{placed(nas, 1)}, "1", "1", "the file server nas", "false", "-"},
		{"a file server and a disk", []known.Place{placed(nas, 1), placed(disk, 1)}, "2", "2", "-", "false", "-"},
		{"a bucket", []known.Place{placed(bucket, 1)}, "1", "1", "s3.example.org", "false", "-"},
		{"a bucket and a disk that is not mounted now", []known.Place{placed(bucket, 1), placed(away, 1)}, "2", "?", "?", "false", "-"},
		{"two buckets of one login", []known.Place{placed(bucket, 1), placed(other, 1)}, "2", "2", "-", "false", "true"},
		{"two of two logins", []known.Place{placed(bucket, 1), placed(second, 1)}, "2", "2", "-", "false", "false"},
		{"one of a login that was lent", []known.Place{placed(bucket, 1), placed(lent, 1)}, "2", "2", "-", "false", "?"},
		{"a copy that is long behind does not count", []known.Place{placed(disk, 1), placed(bucket, 10)}, "1", "1", "this machine", "true", "-"},
		{"a copy that is made every week does", []known.Place{placed(disk, 1), placed(bucket, 8)}, "2", "2", "-", "false", "-"},
		{"all are gone", []known.Place{placed(disk, 1, func(p *known.Place) { p.See(nil, taken) })}, "0", "-", "-", "-", "-"},
	} {
		got := look1(t, c.places...)
		for fact, want := range map[string]string{"places": c.copies, "sites": c.sites, "site": c.site, "here": c.here, "one_login": c.oneLogin} {
			if is := value(got, fact); is != want {
				t.Errorf("%s: %s is %s and not %s", c.name, fact, is, want)
			}
		}
	}
	if got := look1(t, placed(disk, 1)).Links["kept"]; len(got) != 1 || got[0].Name != "/mnt/usb" {
		t.Errorf("it is kept on %v", got)
	}
	if got, known := look1(t, placed(bucket, 1)).Links["kept"]; len(got) != 0 || !known {
		t.Errorf("a bucket is kept on %v", got)
	}
}

func TestKeys(t *testing.T) {
	unseen := machine(t, placed(disk, 1, keys("/hung/key.txt")))
	unseen.Errors = map[string]error{"stat /hung/key.txt": fs.ErrPermission}
	for want, places := range map[string][]known.Place{
		"[/root/key.txt]": {placed(disk, 1, keys("/root/key.txt")), placed(nas, 1, keys("/root/key.txt"))},
		"[]":              {placed(disk, 1, keys("/root/key.txt")), placed(nas, 1)}, // which somebody else can open
	} {
		if got := value(look1(t, places...), "keys_here"); got != want {
			t.Errorf("%s and not %s", got, want)
		}
	}
	if got := value(look1(t, placed(disk, 1, keys("/root/gone.txt"))), "keys_here"); got != "[]" {
		t.Errorf("the key was taken away: %s", got)
	}
	obs, err := Probe{State: "/s"}.Collect(t.Context(), unseen, &stack.Stack{})
	if err != nil || value(obs.Things[0], "keys_here") != "?" {
		t.Errorf("%+v, %v", obs.Things, err)
	}
}

func TestTimes(t *testing.T) {
	proven := func(p *known.Place) {
		p.Tried(manifest.Manifest{Server: "mysql:3306"}, manifest.Proof{OK: true, At: taken.Add(-time.Hour)})
	}
	failed := func(p *known.Place) {
		p.Tried(manifest.Manifest{Server: "mysql:3306"}, manifest.Proof{At: taken.Add(-time.Minute), Why: "no\n memory"})
	}
	got := look1(t, placed(disk, 1, proven), placed(nas, 3), placed(nas, 5), placed(nas, 7), placed(nas, 9.5), placed(nas, -1, failed))
	for fact, want := range map[string]string{"first_age": fmt.Sprint(9*86400 + 43200), "newest_age": "-", "proven_age": "3600", "failed": "no memory", "usual_distance": "172800", "provable": "true", "server_runs": "true"} {
		if is := value(got, fact); is != want {
			t.Errorf("%s is %s and not %s", fact, is, want)
		}
	}
	later := look1(t, placed(disk, 1, failed, func(p *known.Place) {
		p.Tried(manifest.Manifest{Server: "mysql:3306"}, manifest.Proof{OK: true, At: taken})
	}))
	if got := value(later, "failed") + value(later, "newest_age"); got != "-86400" {
		t.Error(got)
	}
}

// The log may be archived in any of the places that have a copy and were listed lately; what was seen long ago says nothing.
func TestLog(t *testing.T) {
	logged := func(log string, days time.Duration) func(*known.Place) {
		return func(p *known.Place) {
			p.Servers[0].Log, p.Listed = log, taken.Add(-days*24*time.Hour)
		}
	}
	missing, archived := logged(known.LogMissing, 1), logged(known.LogArchived, 1)
	for _, c := range []struct {
		name   string
		places []known.Place
		want   string
	}{
		{"in one of two", []known.Place{placed(disk, 1, missing), placed(nas, 1, archived)}, "true"},
		{"in none", []known.Place{placed(disk, 1, missing), placed(nas, 1)}, "false"},
		{"never listed", []known.Place{placed(disk, 1)}, "-"},
		{"listed long ago", []known.Place{placed(disk, 1, logged(known.LogMissing, 9))}, "-"},
		{"in a place that is long behind", []known.Place{placed(disk, 1, missing), placed(nas, 10, archived)}, "false"},
		{"no base", []known.Place{placed(disk, 1, logged("", 1))}, "-"},
	} {
		if got := value(look1(t, c.places...), "log_archived"); got != c.want {
			t.Errorf("%s: %s, and it should be %s", c.name, got, c.want)
		}
	}
}

// Where nobody ever made a backup there is nothing, and what cannot be read hides nothing else.
func TestProbe(t *testing.T) {
	obs, err := Probe{}.Collect(t.Context(), hosttest.Map{}, &stack.Stack{})
	if err != nil || len(obs.Things)+len(obs.Gaps) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	h := machine(t, placed(disk, 1, func(p *known.Place) {
		p.Has(manifest.Manifest{Streams: []manifest.Stream{{Name: "dump"}}, Ended: taken})
	}))
	obs, err = Probe{State: "/s"}.Collect(t.Context(), h, &stack.Stack{})
	if err != nil || len(obs.Things) != 2 || obs.Things[0].Ref.String() != "backups:command:dump" || value(obs.Things[0], "server_runs") != "-" || value(obs.Things[1], "server_runs") != "false" {
		t.Errorf("%+v, %v", obs.Things, err)
	}
	h.Files["/s/known/torn.json"] = "{"
	if obs, err := (Probe{State: "/s"}).Collect(t.Context(), h, &stack.Stack{}); err == nil || len(obs.Things) != 0 {
		t.Errorf("%+v, %v", obs, err)
	}
	denied := hosttest.NewFaulty(machine(t), hosttest.Fault{Op: "glob", Err: fs.ErrPermission})
	if _, err := (Probe{State: "/s"}).Collect(t.Context(), denied, &stack.Stack{}); err == nil {
		t.Error("no word of what may not be read")
	}
	// Without the table of mounts nobody knows where the disks are.
	delete(h.Files, "/proc/self/mountinfo")
	delete(h.Files, "/s/known/torn.json")
	obs, err = Probe{State: "/s"}.Collect(t.Context(), h, &stack.Stack{})
	if i := slices.IndexFunc(obs.Things, func(t *stack.Thing) bool { return t.Ref.Name == "mysql:3306" }); err != nil || value(obs.Things[i], "here") != "?" {
		t.Errorf("%+v, %v", obs.Things, err)
	}
}
