package point

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// told is a machine whose commands are told to the test: it answers some, and notes all.
type told struct {
	hosttest.Map
	host.Streamer // what a test does not expect
	answers       map[string]string
	fails         map[string]error
	does          func(line string) // what comes of it; nil for nothing
	did           []string
}

func (m *told) answer(argv []string) ([]byte, error) {
	line := strings.Join(argv, " ")
	m.did = append(m.did, line)
	if m.does != nil {
		m.does(line)
	}
	for begin, err := range m.fails {
		if strings.HasPrefix(line, begin) {
			return nil, err
		}
	}
	for begin, text := range m.answers {
		if strings.HasPrefix(line, begin) {
			return []byte(text), nil
		}
	}
	return nil, nil
}

func (m *told) Run(_ context.Context, argv ...string) ([]byte, error)    { return m.answer(argv) }
func (m *told) Output(_ context.Context, argv ...string) ([]byte, error) { return m.answer(argv) }
func (m *told) About() host.About                                        { return m.Map.About() }
func (m *told) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return m.Map.ReadFile(ctx, name)
}
func (m *told) Glob(ctx context.Context, p string) ([]string, error) { return m.Map.Glob(ctx, p) }
func (m *told) Stat(ctx context.Context, name string) (host.Stat, error) {
	return m.Map.Stat(ctx, name)
}
func (m *told) Readlink(ctx context.Context, name string) (string, error) {
	return m.Map.Readlink(ctx, name)
}
func (m *told) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	return m.Map.Statfs(ctx, name)
}
func (m *told) Query(context.Context, host.Target, string) (host.Rows, error) {
	return host.Rows{}, errors.New("no queries here")
}

func (m *told) says(t *testing.T, want string) {
	t.Helper()
	if !slices.Contains(m.did, want) {
		t.Errorf("not done: %s\nbut\n%s", want, strings.Join(m.did, "\n"))
	}
}

// onBlock is a filesystem on a device of a layer, as the probes saw it.
func onBlock(layer, source string) (*stack.Stack, *stack.Thing) {
	fs, dev := stack.NewThing("filesystem", "/db"), stack.NewThing("block", "dm-3")
	for fact, text := range map[string]string{"fstype": "xfs", "source": source, "mountpoint": "/db", "mount_root": "/"} {
		fs.Set(fact, stack.Text(text), "test")
	}
	dev.Set("layer", stack.Text(layer), "test")
	fs.Link("block", dev.Ref)
	s := &stack.Stack{}
	s.Add("test", stack.Observation{Things: []*stack.Thing{fs, dev}})
	return s, fs
}

const lvsList = `{"report":[{"lv":[
 {"vg_name":"vg-a","lv_name":"db","lv_uuid":"u-db","origin_uuid":"","pool_lv":"thin","thin_id":"1","lv_dm_path":"/dev/mapper/vg--a-db"},
 {"vg_name":"vg-a","lv_name":"thick","lv_uuid":"u-thick","origin_uuid":"","pool_lv":"","thin_id":"","lv_dm_path":"/dev/mapper/vg--a-thick"},
 {"vg_name":"vg-a","lv_name":"plumb-20261123T210500Z-4f3a.db","lv_uuid":"u-snap","origin_uuid":"u-db","pool_lv":"thin","thin_id":"2","lv_dm_path":""}]}]}`

