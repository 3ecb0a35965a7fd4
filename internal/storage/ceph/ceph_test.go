package ceph

import (
	"testing"

	"plumb/internal/stack"
)

// The texts are of a cluster of Ceph 18, cut to what is read. The numbers were changed.
const (
	cephDump = `{"epoch":9,"flags":"noout,sortbitwise","flags_set":["noout","purged_snapdirs","sortbitwise"],"full_ratio":0.95,"nearfull_ratio":0.85,
		"pools":[{"pool":1,"pool_name":"db","type":1,"size":3,"min_size":1},{"pool":2,"pool_name":"ec","type":3,"size":6,"min_size":5}],
		"osds":[{"osd":0,"up":1,"in":1,"state":["exists","up"]},{"osd":1,"up":1,"in":1,"state":["exists","up","nearfull"]}]}`
	cephTree = `{"nodes":[{"id":-1,"type":"root","children":[-5,-3]},{"id":-3,"type":"host","children":[0]},{"id":0,"type":"osd","crush_weight":1},
		{"id":-5,"type":"host","children":[1,2]},{"id":1,"type":"osd","crush_weight":2},{"id":2,"type":"osd","crush_weight":1}],"stray":[]}`
	cephDF = `{"stats":{"total_bytes":4000,"total_avail_bytes":3000,"total_used_raw_bytes":1000}}`
)

func TestParse(t *testing.T) {
	c, err := parse([]byte(cephDump), []byte(cephTree), []byte(cephDF))
	if err != nil {
		t.Fatal(err)
	}
	left, ok := c.withoutHost()
	if c.Pools["db"] != (Pool{Size: 3, MinSize: 1}) || !c.Pools["ec"].Erasure || len(c.Flags) != 1 || c.Flags[0] != "noout" ||
		c.Full != 95 || c.NearFull != 1 || len(c.Hosts) != 2 || c.Used != 25 || !ok || left != 100 {
		t.Errorf("%+v, %v without the largest host", c, left)
	}
}

// TestAClusterThatTellsNothing is not one that is empty.
func TestAClusterThatTellsNothing(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"pools":[],"full_ratio":0.95}`, `{"pools":[{"pool_name":"db","type":1,"size":3,"min_size":2}]}`} {
		if c, err := parse([]byte(text), []byte(cephTree), []byte(cephDF)); err == nil {
			t.Errorf("%q was read as %+v", text, c)
		}
	}
	c, err := parse([]byte(cephDump), []byte(cephTree), []byte(`{"stats":{"total_bytes":0,"total_used_raw_bytes":0}}`))
	if err != nil || c.Used != -1 {
		t.Errorf("without a manager: %+v, %v", c, err)
	}
	if _, ok := c.withoutHost(); ok {
		t.Error("it is known how full a cluster without a manager would be")
	}
}

// TestTell has a pool that the cluster knows, and one that it does not: that image is of another.
func TestTell(t *testing.T) {
	c, err := parse([]byte(cephDump), []byte(cephTree), []byte(cephDF))
	if err != nil {
		t.Fatal(err)
	}
	for pool, want := range map[string]bool{"db": true, "other": false} {
		var obs stack.Observation
		image := obs.New("block", "rbd0")
		image.Set("ceph_pool", stack.Text(pool), "test")
		c.tell(image, &obs)
		if n, known := image.Int("ceph_copies"); known != want || want && n != 3 {
			t.Errorf("%s: %d copies (known %v)", pool, n, known)
		}
		if len(obs.Gaps) != 1 { // when it scrubs, or all
			t.Errorf("%s: gaps %v", pool, obs.Gaps)
		}
	}
}

func TestHours(t *testing.T) {
	for want, told := range map[string][2]string{"0-0": {"0\n", "0\n"}, "1-6": {"\"1\"", "6"}, "": {"", "6"}} {
		if got := hours([]byte(told[0]), []byte(told[1])); got != want {
			t.Errorf("%q gives %q", told, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(cephDump), []byte(cephTree), []byte(cephDF))
	f.Fuzz(func(t *testing.T, dump, tree, df []byte) {
		c, err := parse(dump, tree, df)
		if err != nil {
			return
		}
		if left, ok := c.withoutHost(); ok && (left < c.Used || stack.Float(left).IsAbsent()) {
			t.Errorf("%v used, %v without a host", c.Used, left)
		}
	})
}
