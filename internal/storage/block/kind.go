package block

import (
	"context"
	"strings"

	"plumb/internal/stack"
)

// identity is what a disk says of itself, and how it is attached.
type identity struct {
	Model, Vendor string
	Transport     string // nvme, virtio, scsi, ata, mmc, xen, hyperv, usb, none
	Remote        bool   // it is a volume of an array behind a storage network
	Rotational    *bool  // what the driver says
}

// verdict is what an identity means. Nil and "" are unknown.
type verdict struct {
	Virtual    *bool
	SolidState *bool
	Cloud      string
}

// kind records model, transport and what they mean, for whole disks.
func (d *device) kind(ctx context.Context, layer string) {
	if layer != "disk" {
		return
	}
	id := identity{Transport: transport(d.real), Remote: remote(d.real)}
	d.set(ctx, "model", "device/model")
	if id.Transport != "virtio" && id.Transport != "nvme" { // there the file holds a PCI number
		d.set(ctx, "vendor", "device/vendor")
	}
	d.thing.Set("transport", stack.Text(id.Transport), d.dir)
	id.Model, id.Vendor = d.thing.Text("model"), d.thing.Text("vendor")
	if r, ok := d.thing.Bool("rotational"); ok {
		id.Rotational = &r
	}
	v := classify(id)
	from := "model and transport"
	if v.Virtual != nil {
		d.thing.Set("virtual_disk", stack.Bool(*v.Virtual), from)
	} else {
		d.obs.Gap(d.thing.Ref, "model and transport do not say whether a hypervisor provides the disk", "", "virtual_disk")
	}
	switch {
	case v.SolidState != nil:
		d.thing.Set("solid_state", stack.Bool(*v.SolidState), from)
	case v.Virtual != nil && *v.Virtual:
		d.obs.Gap(d.thing.Ref, "a virtual disk does not say what it is made of", "", "solid_state")
	default:
		d.obs.Gap(d.thing.Ref, "behind a RAID controller, a storage network or an unknown driver, rotational says little", "", "solid_state")
	}
	if v.Cloud != "" {
		d.thing.Set("cloud_volume", stack.Text(v.Cloud), from)
	} else {
		d.thing.SetAbsent("cloud_volume", from)
	}
}

// transport tells how a disk is attached from its place in the device tree.
func transport(real string) string {
	in := func(part string) bool { return strings.Contains(real, "/"+part) }
	switch {
	case in("nvme"):
		return "nvme"
	case in("usb"):
		return "usb"
	case in("vmbus") || strings.Contains(real, "VMBUS"):
		return "hyperv"
	case in("virtio"):
		return "virtio"
	case in("vbd-"):
		return "xen"
	case in("ata"):
		return "ata"
	case in("mmc"):
		return "mmc"
	case in("host") && in("target"):
		return "scsi"
	}
	return "none"
}

// remote tells an iSCSI session or a remote port of Fibre Channel by the place
// in the device tree. What is behind it is an array, whose volumes report what
// its firmware likes, as those of a RAID controller do.
func remote(real string) bool {
	return strings.Contains(real, "/session") || strings.Contains(real, "/rport-")
}

// clouds names volumes by model, exactly or by its beginning. solid: true where
// the kind is always flash. EBS, Azure and GCP sell disks with and without
// moving parts under one model.
var clouds = []struct {
	model, vendor string
	exact         bool
	cloud         string
	solid         bool
}{
	{model: "Amazon Elastic Block Store", cloud: "ebs"},
	{model: "Amazon EC2 NVMe Instance Storage", cloud: "ec2-instance-store", solid: true},
	{model: "MSFT NVMe Accelerator", cloud: "azure-disk"},
	{model: "Microsoft NVMe Direct Disk", cloud: "azure-local", solid: true},
	{model: "nvme_card-pd", exact: true, cloud: "gcp-pd"},
	{model: "nvme_card", cloud: "gcp-local", solid: true},
	{model: "PersistentDisk", vendor: "Google", cloud: "gcp-pd"},
	{model: "EphemeralDisk", vendor: "Google", cloud: "gcp-local", solid: true},
}

// hypervisors are models and vendors of disks that a hypervisor provides.
var hypervisors = []string{"QEMU", "VMware", "VBOX", "Virtual disk", "Virtual Disk", "Virtual HD", "VIRTUAL-DISK", "Msft", "Xen", "Google", "BHYVE", "Parallels", "Nutanix"}

// controllers are vendors of hardware RAID, whose volumes report what the
// firmware likes.
var controllers = []string{"DELL", "PERC", "LSI", "AVAGO", "BROADCOM", "MegaRAID", "Adaptec", "ASR", "HP", "HPE", "SMART", "IBM", "ServeRAID", "Lenovo", "INSPUR", "AMCC", "3ware", "Areca"}

// classify judges by the model first: a cloud's local NVMe is real hardware
// passed through, and its volumes are not.
func classify(id identity) verdict {
	yes, no := true, false
	for _, c := range clouds {
		match := strings.HasPrefix(id.Model, c.model) && (!c.exact || id.Model == c.model)
		if match && (c.vendor == "" || c.vendor == id.Vendor) {
			v := verdict{Virtual: &yes, Cloud: c.cloud}
			if c.solid {
				v.SolidState = &yes
			}
			return v
		}
	}
	if id.Vendor == "Msft" && strings.HasPrefix(id.Model, "Virtual Disk") && id.Transport == "hyperv" {
		// Azure or a Hyper-V of one's own: the same words. Which, only the host's facts tell.
		return verdict{Virtual: &yes}
	}
	if id.Transport == "virtio" || id.Transport == "xen" || id.Transport == "hyperv" || startsWithAny(id, hypervisors) {
		return verdict{Virtual: &yes}
	}
	return physical(id, &yes, &no)
}

func physical(id identity, yes, no *bool) verdict {
	switch {
	case id.Transport == "nvme" && id.Model != "":
		return verdict{Virtual: no, SolidState: yes}
	case id.Transport == "none" || id.Rotational == nil || id.Model == "":
		return verdict{}
	case !*id.Rotational:
		return verdict{Virtual: no, SolidState: yes}
	case id.Transport == "scsi" && (id.Remote || startsWithAny(id, controllers)):
		return verdict{Virtual: no}
	case id.Transport == "ata" || id.Transport == "scsi":
		return verdict{Virtual: no, SolidState: no}
	}
	return verdict{Virtual: no}
}

func startsWithAny(id identity, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(id.Model, w) || strings.HasPrefix(id.Vendor, w) {
			return true
		}
	}
	return false
}