func TestPointsOfThinVolumes(t *testing.T) {
	ctx, l := t.Context(), LVM{}
	m := &told{answers: map[string]string{"lvs": lvsList}}
	s, fs := onBlock("lvm", "/dev/mapper/vg--a-db")
	v, ok := l.Volume(s, fs)
	if !ok {
		t.Fatal("no volume")
	}
	v, err := l.Place(ctx, m, v, "/db")
	if must(t, err); v.Name != "vg-a/db" || v.Pool != "vg-a/thin" {
		t.Fatalf("%+v", v)
	}
	_, fs = onBlock("lvm", "/dev/mapper/vg--a-thick")
	thick, _ := l.Volume(s, fs)
	if _, err := l.Place(ctx, m, thick, "/db"); err == nil || !strings.Contains(err.Error(), "not thin") {
		t.Errorf("a thick one: %v", err)
	}
	all, err := l.Snapshot(ctx, m, []protect.Volume{v}, name, facts)
	must(t, err)
	m.says(t, "lvcreate --snapshot --setactivationskip y --name "+name+".db -- vg-a/db")
	if len(all) != 1 || all[0].Snapshot != "vg-a/"+name+".db" || all[0].GUID != "u-snap" || all[0].Birth != "2" {
		t.Fatalf("%+v", all)
	}
	other := slices.Clone(all)
	other[0].GUID = "u-else"
	if err := l.Destroy(ctx, m, other); err == nil || slices.ContainsFunc(m.did, func(s string) bool { return strings.HasPrefix(s, "lvremove") }) {
		t.Errorf("another was destroyed: %v", err)
	}
	renamed := slices.Clone(all)
	renamed[0].Snapshot += "-old"
	if st, err := l.State(ctx, m, renamed[0]); err != nil || !st.Gone || st.Now != all[0].Snapshot {
		t.Errorf("one that was renamed: %+v, %v", st, err)
	}
	if err := l.Destroy(ctx, m, all); err == nil { // lvs goes on listing it
		t.Error("one that stays is called destroyed")
	}
	m.says(t, `lvremove --yes --select lv_uuid="u-snap" && lv_name="`+name+`.db" -- vg-a`)
	if why := l.Atomic([]protect.Volume{v, {Name: "vg-a/log"}}); why == "" {
		t.Error("two volumes are called one moment")
	}
}

func TestPointsOfImages(t *testing.T) {
	ctx, r := t.Context(), RBD{}
	m := &told{answers: map[string]string{"rbd snap ls": `[{"id":4,"name":"` + name + `","size":1,"protected":"false","timestamp":"Mon Nov 23 21:05:00 2026"}]`, "rbd children": "[]"}}
	m.Files = map[string]string{"/sys/bus/rbd/devices/0/pool": "db\n", "/sys/bus/rbd/devices/0/name": "data\n", "/sys/bus/rbd/devices/0/pool_ns": "\n"}
	s, fs := onBlock("rbd", "/dev/rbd0")
	v, _ := r.Volume(s, fs)
	v, err := r.Place(ctx, m, v, "/db")
	if must(t, err); v.Name != "db/data" {
		t.Fatalf("%+v", v)
	}
	all, err := r.Snapshot(ctx, m, []protect.Volume{v}, name, facts)
	must(t, err)
	m.says(t, "rbd snap create --no-progress -- db/data@"+name)
	if i := slices.Index(m.did, "sync -f -- /db"); i < 0 || i > slices.Index(m.did, "rbd snap create --no-progress -- db/data@"+name) {
		t.Errorf("what the kernel held was not written out before: %q", m.did)
	}
	must(t, r.Destroy(ctx, m, all))
	m.says(t, "rbd snap rm --snap-id 4 -- db/data")
	m.did = nil
	all[0].GUID = "5"
	if err := r.Destroy(ctx, m, all); err == nil || slices.ContainsFunc(m.did, func(s string) bool { return strings.Contains(s, "snap rm") }) {
		t.Errorf("another was destroyed: %v", err)
	}
	m.answers["rbd children"], all[0].GUID = `[{"pool":"db","pool_namespace":"","image":"c"}]`, "4"
	if err := r.Destroy(ctx, m, all); err == nil || !strings.Contains(err.Error(), "db/c") {
		t.Errorf("one with a clone: %v", err)
	}
}

