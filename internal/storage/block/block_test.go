package block

import (
	"context"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

func TestMapperLayer(t *testing.T) {
	for uuid, want := range map[string]string{
		"LVM-ZyFwS5eXmqVwWqCeLr0bq5Oe8bJzrfDqfPEVGZtZ1TQ1DjVdB1TmmU6n0OZMwXq3": "lvm",
		"CRYPT-LUKS2-1c5b0f6e7d2f4c4f9d8d3c0e2b1a0f9e-luks":                    "crypt",
		"mpath-3600508b400105e210000900000490000":                              "multipath",
		"part1-mpath-3600508b400105e210000900000490000":                        "partition",
		"": "dm",
	} {
		if got := mapperLayer(uuid); got != want {
			t.Errorf("mapperLayer(%q) = %s, want %s", uuid, got, want)
		}
	}
}

func TestParentOf(t *testing.T) {
	for _, c := range []struct{ real, name, want string }{
		{"../../devices/pci0000:00/0000:00:02.0/virtio1/block/vda/vda1", "vda1", "vda"},
		{"../../devices/pci0000:00/0000:00:04.0/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2", "nvme0n1p2", "nvme0n1"},
		{"../../devices/virtual/block/loop0", "loop0", ""},
		{"", "sda1", ""},
		{"../../devices/x/block/vda/vda1", "vda2", ""},
	} {
		if got := parentOf(c.real, c.name); got != c.want {
			t.Errorf("parentOf(%q, %q) = %q, want %q", c.real, c.name, got, c.want)
		}
	}
}

func TestTransport(t *testing.T) {
	for real, want := range map[string]string{
		"../../devices/pci0000:00/0000:00:02.0/virtio1/block/vda":                                                  "virtio",
		"../../devices/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:1/2:0:1:0/block/sda":                        "virtio",
		"../../devices/pci0000:00/0000:00:04.0/0000:01:00.0/nvme/nvme0/nvme0n1":                                    "nvme",
		"../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1":                                                "nvme",
		"../../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda":                           "ata",
		"../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/host0/target0:2:0/0:2:0:0/block/sda":                   "scsi",
		"../../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/0000-1111/host1/target1:0:1/1:0:1:0/block/sdb": "hyperv",
		"../../devices/vbd-51712/block/xvda":                                                                       "xen",
		"../../devices/virtual/block/loop0":                                                                        "none",
		"":                                                                                                         "none",
	} {
		if got := transport(real); got != want {
			t.Errorf("transport(%q) = %s, want %s", real, got, want)
		}
	}
}

func TestRemote(t *testing.T) {
	for real, want := range map[string]bool{
		"/sys/devices/platform/host3/session1/target3:0:0/3:0:0:0/block/sdb":                                            true,
		"/sys/devices/pci0000:00/0000:00:03.0/0000:05:00.0/host1/rport-1:0-0/target1:0:0/1:0:0:0/block/sdc":             true,
		"/sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda": false,
		"/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda":                                 false,
	} {
		if got := remote(real); got != want {
			t.Errorf("remote(%q) = %v", real, got)
		}
	}
}

func TestClassify(t *testing.T) {
	yes, no := true, false
	show := func(b *bool) string {
		switch {
		case b == nil:
			return "?"
		case *b:
			return "yes"
		}
		return "no"
	}
	for name, c := range map[string]struct {
		id                    identity
		virtual, solid, cloud string
	}{
		"ebs":             {identity{Model: "Amazon Elastic Block Store", Transport: "nvme", Rotational: &no}, "yes", "?", "ebs"},
		"instance_store":  {identity{Model: "Amazon EC2 NVMe Instance Storage", Transport: "nvme", Rotational: &no}, "yes", "yes", "ec2-instance-store"},
		"azure_nvme":      {identity{Model: "MSFT NVMe Accelerator v1.0", Transport: "nvme", Rotational: &no}, "yes", "?", "azure-disk"},
		"azure_local":     {identity{Model: "Microsoft NVMe Direct Disk v2", Transport: "nvme", Rotational: &no}, "yes", "yes", "azure-local"},
		"hyperv":          {identity{Model: "Virtual Disk", Vendor: "Msft", Transport: "hyperv", Rotational: &yes}, "yes", "?", ""},
		"gcp_pd_nvme":     {identity{Model: "nvme_card-pd", Transport: "nvme", Rotational: &no}, "yes", "?", "gcp-pd"},
		"gcp_local":       {identity{Model: "nvme_card0", Transport: "nvme", Rotational: &no}, "yes", "yes", "gcp-local"},
		"gcp_pd_scsi":     {identity{Model: "PersistentDisk", Vendor: "Google", Transport: "virtio", Rotational: &yes}, "yes", "?", "gcp-pd"},
		"virtio":          {identity{Transport: "virtio", Rotational: &yes}, "yes", "?", ""},
		"qemu_ide":        {identity{Model: "QEMU HARDDISK", Vendor: "ATA", Transport: "ata", Rotational: &yes}, "yes", "?", ""},
		"vmware":          {identity{Model: "Virtual disk", Vendor: "VMware", Transport: "scsi", Rotational: &yes}, "yes", "?", ""},
		"real_nvme":       {identity{Model: "INTEL SSDPEDMW800G4", Transport: "nvme", Rotational: &no}, "no", "yes", ""},
		"sata_ssd":        {identity{Model: "Samsung SSD 860", Vendor: "ATA", Transport: "ata", Rotational: &no}, "no", "yes", ""},
		"sata_disk":       {identity{Model: "WDC WD40EFRX-68W", Vendor: "ATA", Transport: "ata", Rotational: &yes}, "no", "no", ""},
		"raid_controller": {identity{Model: "PERC H730 Mini", Vendor: "DELL", Transport: "scsi", Rotational: &yes}, "no", "?", ""},
		"array":           {identity{Model: "LUN C-Mode", Vendor: "NETAPP", Transport: "scsi", Remote: true, Rotational: &yes}, "no", "?", ""},
		"flash_array":     {identity{Model: "FlashArray", Vendor: "PURE", Transport: "scsi", Remote: true, Rotational: &no}, "no", "yes", ""},
		"sas_disk":        {identity{Model: "ST4000NM0025", Vendor: "SEAGATE", Transport: "scsi", Rotational: &yes}, "no", "no", ""},
		"nothing":         {identity{Transport: "none"}, "?", "?", ""},
	} {
		v := classify(c.id)
		if show(v.Virtual) != c.virtual || show(v.SolidState) != c.solid || v.Cloud != c.cloud {
			t.Errorf("%s: virtual %s, solid %s, cloud %q; want %s, %s, %q", name,
				show(v.Virtual), show(v.SolidState), v.Cloud, c.virtual, c.solid, c.cloud)
		}
	}
}

func TestAveragesOfALifetime(t *testing.T) {
	thing := stack.NewThing("block", "vda")
	setCounters(thing, proc.Disk{Reads: 51725, ReadMillis: 36922})
	if ms, ok := thing.Number("read_ms_lifetime"); !ok || ms < 0.7 || ms > 0.72 {
		t.Errorf("read_ms_lifetime = %v, %v", ms, ok)
	}
	few := stack.NewThing("block", "sda1")
	setCounters(few, proc.Disk{Reads: 10, ReadMillis: 40})
	if _, known := few.Number("read_ms_lifetime"); known {
		t.Error("an average of ten reads was given")
	}
}

const smartLog = `{"critical_warning":0,"temperature":313,"avail_spare":100,"spare_thresh":10,"percent_used":2,
"data_units_read":"1234567","data_units_written":8.5e7,"media_errors":0,"num_err_log_entries":0,"unsafe_shutdowns":17}`

const smartLogVerbose = `{"critical_warning":{"value":16,"available_spare":0,"volatile_mem_bkup_failed":1},"temperature":320,"avail_spare":99,"spare_thresh":5,"percent_used":103,"media_errors":2}`

const smartctlJSON = `{"json_format_version":[1,0],"nvme_smart_health_information_log":{"critical_warning":0,"temperature":36,"available_spare":100,"available_spare_threshold":10,"percentage_used":3,"data_units_written":1000,"media_errors":0,"unsafe_shutdowns":5}}`

func TestHealth(t *testing.T) {
	facts := func(h Health) *stack.Thing {
		t := stack.NewThing("block", "nvme0n1")
		h.set(t, "nvme smart-log")
		return t
	}
	h, err := parseSmartLog([]byte(smartLog))
	if err != nil {
		t.Fatal(err)
	}
	one := facts(h)
	for fact, want := range map[string]float64{"nvme_temperature": 40, "nvme_spare": 100, "nvme_used": 2, "nvme_written": 8.5e7 * 512000, "nvme_read": 1234567 * 512000, "nvme_unsafe_shutdowns": 17, "nvme_critical_warning": 0} {
		if got, ok := one.Number(fact); !ok || got != want {
			t.Errorf("%s = %v, %v; want %v", fact, got, ok, want)
		}
	}
	if h, err = parseSmartLog([]byte(smartLogVerbose)); err != nil {
		t.Fatal(err)
	}
	two := facts(h)
	if w, _ := two.Int("nvme_critical_warning"); w != 16 {
		t.Errorf("critical_warning object: %d, want 16", w)
	}
	if _, known := two.Facts["nvme_written"]; known {
		t.Error("a field that was not there has a value")
	}
	if h, err = parseSmartctl([]byte(smartctlJSON)); err != nil {
		t.Fatal(err)
	}
	if c, _ := facts(h).Int("nvme_temperature"); c != 36 {
		t.Errorf("smartctl temperature %d, want 36", c)
	}
	for _, bad := range []string{"", "{}", "[]", "null", `{"nvme_smart_health_information_log":null}`} {
		if _, err := parseSmartLog([]byte(bad)); err == nil {
			t.Errorf("ParseSmartLog(%q): no error", bad)
		}
		if _, err := parseSmartctl([]byte(bad)); err == nil {
			t.Errorf("ParseSmartctl(%q): no error", bad)
		}
	}
}

// lvmHost is made by hand after Documentation/ABI: a volume on a partition of
// an NVMe drive, a loop device without a file, a zvol and a hidden path.
func lvmHost() hosttest.Map {
	return hosttest.Map{
		Who: host.About{Root: true},
		Files: map[string]string{
			"/sys/class/block/nvme0n1/dev":                       "259:0\n",
			"/sys/class/block/nvme0n1/size":                      "2000\n",
			"/sys/class/block/nvme0n1/wwid":                      "eui.0025388b71b4d9c1\n",
			"/sys/class/block/nvme0n1/device/model":              "INTEL SSDPEDMW800G4       \n",
			"/sys/class/block/nvme0n1/queue/rotational":          "0\n",
			"/sys/class/block/nvme0n1/queue/scheduler":           "[none] mq-deadline\n",
			"/sys/class/block/nvme0n1/queue/read_ahead_kb":       "128\n",
			"/sys/class/block/nvme0n1/queue/physical_block_size": "4096\n",
			"/sys/class/block/nvme0n1/queue/discard_max_bytes":   "0\n",
			"/sys/class/block/nvme0n1/queue/wbt_lat_usec":        "what\n",
			"/sys/class/block/nvme0n1p1/dev":                     "259:1\n",
			"/sys/class/block/nvme0n1p1/partition":               "1\n",
			"/sys/class/block/nvme0n1p1/start":                   "2048\n",
			"/sys/class/block/dm-0/dev":                          "253:0\n",
			"/sys/class/block/dm-0/dm/uuid":                      "LVM-abc\n",
			"/sys/class/block/dm-0/dm/name":                      "vg-data\n",
			"/sys/class/block/dm-0/slaves/nvme0n1p1/dev":         "259:1\n",
			"/sys/class/block/loop0/dev":                         "7:0\n",
			"/sys/class/block/zd16/dev":                          "230:16\n",
			"/sys/class/block/ram0/dev":                          "1:0\n",
			"/sys/class/block/sr0/dev":                           "11:0\n",
			"/sys/class/block/nvme0c0n1/hidden":                  "1\n",
			"/proc/diskstats":                                    "   8       0 sda 1 0 8 4 2 0 16 4 0 44 44\n",
		},
		Links: map[string]string{
			"/sys/class/block/nvme0n1":   "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
			"/sys/class/block/nvme0n1p1": "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1",
			"/sys/class/block/dm-0":      "../../devices/virtual/block/dm-0",
			"/sys/class/block/zd16":      "../../devices/virtual/block/zd16",
			"/dev/zvol/tank/vm/disk0":    "../../../zd16",
		},
		Outputs: map[string]string{"nvme smart-log -o json /dev/nvme0n1": smartLog},
	}
}

func TestLook(t *testing.T) {
	obs, err := NewProbe(hosttest.Catalog(t)).Collect(context.Background(), lvmHost(), &stack.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	s.Add("block", obs)
	var names []string
	for _, b := range s.OfKind("block") {
		names = append(names, b.Ref.Name)
	}
	if want := []string{"dm-0", "nvme0n1", "nvme0n1p1", "ram0", "zd16"}; !slices.Equal(names, want) {
		t.Fatalf("devices %v, want %v", names, want)
	}
	get := func(name string) *stack.Thing { return s.Find(stack.Ref{Kind: "block", Name: name}) }
	if on := get("dm-0").Links["on"]; len(on) != 1 || on[0].Name != "nvme0n1p1" {
		t.Errorf("dm-0 lies on %v", on)
	}
	if on := get("nvme0n1p1").Links["on"]; len(on) != 1 || on[0].Name != "nvme0n1" {
		t.Errorf("nvme0n1p1 lies on %v", on)
	}
	if ds := get("zd16").Links["dataset"]; len(ds) != 1 || ds[0].Name != "tank/vm/disk0" {
		t.Errorf("zd16 is of %v", ds)
	}
	drive := get("nvme0n1")
	for name, want := range map[string]string{"dm-0": "lvm", "ram0": "ram"} {
		if layer := get(name).Text("layer"); layer != want {
			t.Errorf("%s is %s", name, layer)
		}
	}
	for name, want := range map[string]string{"nvme0n1": "eui.0025388b71b4d9c1", "nvme0n1p1": "eui.0025388b71b4d9c1 p1", "dm-0": "LVM-abc"} {
		if id := get(name).Text("wwid"); id != want {
			t.Errorf("%s is %q, want %q", name, id, want)
		}
	}
	if f := get("ram0").Facts["wwid"]; !f.Value.IsAbsent() {
		t.Errorf("ram0 says it is %v", f.Value)
	}
	if n, _ := get("nvme0n1p1").Int("read_ahead_kb"); n != 128 {
		t.Errorf("read-ahead of the partition is %d, want its disk's", n)
	}
	if n, _ := drive.Int("size"); n != 1024000 {
		t.Errorf("size %d", n)
	}
	if d, known := drive.Bool("discard"); !known || d {
		t.Errorf("discard %v, %v", d, known)
	}
	if used, _ := drive.Number("nvme_used"); used != 2 {
		t.Errorf("nvme_used %v", used)
	}
	if f := drive.Facts["atomic_write_unit_max"]; !f.Value.IsAbsent() {
		t.Errorf("atomic_write_unit_max is %v on a kernel without it", f.Value)
	}
	if _, known := drive.Facts["wbt_lat_usec"]; known {
		t.Error("nonsense became a fact")
	}
	if g, ok := s.GapFor(drive.Ref, "wbt_lat_usec"); !ok || !strings.Contains(g.Why, "not understood") {
		t.Errorf("no gap says why wbt_lat_usec is unknown: %v", g)
	}
}

func TestManyDevices(t *testing.T) {
	files := map[string]string{}
	for i := range deviceLimit + 10 {
		files["/sys/class/block/zd"+strings.Repeat("1", i%7+1)+string(rune('a'+i%26))+strings.Repeat("x", i/26)+"/dev"] = "230:1"
	}
	h := hosttest.Map{Globs: map[string][]string{"/sys/class/block/*": slices.Collect(func(yield func(string) bool) {
		for name := range files {
			if !yield(strings.TrimSuffix(name, "/dev")) {
				return
			}
		}
	})}}
	obs, _ := NewProbe(hosttest.Catalog(t)).Collect(context.Background(), h, &stack.Stack{})
	cut := slices.ContainsFunc(obs.Gaps, func(g stack.Gap) bool { return strings.Contains(g.Why, "only the first 4096") })
	if len(files) > deviceLimit && !cut {
		t.Error("devices were cut and nothing says so")
	}
}

func FuzzHealth(f *testing.F) {
	f.Add([]byte(smartLog))
	f.Add([]byte(smartLogVerbose))
	f.Add([]byte(smartctlJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (Health, error){parseSmartLog, parseSmartctl} {
			if h, err := parse(data); err == nil {
				h.set(stack.NewThing("block", "x"), "fuzz")
			}
		}
	})
}

func FuzzAttributes(f *testing.F) {
	f.Add("none [mq-deadline] kyber", "../../devices/virtual/block/loop0", "LVM-abc")
	f.Fuzz(func(t *testing.T, text, real, uuid string) {
		transport(real)
		parentOf(real, "sda1")
		mapperLayer(uuid)
		yes := true
		classify(identity{Model: text, Vendor: uuid, Transport: transport(real), Rotational: &yes})
	})
}

// raid_disks_show of drivers/md/md.c writes both numbers during a reshape.
func TestWantedDisksDuringAReshape(t *testing.T) {
	for text, want := range map[string]stack.Value{"4": stack.Int(4), "11 (10)": stack.Int(11), "": {}, "11 (10": {}, "x (10)": {}} {
		d := device{h: hosttest.Map{Files: map[string]string{"/md/raid_disks": text + "\n"}}, catalog: hosttest.Catalog(t)}
		d.thing = d.obs.New("block", "md0")
		d.group(t.Context(), "/", "md/")
		if got, ok := d.thing.Get("md_disks"); ok != !want.IsAbsent() || !got.Equal(want) || ok == (len(d.obs.Gaps) > 0) {
			t.Errorf("%q = %v, %v; want %v; gaps %v", text, got, ok, want, d.obs.Gaps)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add([]byte("   8       0 sda 1 0 8 4 2 0 16 4 0 44 44\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, c := range proc.Diskstats(data) {
			setCounters(stack.NewThing("block", "x"), c)
		}
	})
}
