package block

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Smart is what a SATA or SAS drive says of itself. Nil is not in the answer.
type Smart struct {
	Passed      *bool  // its own verdict
	Pending     *int64 // sectors it could not read and has not given up (ATA attribute 197)
	Reallocated *int64 // sectors it has replaced (ATA attribute 5, SAS grown defects)
	Uncorrected *int64 // reads it could not correct in its life (ATA attribute 187, SAS error counter log)
	Asleep      bool   // it was not asked, because that would have started its motor
}

var smartFacts = []string{"smart_passed", "smart_pending", "smart_reallocated", "smart_uncorrected"}

// smart asks a real SATA or SAS drive how it is. With -n standby a drive that
// has stopped its motor is left alone: reading changes nothing.
func (d *device) smart(ctx context.Context) {
	virtual, known := d.thing.Bool("virtual_disk")
	if t := d.thing.Text("transport"); virtual || t != "ata" && t != "scsi" {
		d.thing.Absent("model and transport", smartFacts...)
		return
	}
	if !known || !d.h.About().Root {
		d.obs.Gap(d.thing.Ref, "only root can read the health of a drive", "run as root", "smart_*")
		return
	}
	argv := []string{"smartctl", "-n", "standby", "-j", "-H", "-A", "/dev/" + d.name}
	out, err := d.h.Output(ctx, argv...)
	if errors.Is(err, host.ErrNoCommand) {
		d.obs.Gap(d.thing.Ref, "smartctl is not installed", "install smartmontools", "smart_*")
		return
	}
	// smartctl ends with a status other than 0 for a drive that is ill, too.
	s, wrong := parseSmart(out)
	switch {
	case wrong == nil && s.Asleep:
		d.obs.Gap(d.thing.Ref, "its motor is off, and a query would start it", "", "smart_*")
	case wrong != nil && err != nil:
		d.obs.Gap(d.thing.Ref, err.Error(), "behind a RAID controller smartctl needs -d: see its manual", "smart_*")
	case wrong != nil:
		d.obs.Gap(d.thing.Ref, fmt.Sprintf("%s: %v", strings.Join(argv, " "), wrong), "", "smart_*")
	default:
		s.set(d.thing, strings.Join(argv, " "))
	}
}

// parseSmart reads `smartctl -j -H -A` of a SATA or SAS drive.
func parseSmart(out []byte) (Smart, error) {
	var m struct {
		Smartctl struct {
			Messages []struct{ String string }
		}
		Status struct{ Passed *bool } `json:"smart_status"`
		ATA    struct {
			Table []struct {
				ID   int
				Name string
				Raw  struct{ String string }
			}
		} `json:"ata_smart_attributes"`
		Grown  *int64 `json:"scsi_grown_defect_list"`
		Errors struct {
			Read struct {
				Uncorrected *int64 `json:"total_uncorrected_errors"`
			}
		} `json:"scsi_error_counter_log"`
	}
	if err := decode(out, &m); err != nil {
		return Smart{}, err
	}
	s := Smart{Passed: m.Status.Passed, Reallocated: m.Grown, Uncorrected: m.Errors.Read.Uncorrected}
	for _, a := range m.ATA.Table {
		switch a.ID {
		case 5:
			s.Reallocated = leading(a.Raw.String)
		case 187:
			s.Uncorrected = leading(a.Raw.String)
		case 197:
			// Some drives never count down; smartctl knows which, and names it so.
			if !strings.HasPrefix(a.Name, "Total_") {
				s.Pending = leading(a.Raw.String)
			}
		}
	}
	for _, t := range m.Smartctl.Messages {
		if strings.Contains(t.String, "STANDBY mode") || strings.Contains(t.String, "SLEEP mode") {
			s.Asleep = true
		}
	}
	if s == (Smart{}) {
		return s, errors.New("no health in the answer")
	}
	return s, nil
}

// leading gives the number a raw value begins with. The value itself is 48
// bits, the upper of which some makers use for something else; smartctl's
// text divides them: "12 (0 4)".
func leading(raw string) *int64 {
	first, _, _ := strings.Cut(raw, " ")
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// set records what the drive told. What it does not count is absent.
func (s Smart) set(t *stack.Thing, from string) {
	if s.Passed != nil {
		t.Set("smart_passed", stack.Bool(*s.Passed), from)
	}
	for fact, n := range map[string]*int64{"smart_pending": s.Pending, "smart_reallocated": s.Reallocated, "smart_uncorrected": s.Uncorrected} {
		if n == nil {
			t.SetAbsent(fact, from)
			continue
		}
		t.Set(fact, stack.Int(*n), from)
	}
}
