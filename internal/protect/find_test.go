package protect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// devices is a storage on which every mount of a device is a volume.
type devices struct {
	shelf
	asked int
}

func (d *devices) Volume(_ *stack.Stack, fs *stack.Thing) (Volume, bool) {
	d.asked++
	return Volume{Storage: d.Name(), Name: fs.Text("source"), Mountpoint: fs.Text("mountpoint")}, fs.Text("fstype") != "tmpfs"
}

// TestFilesElsewhere: of however many files that are open, one that lies on another filesystem than the directories of the server is found.
func TestFilesElsewhere(t *testing.T) {
	const many = 60_000
	for what, c := range map[string]struct {
		dir  string // of the data
		open func(i int) string
		want []string
		lost int // strays
	}{
		"beside many of its own":          {"/db", func(i int) string { return fmt.Sprintf("/db/t%d.ibd", i) }, []string{"/dev/db", "/dev/far"}, 0},
		"with the data on /":              {"/srv/db", func(int) string { return "/srv/db/t.ibd" }, []string{"/dev/root", "/dev/far"}, 0},
		"beside many others of its mount": {"/db", func(i int) string { return fmt.Sprintf("/far/t%d.ibd", i) }, []string{"/dev/db", "/dev/far"}, 0},
		"many that have no snapshots":     {"/db", func(i int) string { return fmt.Sprintf("/tmp/t%d.ibd", i) }, []string{"/dev/db", "/dev/far"}, 1},
		"many that are no data":           {"/db", func(i int) string { return fmt.Sprintf("/tmp/t%d.log", i) }, []string{"/dev/db", "/dev/far"}, 0},
	} {
		m := hosttest.Map{Links: map[string]string{}, Files: map[string]string{"/proc/7/maps": "",
			"/proc/7/mountinfo": "1 1 8:1 / / rw - ext4 /dev/root rw\n2 1 8:2 / /db rw - ext4 /dev/db rw\n3 1 8:3 / /far rw - ext4 /dev/far rw\n4 1 0:9 / /tmp rw - tmpfs tmpfs rw\n"}}
		var fds []string
		for i := range many {
			fd := fmt.Sprintf("/proc/7/fd/%d", i+3)
			fds, m.Links[fd] = append(fds, fd), c.open(i)
		}
		m.Links[fds[many-1]] = "/far/undo_001"
		m.Globs = map[string][]string{"/proc/7/fd/*": fds}
		on := &devices{}
		set, err := (&Keeper{Storages: []Storage{on}}).findSet(t.Context(), m, &stack.Stack{}, &quietServer{}, Server{PID: 7, Dirs: []Dir{{Role: "data", Path: c.dir}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range set.Volumes {
			got = append(got, v.Name)
		}
		if !slices.Equal(got, c.want) || len(set.Strays) != c.lost || on.asked > 3 {
			t.Errorf("%s: on %q with %d strays, and %d looks; want %q with %d", what, got, len(set.Strays), on.asked, c.want, c.lost)
		}
	}
}

// TestADirectoryOfManyRolesIsMissingOnce: data, logs and all else often lie in one directory.
func TestADirectoryOfManyRolesIsMissingOnce(t *testing.T) {
	m := hosttest.Map{Files: map[string]string{"/proc/7/maps": "", "/proc/7/mountinfo": "1 1 0:9 / /tmp rw - tmpfs tmpfs rw\n2 1 0:10 / /far rw - nfs far rw\n"}}
	var dirs []Dir
	for _, role := range []string{"data", "redo", "undo", "binlog"} {
		dirs = append(dirs, Dir{Role: role, Path: "/tmp/db"})
	}
	dirs = append(dirs, Dir{Role: "doublewrite", Path: "/tmp/db/dw"}, Dir{Role: "tablespace", Path: "/far/ts"})
	set, err := (&Keeper{Storages: []Storage{&devices{}}}).findSet(t.Context(), m, &stack.Stack{}, &quietServer{}, Server{PID: 7, Dirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range set.Strays {
		got = append(got, s.Path)
	}
	if !slices.Equal(got, []string{"/tmp/db"}) && !slices.Equal(got, []string{"/tmp/db", "/far/ts"}) {
		t.Errorf("outside are %q", got)
	}
}

// TestWhatToDoWithoutSnapshots: what lies outside is moved to the data, unless the data lie outside themselves.
func TestWhatToDoWithoutSnapshots(t *testing.T) {
	stray := []Stray{{Path: "/x", Why: "on ext4"}}
	for want, set := range map[string]Set{
		"move it to the filesystem of the data":                               {Volumes: make([]Volume, 1), Strays: stray},
		"plumb backup --command backs up the output of the server's own back": {Strays: stray},
	} {
		if help := hint.Of(Plan{Set: set}.Possible()); !strings.HasPrefix(help, want) {
			t.Errorf("the hint is %q, want %q", help, want)
		}
	}
}

// manyOpen is a machine whose globs of descriptors end too early.
type manyOpen struct{ hosttest.Map }

func (c manyOpen) Glob(ctx context.Context, pattern string) ([]string, error) {
	if strings.HasSuffix(pattern, "/fd/*") {
		return []string{"/proc/7/fd/0"}, host.ErrTooLarge
	}
	return c.Map.Glob(ctx, pattern)
}

// TestMoreFilesThanAreListed: of a server that has more open than one look lists, the last file counts as well.
func TestMoreFilesThanAreListed(t *testing.T) {
	m := manyOpen{hosttest.Map{Links: map[string]string{"/proc/7/fd/9": "/db/t.ibd", "/proc/7/fd/190000": "/far/undo_001"}, Files: map[string]string{"/proc/7/maps": "", "/proc/7/status": "Name:\tmysqld\nFDSize:\t262144\n",
		"/proc/7/mountinfo": "2 1 8:2 / /db rw - ext4 /dev/db rw\n3 1 8:3 / /far rw - ext4 /dev/far rw\n"}}}
	find := func() (Set, error) {
		return (&Keeper{Storages: []Storage{&devices{}}}).findSet(t.Context(), m, &stack.Stack{}, &quietServer{}, Server{PID: 7, Dirs: []Dir{{Role: "data", Path: "/db"}}})
	}
	set, err := find()
	if err != nil || len(set.Volumes) != 2 || set.Volumes[1].Name != "/dev/far" {
		t.Errorf("%+v, %v", set.Volumes, err)
	}
	m.Files["/proc/7/status"] = "Name:\tmysqld\n"
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "does not say how many") {
		t.Errorf("without a number: %v", err)
	}
}

// TestVolumeHolds: a directory of what is mounted is part of it where it is mounted as well, also below /.
func TestVolumeHolds(t *testing.T) {
	at := func(point, within string) Volume {
		return Volume{Storage: "btrfs", Pool: "p", Name: "/", Mountpoint: point, Within: within}
	}
	for what, c := range map[string]struct {
		v, w Volume
		want bool
	}{
		"below":           {at("/srv", "@"), at("/srv/db", "@/db"), true},
		"below /":         {at("/", "@"), at("/srv", "@/srv"), true},
		"itself":          {at("/srv", "@"), at("/srv", "@"), true},
		"beside":          {at("/srv", "@"), at("/srv2", "@2"), false},
		"another of it":   {at("/srv", "@"), at("/srv/db", "@/other"), false},
		"what is above":   {at("/srv/db", "@/db"), at("/srv", "@"), false},
		"the whole thing": {at("/srv", ""), at("/srv/db", "db"), false},
	} {
		if got := c.v.holds(c.w); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