func TestPointsOfEBS(t *testing.T) {
	ctx, e := t.Context(), EBS{Asked: true}
	m := &told{answers: map[string]string{
		"aws ec2 create-snapshots":   `{"Snapshots":[{"SnapshotId":"snap-2","VolumeId":"vol-0b","State":"pending"},{"SnapshotId":"snap-1","VolumeId":"vol-0a","State":"pending"}]}`,
		"aws ec2 describe-snapshots": `{"Snapshots":[{"SnapshotId":"snap-1","VolumeId":"vol-0a","State":"completed"}]}`,
	}}
	m.Files = map[string]string{"/sys/class/dmi/id/board_asset_tag": "i-0abc\n", "/proc/self/mountinfo": "1 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n"}
	for disk, serial := range map[string]string{"nvme0n1": "vol0root", "nvme1n1": "vol0a", "nvme2n1": "vol0b", "nvme3n1": "vol0other", "nvme4n1": "AWS1234"} {
		m.Files["/sys/class/block/"+disk+"/device/serial"] = serial + "\n"
	}
	m.Links = map[string]string{"/sys/class/block/nvme0n1p1": "../../devices/pci/nvme0/nvme0n1/nvme0n1p1"}
	fs := stack.NewThing("filesystem", "/db")
	fs.Set("mountpoint", stack.Text("/db"), "test")
	fs.Set("cloud_volume", stack.Text("ebs"), "test")
	fs.Set("disk_names", stack.List([]string{"nvme1n1", "nvme2n1"}), "test")
	s := &stack.Stack{}
	s.Add("test", stack.Observation{Things: []*stack.Thing{fs}})
	v, ok := e.Volume(s, fs)
	if !ok {
		t.Fatal("no volume")
	}
	v, err := e.Place(ctx, m, v, "/db")
	if must(t, err); v.Name != "vol-0a,vol-0b" || v.Pool != "i-0abc" {
		t.Fatalf("%+v", v)
	}
	all, err := e.Snapshot(ctx, m, []protect.Volume{v}, name, facts)
	must(t, err)
	m.says(t, `aws ec2 create-snapshots --instance-specification {"InstanceId":"i-0abc","ExcludeBootVolume":true,"ExcludeDataVolumeIds":["vol-0other"]} --tag-specifications [{"ResourceType":"snapshot","Tags":[{"Key":"plumb-point","Value":"`+name+`"}]}] --description `+name+` --output json`)
	if len(all) != 1 || all[0].GUID != "snap-1,snap-2" || all[0].Part {
		t.Fatalf("%+v", all)
	}
	found, err := e.Find(ctx, m, []protect.Volume{v}, name)
	if must(t, err); len(found) != 1 || !found[0].Part {
		t.Errorf("one of two is called whole: %+v", found)
	}
	must(t, e.Destroy(ctx, m, all))
	m.says(t, "aws ec2 delete-snapshot --snapshot-id snap-1")
	if slices.Contains(m.did, "aws ec2 delete-snapshot --snapshot-id snap-2") {
		t.Error("what is gone was destroyed again")
	}
}

// TestSnapshotsOfEBSThatAreGone: all are asked for at once, and a login that does not even see the volume says nothing.
func TestSnapshotsOfEBSThatAreGone(t *testing.T) {
	m := &told{answers: map[string]string{"aws ec2 describe-snapshots": `{"Snapshots":[{"SnapshotId":"snap-1","VolumeId":"vol-a"}]}`, "aws ec2 describe-volumes": "{}"},
		fails: map[string]error{"aws ec2 describe-volumes --output json --volume-ids vol-b": errors.New("InvalidVolume.NotFound")}}
	var members []protect.Member
	for id, volume := range map[string]string{"snap-1": "vol-a", "snap-2": "vol-a", "snap-3": "vol-b", "snap-4,snap-1": "vol-b,vol-a"} {
		members = append(members, protect.Member{Volume: protect.Volume{Storage: "ebs", Name: volume}, Snapshot: id, GUID: id})
	}
	slices.SortFunc(members, func(a, b protect.Member) int { return strings.Compare(a.GUID, b.GUID) })
	got := EBS{}.States(t.Context(), m, members)
	if got[0].Err != nil || got[0].Gone || got[1].Err != nil || !got[1].Gone || got[2].Err == nil || got[2].Gone || len(m.did) != 3 {
		t.Errorf("%+v after %q", got, m.did)
	}
	if half := got[3]; half.Err != nil || half.Gone || half.Usable(members[3]) == nil || !slices.Equal(half.Lacks, []string{"snap-4"}) || len(got[0].Lacks) > 0 {
		t.Errorf("one of two is gone: %+v", half)
	}
	m.says(t, "aws ec2 describe-snapshots --owner-ids self --filters Name=snapshot-id,Values=snap-1,snap-2,snap-3,snap-4,snap-1 --output json")
}

