package filesystem

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The files are of a machine with Linux 6.18, e2fsprogs 1.47 and xfsprogs 6.1.
//
//go:embed testdata
var captured embed.FS

func text(t testing.TB, name string) []byte {
	t.Helper()
	data, err := captured.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseExt4Options(t *testing.T) {
	o := parseExt4Options(text(t, "ext4_options.txt"))
	if o.DataMode != "ordered" || o.Barrier == nil || !*o.Barrier || o.Delalloc == nil || !*o.Delalloc {
		t.Errorf("%+v", o)
	}
	if o := parseExt4Options(text(t, "ext4_options_no_journal.txt")); o.DataMode != "" {
		t.Errorf("a filesystem without a journal has mode %q", o.DataMode)
	}
	if o := parseExt4Options([]byte("rw\nnobarrier\ndata=journal\nnodelalloc\n")); *o.Barrier || o.DataMode != "journal" || *o.Delalloc {
		t.Errorf("%+v", o)
	}
	if o := parseExt4Options(nil); o.Barrier != nil {
		t.Error("an empty file says something of barriers")
	}
}

func TestParseSuperblock(t *testing.T) {
	s := parseSuperblock(text(t, "dumpe2fs.txt"))
	if s.BlockSize != 4096 || s.ClusterSize != 0 || !slices.Contains(s.Features, "has_journal") {
		t.Errorf("%+v", s)
	}
	s = parseSuperblock(text(t, "dumpe2fs_bigalloc.txt"))
	if s.ClusterSize != 16384 || !slices.Contains(s.Features, "bigalloc") {
		t.Errorf("%+v", s)
	}
}

func TestParseXFSInfo(t *testing.T) {
	g, err := parseGeometry(text(t, "xfs_info.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if g.BlockSize != 4096 || g.CRC == nil || !*g.CRC || g.Reflink == nil || !*g.Reflink || !slices.Contains(g.Features, "bigtime") {
		t.Errorf("%+v", g)
	}
	// CentOS 7, as its manual page shows it: no reflink to speak of.
	g, err = parseGeometry([]byte(`meta-data=/dev/sda1 isize=256 agcount=4, agsize=1 blks
         =                       sectsz=512   attr=2, projid32bit=1
         =                       crc=0        finobt=0 spinodes=0
data     =                       bsize=4096   blocks=52, imaxpct=25
naming   =version 2              bsize=8192   ascii-ci=0 ftype=0
`))
	if err != nil || g.BlockSize != 4096 || g.CRC == nil || *g.CRC || g.Reflink != nil {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := parseGeometry([]byte("xfs_info: /srv is not a mounted XFS filesystem\n")); err == nil {
		t.Error("no error for no answer")
	}
}

func TestParseErrorStats(t *testing.T) {
	if n := parseErrorStats(text(t, "btrfs_error_stats.txt")); n != 0 {
		t.Errorf("%d errors on a clean filesystem", n)
	}
	if n := parseErrorStats([]byte("write_errs 2\nread_errs 1\nflush_errs 0\ncorruption_errs 4\nnonsense 9\n")); n != 7 {
		t.Errorf("%d errors, want 7", n)
	}
}

const fstabText = `# /etc/fstab
UUID=1 / ext4 errors=remount-ro 0 1
LABEL=db	/srv/my\040data  xfs noatime,nobarrier
/dev/sdb1 none swap
broken
/dev/sdc1 /plain
`

func TestParseFstab(t *testing.T) {
	got := parseFstab([]byte(fstabText))
	if len(got) != 4 {
		t.Fatalf("%d entries: %+v", len(got), got)
	}
	if e := got[1]; e.Point != "/srv/my data" || e.Line != 3 || !slices.Equal(e.Options, []string{"noatime", "nobarrier"}) {
		t.Errorf("%+v", e)
	}
	if e := got[3]; e.Type != "auto" || !slices.Equal(e.Options, []string{"defaults"}) {
		t.Errorf("%+v", e)
	}
}

func TestCompression(t *testing.T) {
	for options, want := range map[string]string{"rw,compress=zstd:3": "zstd:3", "rw,compress-force=lzo": "lzo", "rw,compress=no": "", "rw": ""} {
		if got := compression(strings.Split(options, ",")); got != want {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

const mountsText = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 27 0:21 / /proc rw,relatime - proc proc rw
47 27 7:1 / /srv/my\040data rw,noatime - xfs /dev/mapper/vg-my rw,inode64,logbufs=8
48 27 7:9 / /snap/core/1 ro - squashfs /dev/loop9 ro
49 27 0:50 / /mnt/dead rw,relatime - nfs4 filer:/db rw,vers=4.2,soft
50 27 0:44 / /b rw,relatime - btrfs /dev/loop3 rw,compress=zstd:3,subvol=/
51 27 0:27 / /dev/shm rw - tmpfs tmpfs rw
52 50 7:2 / /b rw - xfs /dev/loop4 rw
`

func machine() hosttest.Map {
	return hosttest.Map{
		Who: host.About{Root: true},
		Files: map[string]string{
			"/proc/self/mountinfo":          mountsText,
			"/etc/fstab":                    fstabText,
			"/proc/fs/ext4/vda/options":     "rw\nbarrier\ndata=ordered\ndelalloc\n",
			"/sys/fs/ext4/vda/errors_count": "2\n",
		},
		Links:   map[string]string{"/sys/dev/block/254:0": "../../devices/virtio1/block/vda"},
		Spaces:  map[string]host.Statfs{"/": {BlockSize: 4096, TotalBytes: 1000, FreeBytes: 500, AvailBytes: 400, TotalInodes: 10, FreeInodes: 4}},
		Outputs: map[string]string{"dumpe2fs -h /dev/vda": "Filesystem features:      has_journal extent\nBlock size:               4096\n"},
		Errors:  map[string]error{"statfs /mnt/dead": context.DeadlineExceeded, "run xfs_spaceman -c info /srv/my data": fs.ErrPermission},
	}
}

func TestLook(t *testing.T) {
	obs, err := Probe{}.Collect(context.Background(), machine(), &stack.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	s.Add("filesystem", obs)
	var names []string
	for _, f := range s.OfKind("filesystem") {
		names = append(names, f.Ref.Name)
	}
	if want := []string{"/", "/b", "/mnt/dead", "/srv/my data"}; !slices.Equal(names, want) {
		t.Fatalf("filesystems %q, want %q", names, want)
	}
	get := func(name string) *stack.Thing { return s.Find(stack.Ref{Kind: "filesystem", Name: name}) }
	if fstype := get("/b").Text("fstype"); fstype != "xfs" {
		t.Errorf("/b is %s: the mount below was taken", fstype)
	}
	root := get("/")
	if used, _ := root.Number("used_percent"); used < 55.5 || used > 55.6 { // 500 of 900
		t.Errorf("used %v", used)
	}
	if n, _ := root.Int("errors_seen"); n != 2 {
		t.Errorf("errors_seen %d", n)
	}
	if n, _ := root.Int("cluster_size"); n != 4096 {
		t.Errorf("cluster_size %d", n)
	}
	v, _ := get("/srv/my data").Get("fstab_options")
	if o, _ := v.List(); !slices.Contains(o, "nobarrier") {
		t.Errorf("fstab options %v", o)
	}
	for _, want := range []struct{ name, fact, hint string }{
		{"/mnt/dead", "used_percent", "dead NFS server"},
		{"/mnt/dead", "inodes_free", "dead NFS server"},
		{"/srv/my data", "xfs_crc", "root"},
	} {
		g, ok := s.GapFor(get(want.name).Ref, want.fact)
		if !ok || !strings.Contains(g.Hint, want.hint) {
			t.Errorf("%s of %s: gap %+v", want.fact, want.name, g)
		}
	}
	if f := get("/srv/my data").Facts["barrier"]; !f.Value.IsAbsent() {
		t.Error("XFS has a barrier option")
	}
}

func TestBtrfsProfiles(t *testing.T) {
	h := machine()
	h.Files["/proc/self/mountinfo"] = "50 27 0:44 / /b rw,relatime - btrfs /dev/loop3 rw,subvol=/\n"
	const dir = "/sys/fs/btrfs/0b5c/"
	for _, f := range []string{"devices/loop3", "allocation/data/raid1", "allocation/data/bytes_used", "allocation/metadata/raid6", "allocation/metadata/raid1c3", "allocation/metadata/flags"} {
		h.Files[dir+f] = ""
	}
	obs, _ := Probe{}.Collect(context.Background(), h, &stack.Stack{})
	b := obs.Things[0]
	if data, meta := b.Text("data_profile"), b.Text("metadata_profile"); data != "raid1" || meta != "raid1c3,raid6" {
		t.Errorf("data %q, metadata %q; gaps %v", data, meta, obs.Gaps)
	}
}

func TestManyMounts(t *testing.T) {
	var b strings.Builder
	for i := range mountLimit + 5 {
		fmt.Fprintf(&b, "%d 1 8:%d / /m%d rw,relatime - xfs /dev/sd%d rw\n", i+2, i, i, i)
	}
	h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": b.String()}}
	obs, _ := Probe{}.Collect(context.Background(), h, &stack.Stack{})
	if len(obs.Things) != mountLimit {
		t.Errorf("%d filesystems, want %d", len(obs.Things), mountLimit)
	}
	if !slices.ContainsFunc(obs.Gaps, func(g stack.Gap) bool { return strings.Contains(g.Why, "only the first") }) {
		t.Error("nothing says that mounts were cut")
	}
}

func FuzzParsers(f *testing.F) {
	for _, name := range []string{"ext4_options.txt", "dumpe2fs.txt", "dumpe2fs_bigalloc.txt", "xfs_info.txt", "btrfs_error_stats.txt"} {
		f.Add(text(f, name))
	}
	f.Add([]byte(fstabText))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseExt4Options(data)
		parseSuperblock(data)
		if g, err := parseGeometry(data); err == nil && g.BlockSize <= 0 {
			t.Error("no error without a block size")
		}
		if parseErrorStats(data) < 0 {
			t.Error("fewer than no errors")
		}
		for _, e := range parseFstab(data) {
			if e.Line < 1 {
				t.Error("line 0")
			}
		}
	})
}
