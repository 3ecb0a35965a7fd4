package block

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Health is log page 02h of an NVMe drive, by fact. A field that was not in the
// answer is not in it.
type Health map[string]stack.Value

// healthFields are the fields of the log but for the temperature, by the names
// that the versions of nvme-cli and smartctl give them.
var healthFields = []struct {
	fact  string
	unit  int64 // what it counts; 0: percent
	names []string
}{
	// Bits: 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 volatile memory backup, 5 persistent memory.
	{"nvme_critical_warning", 1, []string{"critical_warning"}},
	{"nvme_spare", 0, []string{"avail_spare", "available_spare"}},
	{"nvme_spare_threshold", 0, []string{"spare_thresh", "available_spare_threshold"}},
	{"nvme_used", 0, []string{"percent_used", "percentage_used"}}, // of the rated endurance; may pass 100
	{"nvme_media_errors", 1, []string{"media_errors"}},
	{"nvme_unsafe_shutdowns", 1, []string{"unsafe_shutdowns"}},
	{"nvme_read", dataUnit, []string{"data_units_read"}},
	{"nvme_written", dataUnit, []string{"data_units_written"}},
}

// dataUnit is what a data unit of the log counts: thousands of 512 bytes.
const dataUnit = 512_000

// health asks a real NVMe drive how it is. The log of a virtual one holds
// what its hypervisor thought of, so that counts as having none.
func (d *device) health(ctx context.Context) {
	if virtual, _ := d.thing.Bool("virtual_disk"); virtual || d.thing.Text("transport") != "nvme" {
		for _, f := range healthFields {
			d.thing.SetAbsent(f.fact, "model and transport")
		}
		d.thing.SetAbsent("nvme_temperature", "model and transport")
		return
	}
	if !d.h.About().Root {
		d.obs.Gap(d.thing.Ref, "only root can read the health log of a drive", "run as root", "nvme_*")
		return
	}
	log, from, err := AskHealth(ctx, d.h, d.name)
	if errors.Is(err, host.ErrNoCommand) {
		d.obs.Gap(d.thing.Ref, "neither nvme nor smartctl is installed", "install nvme-cli", "nvme_*")
		return
	}
	if err != nil {
		d.obs.Gap(d.thing.Ref, err.Error(), "", "nvme_*")
		return
	}
	log.set(d.thing, from)
}

// AskHealth asks an NVMe drive for its log, with whichever of the two programs
// is installed, and says with which command. ErrNoCommand: neither is.
func AskHealth(ctx context.Context, h host.Reader, name string) (log Health, from string, err error) {
	argv := []string{"nvme", "smart-log", "-o", "json", "/dev/" + name}
	out, err := h.Output(ctx, argv...)
	parse := parseSmartLog
	if errors.Is(err, host.ErrNoCommand) {
		argv = []string{"smartctl", "-j", "-A", "/dev/" + name}
		out, err = h.Output(ctx, argv...)
		parse = parseSmartctl
	}
	from = strings.Join(argv, " ")
	if err != nil {
		return nil, from, err
	}
	if log, err = parse(out); err != nil {
		return nil, from, fmt.Errorf("%s: %w", from, err)
	}
	return log, from, nil
}

// parseSmartLog reads `nvme smart-log -o json`. With -v critical_warning is an
// object.
func parseSmartLog(out []byte) (Health, error) {
	var m map[string]any
	if err := decode(out, &m); err != nil {
		return nil, err
	}
	return readHealth(m, 273)
}

// parseSmartctl reads `smartctl -j -A` of an NVMe drive.
func parseSmartctl(out []byte) (Health, error) {
	var m struct {
		Log map[string]any `json:"nvme_smart_health_information_log"`
	}
	if err := decode(out, &m); err != nil {
		return nil, err
	}
	return readHealth(m.Log, 0)
}

// readHealth takes the fields of a log whose temperature is so many degrees
// above Celsius.
func readHealth(m map[string]any, above int64) (Health, error) {
	h := Health{}
	for _, f := range healthFields {
		switch n, ok := first(m, f.names...); {
		case ok && f.unit == 0:
			h[f.fact] = stack.Float(float64(n))
		case ok && n <= math.MaxInt64/f.unit:
			h[f.fact] = stack.Int(n * f.unit)
		}
	}
	told := func(fact string) bool { _, ok := h[fact]; return ok }
	if !slices.ContainsFunc([]string{"nvme_critical_warning", "nvme_spare", "nvme_used", "nvme_media_errors"}, told) {
		return nil, errors.New("no health log in the answer")
	}
	if n, ok := first(m, "temperature"); ok && n-above > -73 && n-above < 227 {
		h["nvme_temperature"] = stack.Int(n - above)
	}
	return h, nil
}

func decode(out []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(out)))
	d.UseNumber()
	return d.Decode(into)
}

// first gives the first of the names that holds a number: as a number, as
// text, or as an object with the number in "value".
func first(m map[string]any, names ...string) (n int64, ok bool) {
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
			return int64(f), true
		}
	}
	return 0, false
}

func (h Health) set(t *stack.Thing, from string) {
	for fact, v := range h {
		t.Set(fact, v, from)
	}
}
