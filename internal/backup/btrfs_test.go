package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

func TestNamesOfSubvolumes(t *testing.T) {
	for want, names := range map[string][]string{
		"top":                       {"/"},
		"data log":                  {"/db/data", "/db/log"},
		"a%2Fdata b%2Fdata log":     {"/a/data", "/b/data", "/log"},
		"1111:%2Fdata 2222:%2Fdata": {"1111:/data", "2222:/data"},
		"mysql top":                 {"/var/lib/mysql", "/"},
		"%2F top":                   {"/", "/top"},
		"top top2":                  {"/", "/top2"},
	} {
		var streams []manifest.Stream
		for _, n := range names {
			streams = append(streams, manifest.Stream{Name: n})
		}
		var got []string
		for _, n := range subvolumeNames(streams) {
			if err := oddName(n); err != nil {
				t.Error(err)
			}
			got = append(got, n)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q get %q, want %q", names, got, want)
		}
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a\nb", strings.Repeat("a", 201)} {
		if oddName(bad) == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}

func TestNamesOfStreams(t *testing.T) {
	members := []protect.Member{{Volume: protect.Volume{Name: "/db", Pool: "one"}}, {Volume: protect.Volume{Name: "/db", Pool: "two"}}, {Volume: protect.Volume{Name: "/log", Pool: "two"}}}
	var got []string
	for _, m := range members {
		got = append(got, streamName(members, m))
	}
	if fmt.Sprint(got) != "[one:/db two:/db /log]" {
		t.Errorf("%q", got)
	}
}

// mounted tells where the top of a filesystem is mounted.
type mounted struct{}

func (mounted) Top(_ context.Context, _ host.Reader, uuid string) (string, error) {
	return "/mnt/" + uuid, nil
}

// TestOneNameOnTwoFilesystems: data and log can lie in the tops of two filesystems, whose snapshots have one path. A backup has both.
func TestOneNameOnTwoFilesystems(t *testing.T) {
	const path = ".plumb-points/plumb-20261123T210500Z-4f3a."
	p := protect.Point{State: protect.Taken}
	h := hosttest.Map{Outputs: map[string]string{}}
	for pool, uuid := range map[string]string{"one": firstUUID, "two": secondUUID} {
		p.Members = append(p.Members, protect.Member{Volume: protect.Volume{Storage: "btrfs", Name: "/", Pool: pool}, Snapshot: path, GUID: uuid, Birth: "7"})
		h.Outputs[strings.Join(btrfs.ListReadOnly("/mnt/"+pool), " ")] = "ID 257 gen 9 cgen 7 top level 5 parent_uuid - uuid " + uuid + " path " + path + "\n"
	}
	all, err := snapshots(t.Context(), h, mounted{}, p)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d of two are sent, %v", len(all), err)
	}
	names := []string{all[0].(subvolume).name, all[1].(subvolume).name}
	if slices.Sort(names); fmt.Sprint(names) != "[one:/ two:/]" {
		t.Errorf("their streams are %q", names)
	}
}

const (
	firstUUID  = "ba36178d-ee23-0443-983f-42e3d5d64982"
	secondUUID = "3b0d3110-deaf-3a40-800d-1d3f2d695762"
)

// What a subvolume is sent from is told by UUID, and is there: a name says nothing.
func TestSubvolumeBegins(t *testing.T) {
	s := subvolume{name: "/db", uuid: secondUUID, top: "/top", at: "p/second", there: map[string]string{firstUUID: "p/first", secondUUID: "p/second"}}
	of := func(name string, kind manifest.Kind, guid string) manifest.Manifest {
		return manifest.Manifest{ID: "b1", Streams: []manifest.Stream{{Name: name, Kind: kind, GUID: guid}}}
	}
	good := of("/db", manifest.Btrfs, firstUUID+":7")
	for what, m := range map[string]manifest.Manifest{
		"another subvolume's":   of("/log", manifest.Btrfs, firstUUID+":7"),
		"of ZFS":                of("/db", manifest.ZFS, firstUUID+":7"),
		"its own":               of("/db", manifest.Btrfs, secondUUID+":7"),
		"one that is gone":      of("/db", manifest.Btrfs, "00000000-ee23-0443-983f-42e3d5d64982:7"),
		"without a generation":  of("/db", manifest.Btrfs, firstUUID),
		"with nothing but that": of("/db", manifest.Btrfs, ""),
	} {
		if s.begins(m) {
			t.Errorf("it begins at %s", what)
		}
	}
	if !s.begins(good) {
		t.Error("it does not begin at what is there")
	}
	got := s.source(&good)
	if strings.Join(got.Argv, " ") != "btrfs send -p /top/p/first -- /top/p/second" || *got.Base != (manifest.Base{Backup: "b1", GUID: firstUUID + ":7"}) || got.Sieve.From != (btrfs.Origin{UUID: firstUUID, Generation: 7}) {
		t.Errorf("%+v", got)
	}
	if got := s.source(nil); strings.Join(got.Argv, " ") != "btrfs send -- /top/p/second" || got.Base != nil || got.Sieve.Of.UUID != secondUUID {
		t.Errorf("%+v", got)
	}
}

// What cannot be sent is refused with what can be done.
func TestOtherStorages(t *testing.T) {
	on := func(storages ...string) protect.Point {
		p := protect.Point{ID: "20261126T120000Z-0001", State: protect.Taken}
		for i, s := range storages {
			p.Members = append(p.Members, protect.Member{Volume: protect.Volume{Storage: s, Name: fmt.Sprintf("/v%d", i)}, Snapshot: fmt.Sprint(i)})
		}
		return p
	}
	for want, p := range map[string]protect.Point{
		"/v0 is on lvm, whose snapshots cannot be sent": on("lvm"),
		"/v0 is on xfs, whose snapshots cannot be sent": on("xfs", "xfs"),
		"/v0 is on btrfs, and /v1 on zfs":               on("btrfs", "zfs"),
		"it is not a complete point":                    on(),
	} {
		_, err := Point(t.Context(), nil, nil, p, nil, Full{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if len(p.Members) > 0 && !strings.Contains(hint.Of(err), "--command 'mariadb-backup") {
			t.Errorf("%s: the hint is %q", want, hint.Of(err))
		}
	}
}
