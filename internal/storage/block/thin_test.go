package block

import (
	"testing"

	"plumb/internal/stack"
)

// The lines are of the form the kernel's documentation gives.
const thinText = "vg-pool-tpool: 0 204800 thin-pool 1 141/1024 700/1600 - rw discard_passdown queue_if_no_space - 1024 \n" +
	"full: 0 131072 thin-pool 0 14/1024 1024/1024 - out_of_data_space discard_passdown error_if_no_space - 1024\n" +
	"broken: 0 131072 thin-pool 0 1024/1024 3/1024 - ro discard_passdown error_if_no_space needs_check 1024\n" +
	"dead: 0 131072 thin-pool Fail\n" +
	"vg-data: 0 8192 linear \nvg-thin: 0 8192 thin 4096 8191\n"

func TestParseThin(t *testing.T) {
	got := parseThin([]byte(thinText))
	want := map[string]Thin{
		"vg-pool-tpool": {Name: "vg-pool-tpool", Metadata: 141, MetadataAll: 1024, Data: 700, DataAll: 1600, Mode: "rw"},
		"full":          {Name: "full", Metadata: 14, MetadataAll: 1024, Data: 1024, DataAll: 1024, Mode: "out_of_data_space"},
		"broken":        {Name: "broken", Metadata: 1024, MetadataAll: 1024, Data: 3, DataAll: 1024, Mode: "ro", NeedsCheck: true},
		"dead":          {Name: "dead", Mode: "fail"},
	}
	if len(got) != len(want) {
		t.Errorf("%d pools, want %d: %+v", len(got), len(want), got)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %+v, want %+v", name, got[name], w)
		}
	}
	for _, text := range []string{"", "No devices found\n", "x: 0 1 thin-pool\n", "x: 0 1 thin-pool 1 a/b 1/2 - rw\n", "x: 0 1 thin-pool 1 1/0 1/2 - rw\n"} {
		if got := parseThin([]byte(text)); len(got) != 0 {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}

func TestThinFacts(t *testing.T) {
	for name, want := range map[string]stack.Value{"vg-pool-tpool": stack.Float(43.75), "vg-data": {}, "dead": {}} {
		d := device{}
		d.thing = d.obs.New("block", "dm-0")
		d.thing.Set("dm_name", stack.Text(name), "test")
		d.thin("lvm", parseThin([]byte(thinText)))
		f, known := d.thing.Facts["thin_data_used"]
		if known != (name != "dead") || !f.Value.Equal(want) {
			t.Errorf("%s: thin_data_used %v (known %v), want %v", name, f.Value, known, want)
		}
	}
	d := device{} // nobody could ask: that is not none
	d.thing = d.obs.New("block", "dm-0")
	d.thin("lvm", nil)
	if _, known := d.thing.Facts["thin_mode"]; known || len(d.obs.Gaps) != 1 {
		t.Errorf("facts %v, gaps %v", d.thing.Facts, d.obs.Gaps)
	}
}

// TestADiskIsNoThinPool, whoever asks and with whatever installed.
func TestADiskIsNoThinPool(t *testing.T) {
	d := device{}
	d.thing = d.obs.New("block", "vda")
	d.thin("disk", nil)
	if f, known := d.thing.Facts["thin_mode"]; !known || !f.Value.IsAbsent() || len(d.obs.Gaps) != 0 {
		t.Errorf("thin_mode %v (known %v), gaps %v", f.Value, known, d.obs.Gaps)
	}
}

func FuzzParseThin(f *testing.F) {
	f.Add([]byte(thinText))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, p := range parseThin(data) {
			d := device{}
			d.thing = d.obs.New("block", "dm-0")
			d.thing.Set("dm_name", stack.Text(name), "test")
			d.thin("lvm", map[string]Thin{name: p})
		}
	})
}
