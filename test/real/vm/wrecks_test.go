package vm

import (
	_ "embed" // the scripts
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
	"plumb/test/program"
	"plumb/test/sandbox"
)

//go:embed guest/wrecks_lib.sh
var wrecksLib string

//go:embed guest/wrecks_zfs.sh
var wrecksZFS string

//go:embed guest/wrecks_disks.sh
var wrecksDisks string

//go:embed guest/wrecks_ceph.sh
var wrecksCeph string

//go:embed guest/wrecks_mysql.sh
var wrecksMySQL string

// moment is what plumb saw of a machine at one time.
type moment struct {
	name  string   // of the document
	fires []string // rules that must fire somewhere
	quiet []string // rules that must fire nowhere, and know it
}

// TestWrecksOnOpenZFS has the rules of danger and outage meet what they warn of
// where that takes a real OpenZFS, and parameters of the whole host.
func TestWrecksOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			if release == Bookworm {
				sandbox.NeedFull(t, "the same again with an older OpenZFS: make test-real FULL=1 does it")
			}
			wreck(t, release, damageLib+wrecksZFS, wrecksOnZFS(release), []Disk{
				{Name: "left", Bytes: 6 << 30}, {Name: "right", Bytes: 6 << 30}, {Name: "special", Bytes: 512 << 20},
				{Name: "worn", Bytes: 1400 << 20}, {Name: "lost", Bytes: 256 << 20}})
		})
	}
}

// TestWrecksOfDisks does it where that takes arrays, thin volumes and NFS.
func TestWrecksOfDisks(t *testing.T) {
	wreck(t, Trixie, wrecksDisks, wrecksOfDisks(), []Disk{
		{Name: "one", Bytes: 400 << 20}, {Name: "two", Bytes: 400 << 20}, {Name: "three", Bytes: 400 << 20},
		{Name: "thin", Bytes: 1 << 30}, {Name: "fast", Bytes: 128 << 20}, {Name: "slow", Bytes: 256 << 20}})
}

// TestWrecksOnCeph does it where that takes a cluster of Ceph, which is this machine alone. How full one is
// without a host no cluster of one host can tell.
func TestWrecksOnCeph(t *testing.T) {
	carelessly := []string{"block/ceph-flags-left", "block/ceph-scrubs-off", "block/ceph-min-size-one", "block/ceph-nearly-full"}
	alone := []string{"block/ceph-one-copy"}
	wreck(t, Ceph, cephCluster+wrecksCeph, []moment{
		{name: "sound", quiet: slices.Concat(carelessly, alone), fires: []string{"block/ceph-scrub-hours"}},
		{name: "careless", fires: carelessly, quiet: []string{"block/ceph-scrub-hours"}},
		{name: "alone", fires: alone},
	}, []Disk{{Name: "one", Bytes: 3 << 30}, {Name: "two", Bytes: 3 << 30}})
}

// TestWrecksOfMySQL does it where that takes MySQL instead of MariaDB.
func TestWrecksOfMySQL(t *testing.T) {
	sandbox.NeedTime(t, "MySQL is fetched from Debian sid: make test-real runs it")
	tree, _, err := sandbox.MySQLTree()
	sandbox.Need(t, err)
	wreck(t, Trixie, wrecksMySQL, wrecksOfMySQL(), []Disk{
		{Name: "data", Bytes: 1 << 30}, {Name: "redo", Bytes: 256 << 20}, {Name: "tank", Bytes: 2 << 30}}, tree)
}

func wrecksOfMySQL() []moment {
	places := []string{"cross/mysql-no-fsync-two-places", "cross/kernel-aio-exhausted"}
	volatile := []string{"cross/mysql-direct-volatile"}
	return []moment{
		{name: "sound", quiet: slices.Concat(places, volatile)},
		{name: "two_places", fires: places},
		{name: "volatile", fires: volatile},
		{name: "dedicated", fires: []string{"cross/zfs-dedicated-server"}},
	}
}