// TestSnapshotOfEBSThatFailed: one in state error is there, to be destroyed, and no point can be used that rests on it.
func TestSnapshotOfEBSThatFailed(t *testing.T) {
	m := &told{answers: map[string]string{"aws ec2 describe-snapshots": `{"Snapshots":[{"SnapshotId":"snap-1","VolumeId":"vol-a","State":"error"},{"SnapshotId":"snap-2","VolumeId":"vol-b","State":"pending"}]}`}}
	var members []protect.Member
	for id, volume := range map[string]string{"snap-1": "vol-a", "snap-2": "vol-b"} {
		members = append(members, protect.Member{Volume: protect.Volume{Storage: "ebs", Name: volume}, Snapshot: id, GUID: id})
	}
	slices.SortFunc(members, func(a, b protect.Member) int { return strings.Compare(a.GUID, b.GUID) })
	got := EBS{}.States(t.Context(), m, members)
	if err := got[0].Usable(members[0]); got[0].Gone || err == nil || !strings.Contains(err.Error(), "snap-1 (EBS could not finish it)") {
		t.Errorf("failed: %+v, %v", got[0], err)
	}
	if err := got[1].Usable(members[1]); got[1].Gone || err != nil {
		t.Errorf("not finished yet: %+v, %v", got[1], err)
	}
}

// TestSnapshotsOfEBSGoByID: whatever became of their tags, and none that is not the one that was taken.
func TestSnapshotsOfEBSGoByID(t *testing.T) {
	const byID = "aws ec2 describe-snapshots --owner-ids self --filters Name=snapshot-id"
	all := []protect.Member{{Volume: protect.Volume{Storage: "ebs", Name: "vol-a,vol-b,vol-c"}, Snapshot: "snap-1,snap-2,snap-3", GUID: "snap-1,snap-2,snap-3", Birth: name}}
	one := `{"SnapshotId":"snap-1","VolumeId":"vol-a","State":"completed"}`
	for what, c := range map[string]struct {
		third string // of the three; the second is gone
		fails error  // what the first deletion says
		goes  []string
		want  string // of the error; "" for none
	}{
		"no tags":           {`{"SnapshotId":"snap-3","VolumeId":"vol-c","State":"error"}`, nil, []string{"snap-1", "snap-3"}, ""},
		"tagged":            {`{"SnapshotId":"snap-3","VolumeId":"vol-c","Tags":[{"Key":"plumb-point","Value":"` + name + `"}]}`, nil, []string{"snap-1", "snap-3"}, ""},
		"of another volume": {`{"SnapshotId":"snap-3","VolumeId":"vol-x"}`, nil, nil, "snap-3 is a snapshot of vol-x, and not of vol-a,vol-b,vol-c"},
		"of another point":  {`{"SnapshotId":"snap-3","VolumeId":"vol-c","Tags":[{"Key":"plumb-point","Value":"else"}]}`, nil, nil, "snap-3 is tagged as else"},
		"no right":          {`{"SnapshotId":"snap-3","VolumeId":"vol-c"}`, errors.New("UnauthorizedOperation"), nil, "still there: snap-1, snap-3: UnauthorizedOperation"},
	} {
		m := &told{answers: map[string]string{byID: `{"Snapshots":[` + one + `,` + c.third + `]}`, "aws ec2 describe-snapshots --owner-ids self --filters Name=tag": `{"Snapshots":[]}`}}
		if c.fails != nil {
			m.fails = map[string]error{"aws ec2 delete-snapshot": c.fails}
		}
		err := EBS{}.Destroy(t.Context(), m, all)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", what, c.want, err)
		}
		var gone []string
		for _, line := range m.did {
			if id, ok := strings.CutPrefix(line, "aws ec2 delete-snapshot --snapshot-id "); ok && c.fails == nil {
				gone = append(gone, id)
			}
		}
		if !slices.Equal(gone, c.goes) {
			t.Errorf("%s: %q went, want %q", what, gone, c.goes)
		}
	}
}

// TestPartsOfEBS: two snapshots of one volume are none of the other.
func TestPartsOfEBS(t *testing.T) {
	said := `{"Snapshots":[{"SnapshotId":"snap-1","VolumeId":"vol-a"},{"SnapshotId":"snap-2","VolumeId":"vol-a"}]}`
	all, err := ebsMembers([]byte(said), []protect.Volume{{Name: "vol-a,vol-b"}}, name)
	if must(t, err); len(all) != 1 || !all[0].Part {
		t.Errorf("%+v", all)
	}
}

