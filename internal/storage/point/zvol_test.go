package point

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

const aSnapshot = "tank/vm/a@" + name + "\tguid\t7\ntank/vm/a@" + name + "\tcreatetxg\t9\n"

// onZvols is a machine with two volumes and their devices.
func onZvols() *told {
	m := &told{answers: map[string]string{"zfs list -H -t volume": "tank/vm/a\ntank/vm/ab\ntank/my vm/a b\n"}}
	m.Stats = map[string]host.Stat{"/dev/zvol/tank/vm/a": {Resolved: "/dev/zd0"}, "/dev/zvol/tank/vm/ab": {Resolved: "/dev/zd16"}, "/dev/zvol/tank/my+vm/a+b": {Resolved: "/dev/zd32"}}
	return m
}

func TestPlaceOnVolumesOfZFS(t *testing.T) {
	m, z := onZvols(), Zvol{}
	s, fs := onBlock("zvol", "/dev/zd16")
	v, ok := z.Volume(s, fs)
	if !ok {
		t.Fatal("no volume")
	}
	v, err := z.Place(t.Context(), m, v, "/db")
	if must(t, err); v.Storage != "zvol" || v.Name != "tank/vm/ab" || v.Pool != "tank" {
		t.Errorf("%+v", v)
	}
	if v, err := z.Place(t.Context(), m, protect.Volume{Name: "/dev/zd32"}, "/db"); err == nil || !strings.Contains(err.Error(), `the dataset "tank/my vm/a b" has a blank`) {
		t.Errorf("a name with blanks: %+v, %v", v, err)
	}
	if _, err := z.Place(t.Context(), m, protect.Volume{Name: "/dev/zd16p1"}, "/db"); err == nil || !strings.Contains(err.Error(), "whole volume") {
		t.Errorf("a partition: %v", err)
	}
	if _, err := z.Place(t.Context(), m, protect.Volume{Name: "/dev/zd16", Within: "sub"}, "/db"); err == nil {
		t.Error("a directory of it is taken for all of it")
	}
	if _, ok := z.Volume(onBlock("partition", "/dev/zd16p1")); ok {
		t.Error("a partition is taken for a volume")
	}
}

// A clone that was just mounted is in no stack, and its snapshot is taken all the same.
func TestDevicesThatTheStackDoesNotKnow(t *testing.T) {
	for source, storage := range map[string]string{"/dev/mapper/vg-db": "lvm", "/dev/rbd0": "rbd", "/dev/zd16": "zvol", "/dev/sda1": ""} {
		_, fs := onBlock("", source)
		got := ""
		for _, one := range []protect.Storage{LVM{}, RBD{}, Zvol{}} {
			if _, ok := one.Volume(&stack.Stack{}, fs); ok {
				got += one.Name()
			}
		}
		if got != storage {
			t.Errorf("%s is on %q, not on %q", source, got, storage)
		}
	}
}

func TestPointsOfVolumesOfZFS(t *testing.T) {
	m, z, ctx := onZvols(), Zvol{}, t.Context()
	v := protect.Volume{Storage: "zvol", Name: "tank/vm/a", Pool: "tank", Mountpoint: "/db"}
	m.answers["zfs get -Hp"] = aSnapshot
	_, err := z.Snapshot(ctx, m, []protect.Volume{v}, name, nil)
	must(t, err)
	sync, take := slices.Index(m.did, "sync -f -- /db"), slices.Index(m.did, "zfs snapshot tank/vm/a@"+name)
	if sync < 0 || take < sync {
		t.Errorf("what the kernel held was not written out before: %q", m.did)
	}
}

// The device of a clone is known by the kernel's name, as mounts are.
func TestDevicesOfVolumesOfZFS(t *testing.T) {
	m := onZvols()
	device, err := zvolReady(t.Context(), m, "tank/vm/a")
	if must(t, err); device != "/dev/zd0" {
		t.Errorf("it is %s", device)
	}
}

// All that is typed for a clone of XFS on a volume.
func TestClonesOfVolumesOfZFS(t *testing.T) {
	m, z, ctx := onZvols(), Zvol{}, t.Context()
	m.Streamer = hosttest.LiveDoer(t) // for the books
	m.Files = map[string]string{"/proc/self/mountinfo": "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "/proc/sys/kernel/random/boot_id": "now\n"}
	m.Stats["/copy"] = host.Stat{Mode: fs.ModeDir | 0o755, Resolved: "/copy"}
	m.answers["blkid"] = "xfs\n"
	m.answers["zfs get -Hp -o name,property,value"] = aSnapshot
	m.answers["zfs get -Hp -o property,value all tank/vm/a"] = "recordsize\t-\ncompression\tlz4\nvolsize\t1\n"
	m.answers["zfs list -H -o name tank/vm/plumb-clone"] = ""
	m.fails = map[string]error{"zfs list -H -o name tank/vm/plumb-clone": errors.New("dataset does not exist")}
	m.does = func(line string) {
		if f := strings.Fields(line); f[1] == "clone" {
			m.Stats["/dev/zvol/"+f[len(f)-1]] = host.Stat{Resolved: "/dev/zd32"}
		}
	}
	book, err := kinds.Books(m, t.TempDir()).Open(ctx, "t")
	must(t, err)
	member := protect.Member{Volume: protect.Volume{Storage: "zvol", Name: "tank/vm/a", Pool: "tank", Mountpoint: "/db"}, Snapshot: "tank/vm/a@" + name, GUID: "7", Birth: "9"}
	must(t, z.Clone(ctx, m, member, protect.CloneAt{Dir: "/copy", Book: book}))
	made := slices.IndexFunc(m.did, func(s string) bool { return strings.HasPrefix(s, "zfs clone") })
	if made < 0 || !strings.HasPrefix(m.did[made], "zfs clone -o volmode=dev -o snapdev=hidden -o com.sun:auto-snapshot=false -o readonly=off -o compression=lz4 -o org.plumb:run=clone-") {
		t.Errorf("%q", m.did)
	}
	m.says(t, "mount -t xfs -o nosuid,nodev,nouuid -- /dev/zd32 /copy")
}