func wrecksOnZFS(release string) []moment {
	volumes := []string{"cross/zfs-zvol-sync-disabled", "cross/zfs-zvol-doublewrite-off", "cross/zfs-zvol-full-page-writes-off"}
	careless := []string{
		"cross/zfs-sync-disabled-mysql-data", "cross/zfs-sync-disabled-mysql-redo", "cross/zfs-sync-disabled-mysql-binlog",
		"cross/zfs-sync-disabled-postgres-data", "cross/zfs-sync-disabled-postgres-wal",
		"cross/zfs-snapshots-apart-mysql", "cross/zfs-snapshots-apart-postgres",
		"cross/zfs-doublewrite-off", "cross/zfs-full-page-writes-off", "cross/zfs-swap-on-zvol",
		"cross/kernel-swappiness-zero", "cross/kernel-huge-pages-on-too-few",
		"zfs/special-not-redundant", "zfs/slog-on-ram-disk", "zfs/nocacheflush", "zfs/zil-nocacheflush",
		"kernel/vfs-cache-pressure-zero", "kernel/min-free-absurd", "kernel/open-files-near-limit"}
	if release != Bookworm { // whose ARC takes no more than half of the memory, and which has no Direct I/O
		careless = append(careless, "cross/zfs-arc-max-unset", "cross/zfs-arc-max-unset-postgres", "cross/zfs-direct-requests")
	}
	damage := "zfs/scrub-errors"
	if release == Bookworm { // whose OpenZFS goes on listing what was removed
		damage = "zfs/data-errors"
	}
	crowded := []string{"cross/zfs-arc-and-caches", "cross/mysql-memory-expected", "cross/postgres-memory-expected"}
	others := []string{"kernel/overcommit-limit-near", "zfs/scrub-errors", "zfs/data-errors", "zfs/sparse-volumes-filling",
		"zfs/device-refuses-writes", "zfs/pool-stopped", "cross/zfs-doublewrite-fast"}
	all := []moment{
		{name: "sound", quiet: slices.Concat(careless, crowded, others)},
		{name: "careless", fires: careless},
		{name: "crowded", fires: crowded},
		{name: "promised", fires: []string{"kernel/overcommit-limit-near"}},
		{name: "volumes_sound", quiet: volumes},
		{name: "volumes", fires: volumes},
		{name: "worn", fires: []string{damage, "zfs/sparse-volumes-filling"}},
		{name: "lost", fires: []string{"zfs/device-refuses-writes", "zfs/pool-stopped"}},
	}
	if release != Bookworm { // whose MariaDB knows no fast doublewrite
		all = append(all, moment{name: "fast", fires: []string{"cross/zfs-doublewrite-fast"}})
	}
	return all
}

func wrecksOfDisks() []moment {
	wrecked := []string{
		"block/md-degraded", "block/md-write-hole", "block/md-parity-mismatch", "block/thin-pool-filling",
		"block/bcache-inconsistent", "block/smart-failing", "cross/storage-nfs-soft", "xfs/removed-mount-options", "ext4/nobarrier"}
	full := []string{"block/thin-pool-failed"}
	return []moment{
		{name: "sound", quiet: slices.Concat(wrecked, full)},
		{name: "wrecked", fires: wrecked},
		{name: "full", fires: full},
	}
}

// wreck runs a script that keeps what plumb sees at some moments, and judges it.
func wreck(t *testing.T, release, script string, moments []moment, disks []Disk, along ...string) {
	t.Helper()
	m, plumb, out := openWithPlumb(t, release)
	r, err := m.Run(t.Context(), Script{In: append(along, plumb.Path), Out: out, Line: wrecksLib + script, Disks: disks, Deadline: 30 * time.Minute})
	t.Logf("booted in %v, all took %v\n%s", r.Boot, r.Took, r.Output)
	if err != nil || r.Code != 0 {
		t.Errorf("code %d, %v", r.Code, err) // what was kept until then is judged
	}
	rules := loadRules(t)
	for _, at := range moments {
		t.Run(at.name, func(t *testing.T) {
			text := read(t, out, at.name+".json")
			if text == "" {
				t.FailNow()
			}
			program.Keep(t, []byte(text))
			at.check(t, rules, stackOf(t, plumb, text))
		})
	}
}

func loadRules(t *testing.T) *rule.Base {
	t.Helper()
	cat := hosttest.Catalog(t)
	rules, err := rule.Load(knowledge.FS, cat)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func stackOf(t *testing.T, plumb program.Program, text string) *stack.Stack {
	t.Helper()
	var doc struct{ Stack json.RawMessage }
	plumb.Document(t, "stack", text, &doc)
	s := new(stack.Stack)
	if err := json.Unmarshal(doc.Stack, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// check wants of each rule what it is to say.
func (at moment) check(t *testing.T, rules *rule.Base, s *stack.Stack) {
	t.Helper()
	said := map[string][]rule.Evaluation{}
	for _, v := range rules.Judge(s) {
		said[v.Rule.ID] = append(said[v.Rule.ID], v)
	}
	for _, id := range slices.Concat(at.fires, at.quiet) {
		if rules.Rule(id) == nil {
			t.Errorf("there is no rule %s", id)
		}
	}
	for _, id := range at.fires {
		if !slices.ContainsFunc(said[id], func(v rule.Evaluation) bool { return v.Outcome == rule.Fires }) {
			t.Errorf("%s does not fire%s", id, list(said[id]))
		}
	}
	for _, id := range at.quiet {
		if slices.ContainsFunc(said[id], func(v rule.Evaluation) bool { return v.Outcome != rule.Quiet }) {
			t.Errorf("%s is not quiet%s", id, list(said[id]))
		}
	}
}

// list tells what a rule said, and what it did not know.
func list(all []rule.Evaluation) (text string) {
	for _, v := range all {
		text += fmt.Sprintf("\n  %v: %v, %v, missing %v", v.Things, v.Outcome, v.Evidence, v.Missing)
	}
	return text
}