func TestPointsByACommand(t *testing.T) {
	d, ctx, dir := hosttest.LiveDoer(t), t.Context(), t.TempDir()
	c := Command{Line: `printf '%s\n%s\n%s' "$PLUMB_DO" "$PLUMB_POINT" "$PLUMB_VOLUMES" >'` + dir + `/told'; echo snap-1`}
	vols := []protect.Volume{{Storage: "command", Name: "/dev/vdb", Mountpoint: "/a b"}, {Storage: "command", Name: "/dev/vdc", Mountpoint: "/log"}}
	all, err := c.Snapshot(ctx, d, vols, name, facts)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "told"))
	if must(t, err); len(all) != 2 || string(text) != "take\n"+name+"\n/dev/vdb\t/a b\n/dev/vdc\t/log" || all[1].GUID != "snap-1" {
		t.Errorf("%+v; it was told %q", all, text)
	}
	if err := c.Destroy(ctx, d, all); err == nil {
		t.Error("nobody knows how to destroy them, and they were")
	}
	if all, err := (Command{Line: "exit 3"}).Snapshot(ctx, d, vols, name, facts); err == nil || all != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := c.Snapshot(ctx, d, []protect.Volume{{Name: "/dev/vdb", Mountpoint: "/db\n/dev/vdz\t/other"}}, name, facts); err == nil || !strings.Contains(err.Error(), "cannot be passed to a command") {
		t.Errorf("a line break makes another volume: %v", err)
	}
	began := time.Now()
	if _, err := (Command{Line: "sleep 60", Progress: time.Second}).Snapshot(ctx, d, vols, name, facts); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("one that stands still: %v after %v", err, time.Since(began))
	}
	if why := c.Atomic(vols); why == "" {
		t.Error("two volumes are called one moment")
	}
	removedByACommand(t, all, filepath.Join(dir, "snapshot"))
}

