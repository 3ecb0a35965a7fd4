package zfs

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsOfPoints(t *testing.T) {
	facts := map[string]string{"org.plumb:b": "two words", "org.plumb:a": "1"}
	for want, argv := range map[string][]string{
		"zfs snapshot -o org.plumb:a=1 -o org.plumb:b=two words t/a@p t/b@p": TakeSnapshots(facts, "t/a@p", "t/b@p"),
		"zfs snapshot -r t@p":                  TakeSnapshotsBelow(nil, "t@p"),
		"zfs list -H -r -t snapshot -o name t": SnapshotsBelow("t"),
		"zfs send -nvP -L -c -i t#b t@p":       Estimate([]string{"zfs", "send", "-L", "-c", "-i", "t#b", "t@p"}),
		"-L -c":                                AsStored(false),
		"-L -c -w":                             AsStored(true),
		"zfs list -H -r -t filesystem,volume -o name,origin t": Origins("t"),
		"zfs allow t":                            Granted("t"),
		"zfs list -H -d 1 -t bookmark -o name t": BookmarksOf("t"),
		"zpool sync t":                           SyncPool("t"),
		"zfs promote t/c":                        Promote("t/c"),
		"zfs get -Hp -o name,property,value guid,createtxg,creation,userrefs,used,clones,a:b t@p": Tools{}.Proofs("a:b", "t@p"),
		"zfs get -Hp -o name,property,value guid,createtxg,creation,userrefs,used,a:b t@p":        Tools{Fuse: true}.Proofs("a:b", "t@p"),
	} {
		if got := strings.Join(argv, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Typed from print_fs_perms of OpenZFS's zfs_main.c.
func TestOwnRights(t *testing.T) {
	const above = "---- Permissions on tank/db --------------------------------------------\nLocal+Descendent permissions:\n\tuser plumb snapshot,userprop\n"
	const own = "---- Permissions on tank/db/data ---------------------------------------\nLocal permissions:\n\teveryone mount\n"
	for text, want := range map[string]bool{"": false, above: false, own + above: true, above + own: true} {
		if got := OwnRights([]byte(text), "tank/db/data"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseProofs(t *testing.T) {
	const good = "t@p\tguid\t15903956383140518150\nt@p\tcreatetxg\t24\nt@p\tuserrefs\t1\nt@p\tused\t0\nt@p\tclones\tt/a,t/b c\nt@p\ta:b\tx\n"
	got, err := ParseProofs([]byte(good))
	if diff := cmp.Diff(map[string]Proof{"t@p": {GUID: "15903956383140518150", Birth: "24", Holds: 1, Clones: []string{"t/a", "t/b c"}, User: "x"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for what, text := range map[string]string{
		"cut":             strings.TrimSuffix(good, "\n"),
		"another line":    good + "cannot open\n",
		"no number":       strings.Replace(good, "userrefs\t1", "userrefs\tmany", 1),
		"without a guid":  strings.Replace(good, "guid\t15903956383140518150", "guid\t-", 1),
		"without a birth": "t@p\tguid\t1\n",
	} {
		if got, err := ParseProofs([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", what, got)
		}
	}
}

// A GUID above 2^63 is negative in a channel program.
func TestDestroyProven(t *testing.T) {
	argv, program, err := DestroyProven("t", Doomed{"t/a@p", "15903956383140518150", "24"}, Doomed{"t/b@p", "7", "24"})
	if got, want := strings.Join(argv, " "), "zfs program -j t - t/a@p =-2542787690569033466 =24 t/b@p =7 =24"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if check, destroy := strings.Index(program, "zfs.check.destroy"), strings.Index(program, "zfs.sync.destroy"); check < 0 || destroy < check {
		t.Error("it destroys before it has checked all")
	}
	for _, bad := range []Doomed{{"t/a@p", "", "24"}, {"t/a@p", "7", ""}, {"other/a@p", "7", "24"}, {"t/a@p", "-", "24"}} {
		if argv, _, err := DestroyProven("t", bad); err == nil {
			t.Errorf("%v: %v", bad, argv)
		}
	}
	wrong, err := ParseDestroyed([]byte(`{"return":{"wrong":{"t/a@p":"it is held"}}}`))
	if err != nil || wrong["t/a@p"] != "it is held" {
		t.Error(wrong, err)
	}
	if wrong, err = ParseDestroyed([]byte("{\"return\":{\"wrong\":{}}}\n")); err != nil || len(wrong) > 0 {
		t.Error(wrong, err)
	}
	for _, text := range []string{"", "{}", "[]", `{"error":"x"}`, `{"return":5}`} {
		if _, err := ParseDestroyed([]byte(text)); err == nil {
			t.Errorf("%q was read as done", text)
		}
	}
}

func FuzzParseProofs(f *testing.F) {
	f.Add([]byte("t@p\tguid\t1\nt@p\tcreatetxg\t24\nt@p\tuserrefs\t1\nt@p\tused\t0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, _ := ParseProofs(text)
		for name, p := range all {
			if _, _, err := DestroyProven(PoolOf(name), Doomed{name, p.GUID, "1"}); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

func FuzzParseDestroyed(f *testing.F) {
	f.Add([]byte(`{"return":{"wrong":{"t/a@p":"it is held"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if wrong, err := ParseDestroyed(text); err != nil && wrong != nil {
			t.Errorf("%v and %v", wrong, err)
		}
	})
}

// TestParseMoments relies on a snapshot being better than its bookmark, whichever is told first:
// only a snapshot can be sent in full.
func TestParseMoments(t *testing.T) {
	const text = "t/a\t1\nt/a#kept\t2\nt/a@p\t2\nt/a@q\t3\nt/a#q\t3\nt/a#gone\t4\nt/ab@p\t5\nt/a@r\t-\n"
	want := map[string]string{"2": "t/a@p", "3": "t/a@q", "4": "t/a#gone"}
	if got := ParseMoments([]byte(text), "t/a"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParseMoments(f *testing.F) {
	f.Add([]byte("t/a@p\t2\nt/a#q\t3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for guid, moment := range ParseMoments(text, "t/a") {
			if guid == "" || !strings.HasPrefix(moment, "t/a@") && !strings.HasPrefix(moment, "t/a#") {
				t.Errorf("%q has the GUID %q", moment, guid)
			}
		}
	})
}
