package block

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Health is log page 02h of an NVMe drive. A field that was not in the answer
// is nil.
type Health struct {
	CriticalWarning   *int64 // bits: 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 volatile memory backup, 5 persistent memory
	Spare             *int64 // percent
	SpareThreshold    *int64 // percent
	Used              *int64 // percent of the rated endurance; may pass 100
	MediaErrors       *int64
	UnsafeShutdowns   *int64
	DataUnitsRead     *int64 // of 512,000 bytes
	DataUnitsWritten  *int64 // of 512,000 bytes
	TemperatureKelvin *int64
}

// healthFacts are the facts of a health log.
var healthFacts = []string{"nvme_critical_warning", "nvme_spare", "nvme_spare_threshold", "nvme_used", "nvme_media_errors",
	"nvme_unsafe_shutdowns", "nvme_written", "nvme_read", "nvme_temperature"}

// health asks a real NVMe drive how it is. The log of a virtual one holds
// what its hypervisor thought of, so that counts as having none.
func (d *device) health(ctx context.Context) {
	if virtual, _ := d.thing.Bool("virtual_disk"); virtual || d.thing.Text("transport") != "nvme" {
		d.thing.Absent("model and transport", healthFacts...)
		return
	}
	if !d.h.About().Root {
		d.obs.Gap(d.thing.Ref, "the health log of a drive is only shown to root", "run as root", "nvme_*")
		return
	}
	argv := []string{"nvme", "smart-log", "-o", "json", "/dev/" + d.name}
	out, err := d.h.Output(ctx, argv...)
	parse := ParseSmartLog
	if errors.Is(err, host.ErrNoCommand) {
		argv = []string{"smartctl", "-j", "-A", "/dev/" + d.name}
		out, err = d.h.Output(ctx, argv...)
		parse = ParseSmartctl
	}
	if errors.Is(err, host.ErrNoCommand) {
		d.obs.Gap(d.thing.Ref, "neither nvme nor smartctl is installed", "install nvme-cli", "nvme_*")
		return
	}
	if err != nil {
		d.obs.Gap(d.thing.Ref, err.Error(), "", "nvme_*")
		return
	}
	log, err := parse(out)
	if err != nil {
		d.obs.Gap(d.thing.Ref, fmt.Sprintf("%s: %v", strings.Join(argv, " "), err), "", "nvme_*")
		return
	}
	log.set(d.thing, strings.Join(argv, " "))
}

// ParseSmartLog reads `nvme smart-log -o json`. Names of fields changed with
// the versions of nvme-cli, and with -v critical_warning is an object.
func ParseSmartLog(out []byte) (Health, error) {
	var m map[string]any
	if err := decode(out, &m); err != nil {
		return Health{}, err
	}
	h := fields(m)
	h.TemperatureKelvin = first(m, "temperature")
	if h.empty() {
		return h, errors.New("no health log in the answer")
	}
	return h, nil
}

// ParseSmartctl reads `smartctl -j -A` of an NVMe drive.
func ParseSmartctl(out []byte) (Health, error) {
	var m struct {
		Log map[string]any `json:"nvme_smart_health_information_log"`
	}
	if err := decode(out, &m); err != nil {
		return Health{}, err
	}
	h := fields(m.Log)
	if celsius := first(m.Log, "temperature"); celsius != nil {
		kelvin := *celsius + 273
		h.TemperatureKelvin = &kelvin
	}
	if h.empty() {
		return h, errors.New("no health log in the answer")
	}
	return h, nil
}

func decode(out []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(out)))
	d.UseNumber()
	return d.Decode(into)
}

func fields(m map[string]any) Health {
	return Health{
		CriticalWarning:  first(m, "critical_warning"),
		Spare:            first(m, "avail_spare", "available_spare"),
		SpareThreshold:   first(m, "spare_thresh", "available_spare_threshold"),
		Used:             first(m, "percent_used", "percentage_used"),
		MediaErrors:      first(m, "media_errors"),
		UnsafeShutdowns:  first(m, "unsafe_shutdowns"),
		DataUnitsRead:    first(m, "data_units_read"),
		DataUnitsWritten: first(m, "data_units_written"),
	}
}

func (h Health) empty() bool {
	return h.CriticalWarning == nil && h.Spare == nil && h.Used == nil && h.MediaErrors == nil
}

// first gives the first of the names that holds a number: as a number, as
// text, or as an object with the number in "value".
func first(m map[string]any, names ...string) *int64 {
	for _, name := range names {
		v := m[name]
		if o, ok := v.(map[string]any); ok {
			v = o["value"]
		}
		var s string
		switch x := v.(type) {
		case json.Number:
			s = x.String()
		case string:
			s = strings.TrimSuffix(strings.TrimSpace(x), "%")
		}
		// The counters are 128 bits wide; nvme-cli writes large ones as a float.
		if f, err := strconv.ParseFloat(s, 64); err == nil && f >= 0 && f < math.MaxInt64 {
			n := int64(f)
			return &n
		}
	}
	return nil
}

// dataUnit is what a data unit of the log counts: thousands of 512 bytes.
const dataUnit = 512_000

func (h Health) set(t *stack.Thing, from string) {
	whole := func(fact string, n *int64, unit int64) {
		if n != nil && *n <= math.MaxInt64/unit {
			t.Set(fact, stack.Int(*n*unit), from)
		}
	}
	percent := func(fact string, n *int64) {
		if n != nil {
			t.Set(fact, stack.Float(float64(*n)), from)
		}
	}
	whole("nvme_critical_warning", h.CriticalWarning, 1)
	percent("nvme_spare", h.Spare)
	percent("nvme_spare_threshold", h.SpareThreshold)
	percent("nvme_used", h.Used)
	whole("nvme_media_errors", h.MediaErrors, 1)
	whole("nvme_unsafe_shutdowns", h.UnsafeShutdowns, 1)
	whole("nvme_read", h.DataUnitsRead, dataUnit)
	whole("nvme_written", h.DataUnitsWritten, dataUnit)
	if k := h.TemperatureKelvin; k != nil && *k > 200 && *k < 500 {
		t.Set("nvme_temperature", stack.Int(*k-273), from)
	}
}
