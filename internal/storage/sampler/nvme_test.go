package sampler

import (
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// TestWear has the answer of nvme typed: the machines of tests have no such drive.
func TestWear(t *testing.T) {
	s := &stack.Stack{}
	var o stack.Observation
	for name, virtual := range map[string]bool{"nvme0n1": false, "nvme1n1": true} {
		d := o.New("block", name)
		d.Set("layer", stack.Text("disk"), "test")
		d.Set("transport", stack.Text("nvme"), "test")
		d.Set("virtual_disk", stack.Bool(virtual), "test")
	}
	s.Add("block", o)
	sources := drives(s)
	if len(sources) != 1 {
		t.Fatalf("%d sources; a drive that a hypervisor made up has no wear", len(sources))
	}
	of := stack.Ref{Kind: "block", Name: "nvme0n1"}
	b := take(t, sources[0], hosttest.Map{Outputs: map[string]string{
		"nvme smart-log -o json /dev/nvme0n1": `{"critical_warning":0,"temperature":310,"avail_spare":100,"spare_thresh":10,"percent_used":7,"data_units_written":1000,"media_errors":0}`,
	}})
	known(t, b)
	for name, want := range map[string]float64{"nvme_used": 7, "nvme_spare": 100, "nvme_written": 512_000_000, "nvme_media_errors": 0} {
		if n := value(t, b, of, name); n != want {
			t.Errorf("%s is %g, want %g", name, n, want)
		}
	}
	for _, r := range b.Readings {
		if r.Name == "nvme_read" {
			t.Error("what the drive did not tell is a number")
		}
	}
	if b := take(t, sources[0], hosttest.Map{}); len(b.Readings) != 0 || len(b.Gaps) == 0 || b.Gaps[0].Hint != "install nvme-cli" {
		t.Errorf("without the command: %v, gaps %v", b.Readings, b.Gaps)
	}
}
