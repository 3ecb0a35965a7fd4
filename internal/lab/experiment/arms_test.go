package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func armNames(x Experiment) string {
	var names []string
	for _, a := range x.Arms {
		names = append(names, a.Name)
	}
	return strings.Join(names, " | ")
}

const onlyFiles = `experiment: files
question: What?
base: {volume: {kind: loop, size: 1G}, load: {kind: fsync}}
`

// The last axis is the fastest, and an exception need not name all axes.
func TestAxesAreCombined(t *testing.T) {
	x := parsed(t, onlyFiles+`axes:
  - {name: fs, path: volume.filesystem, levels: [ext4, xfs]}
  - name: options
    levels: [{name: plain, set: {}}, {name: small, set: {volume.mkfs: [-b, 1024], load.block: 1K}}]
  - {name: sync, path: load.sync, levels: [fsync, dsync]}
except: [{fs: xfs, options: small}, {options: small, sync: dsync}]
compare: [["xfs, plain, fsync", "ext4, plain, fsync"]]
`)
	if got, want := armNames(x), "ext4, plain, fsync | ext4, plain, dsync | ext4, small, fsync | xfs, plain, fsync | xfs, plain, dsync"; got != want {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]string{"-b", "1024"}, x.Arms[2].Setup.Volume.Mkfs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"volume.mkfs": "-b 1024", "load.block": "1K"}, x.Axes[1].Levels[1].Set); diff != "" {
		t.Error(diff)
	}
	if x.Arms[0].Setup.Volume.Mkfs != nil || len(x.Pairs) != 1 {
		t.Errorf("%+v", x)
	}
}

// An arm may empty what its base has, make what its base lacks, and name a
// setting with dots in it.
func TestArmsChangeTheBase(t *testing.T) {
	x := parsed(t, `experiment: change
question: What?
base: {volume: {kind: loop, size: 1G, filesystem: xfs}, load: {kind: oltp}, server: {engine: postgres}}
arms:
  - {name: a, set: {}}
  - {name: b, set: {volume.kind: zpool, volume.filesystem: "", volume.properties.recordsize: 16K}}
  - {name: c, set: {host.vm.dirty_bytes: 1, server.settings.auto_explain.log_min_duration: 5, beside.kind: copy, beside.size: 1G}}
baseline: c
`)
	if v := x.Arms[1].Setup.Volume; v.Kind != Zpool || v.Filesystem != "" || v.Properties["recordsize"] != "16K" {
		t.Errorf("%+v", v)
	}
	c := x.Arms[2].Setup
	if c.Host["vm.dirty_bytes"] != "1" || c.Server.Settings["auto_explain.log_min_duration"] != "5" || c.Beside.Size != 1<<30 {
		t.Errorf("%+v", c)
	}
	if a := x.Arms[0].Setup; a.Beside != nil || a.Host != nil || a.Server.Settings != nil || a.Volume.Filesystem != "xfs" {
		t.Errorf("one arm's changes are in another: %+v", a)
	}
	if diff := cmp.Diff([]Pair{{"a", "c"}, {"b", "c"}}, x.Pairs); diff != "" {
		t.Error(diff)
	}
}

func TestABBATakesArmsThatSwitch(t *testing.T) {
	x := parsed(t, strings.Replace(small, "name: default, set: {}", "name: default, set: {server.settings.fsync: on}", 1)+"design: abba\n")
	if x.Design != ABBA || len(Order(x, 1)) != 2 {
		t.Errorf("%+v", x)
	}
}

func TestParseTakesOneDocument(t *testing.T) {
	if _, err := Parse("x.yaml", []byte(small+"---\n"+small)); err == nil || err.Error() != "x.yaml:10:1: a second document begins here: a file contains one experiment" {
		t.Error(err)
	}
	parsed(t, "---\n"+small+"...\n")
}

// A ledger finds an experiment by its hash: another one for the same file
// would begin it anew. When this fails, find out what changed, and give
// fields that are new omitempty.
func TestHashStaysTheSameForEver(t *testing.T) {
	if got := parsed(t, syncBinlog).Hash; got != "d1d8d1707c78be64f3e543c4ecb64043856cd080fc5bc6139c00ba6377024759" {
		t.Errorf("got %s", got)
	}
}