// removedByACommand has what stands in a file removed, which is known by the file's content.
func removedByACommand(t *testing.T, all []protect.Member, file string) {
	t.Helper()
	d, ctx := hosttest.LiveDoer(t), t.Context()
	c := Command{Removes: `case $PLUMB_DO in look) cat '` + file + `' 2>/dev/null || : ;; remove) [ "$(cat '` + file + `')" = "$PLUMB_IDENTITY" ] && rm '` + file + `' ;; esac`}
	for _, each := range [][2]string{{"snap-2", "is not the snapshot that was taken"}, {"snap-1", ""}} { // the last one is removed
		content, want := each[0], each[1]
		must(t, os.WriteFile(file, []byte(content+"\n"), 0o600))
		err := c.Destroy(ctx, d, all)
		_, there := os.Stat(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || (there == nil) != (want != "") {
			t.Errorf("with %s: %v; the file: %v", content, err, there)
		}
	}
	must(t, c.Destroy(ctx, d, all)) // again, as after a death
	must(t, os.WriteFile(file, []byte("snap-1"), 0o600))
	for line, want := range map[string]string{`[ $PLUMB_DO = remove ] || cat '` + file + `'`: "and they are there", "exit 3": "looks at snapshots failed", `[ $PLUMB_DO = look ] && cat '` + file + `'`: "removes snapshots failed"} {
		if err := (Command{Removes: line}).Destroy(ctx, d, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", line, want, err)
		}
	}
	nameless := slices.Clone(all)
	nameless[0].GUID = ""
	if err := c.Destroy(ctx, d, nameless); err == nil || !strings.Contains(err.Error(), "printed nothing by which they are known again") {
		t.Errorf("without an identity: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("it was removed")
	}
}

// TestRemovalOfFilesThatWasBegun: a copy of files of which some are removed is there, and no copy of it can be started.
func TestRemovalOfFilesThatWasBegun(t *testing.T) {
	born := time.Unix(1_800_000_000, 0)
	m := protect.Member{Volume: protect.Volume{Storage: "xfs", Pool: "/dev/vdb"}, Snapshot: pointsDir + "/p.db", GUID: "7", Birth: born.UTC().Format(time.RFC3339Nano)}
	for end, whole := range map[string]bool{"": true, goneEnd: false} {
		dir := "/top/" + m.Snapshot + end
		h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": "1 1 8:1 / /top rw - xfs /dev/vdb rw\n"}, Errors: map[string]error{"link " + dir: errors.New("no link")},
			Stats: map[string]host.Stat{dir: {Inode: 7, Born: born, Resolved: dir}}}
		st, err := Reflink{}.State(t.Context(), h, m)
		if err != nil || st.Gone || st.Other || (st.Usable(m) == nil) != whole {
			t.Errorf("%q: %+v, %v", end, st, err)
		}
	}
}

// TestCopiesOnDevices: of copies on LVM and Ceph it is known which volume they are, and with what they are lost.
func TestCopiesOnDevices(t *testing.T) {
	lv := inventory.Thing{Kind: inventory.LogicalVolume, Name: "vg-a/plumb-clone-1"}
	image := inventory.Thing{Kind: inventory.Image, Name: "db/plumb-clone-1"}
	mapping := inventory.Thing{Kind: inventory.Mapping, Name: "/dev/rbd1", Proof: map[string]string{"image": "db/plumb-clone-1"}}
	for _, c := range []struct {
		on    protect.Holder
		v     protect.Volume
		holds []inventory.Thing
		not   []inventory.Thing
	}{
		{LVM{}, protect.Volume{Name: "vg-a/db", Pool: "vg-a/thin"}, []inventory.Thing{lv}, []inventory.Thing{image, mapping, {Kind: inventory.LogicalVolume, Name: "vg-b/plumb-clone-1"}}},
		{RBD{}, protect.Volume{Name: "db/data", Pool: "db"}, []inventory.Thing{image, mapping}, []inventory.Thing{lv, {Kind: inventory.Image, Name: "other/plumb-clone-1"}, {Kind: inventory.Tree, Name: "db/x"}}},
	} {
		for _, thing := range c.holds {
			if !c.on.Holds(c.v, thing) {
				t.Errorf("%T: %s is not lost with %s", c.on, thing.Name, c.v.Name)
			}
		}
		for _, thing := range c.not {
			if c.on.Holds(c.v, thing) {
				t.Errorf("%T: %s is lost with %s", c.on, thing.Name, c.v.Name)
			}
		}
	}
	m := &told{fails: map[string]error{"rbd snap ls": errors.New("exit status 2: rbd: error opening image plumb-clone-1: (2) No such file or directory")}}
	v, ok := RBD{}.CopyOf(image)
	if found, err := (RBD{}).Find(t.Context(), m, []protect.Volume{v}, name); !ok || err != nil || len(found) != 0 {
		t.Errorf("a copy that never came about: %+v, %v", found, err)
	}
	m.fails["rbd snap ls"] = errors.New("rbd: couldn't connect to the cluster!")
	if _, err := (RBD{}).Find(t.Context(), m, []protect.Volume{v}, name); err == nil {
		t.Error("a cluster that does not answer has no snapshots")
	}
	if v, ok := (LVM{}).CopyOf(lv); !ok || v.Name != lv.Name {
		t.Errorf("%+v, %v", v, ok)
	}
}

// What is removed of a clone is proven first.
func TestClonesOfDevicesAreProven(t *testing.T) {
	m := &told{answers: map[string]string{"rbd info": `{"id":"abc"}`}}
	all := kinds.All()
	remove := func(kind, name string, proof map[string]string) error {
		return all[kind].Remove(t.Context(), inventory.Holder{Do: m}, inventory.Entry{Thing: inventory.Thing{Kind: kind, Name: name, Proof: proof}})
	}
	must(t, remove(inventory.LogicalVolume, "vg/plumb-clone-1", map[string]string{"uuid": "u1"}))
	m.says(t, `lvremove --yes --select lv_name="plumb-clone-1" && lv_uuid="u1" -- vg`)
	must(t, remove(inventory.Image, "db/plumb-clone-1", map[string]string{"id": "abc"}))
	m.says(t, "rbd rm --no-progress -- db/plumb-clone-1")
	m.did = nil
	for kind, names := range map[string][]string{inventory.LogicalVolume: {"vg/db", "db", `vg/plumb-clone-" || lv_name="db`}, inventory.Image: {"db/data", "db/plumb-clone-1"}} {
		for _, name := range names {
			if err := remove(kind, name, map[string]string{"id": "else", "uuid": "u1"}); !errors.Is(err, inventory.ErrForeign) {
				t.Errorf("%s %s: %v", kind, name, err)
			}
		}
	}
	if slices.ContainsFunc(m.did, func(s string) bool { return strings.Contains(s, " rm ") || strings.HasPrefix(s, "lvremove") }) {
		t.Errorf("removed: %s", fmt.Sprint(m.did))
	}
}

func FuzzListsOfDevices(f *testing.F) {
	f.Add([]byte(lvsList))
	f.Add([]byte(`[{"id":4,"name":"x"}]`))
	f.Fuzz(func(t *testing.T, out []byte) {
		parseLogical(out)
		parseRBDSnapshots(out)
		ebsMembers(out, []protect.Volume{{Name: "vol-1"}}, name)
	})
}
