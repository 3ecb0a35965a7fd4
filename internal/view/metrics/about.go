package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
)

func (e *Exporter) aboutUs(fs *families) {
	fs.gauge("plumb_build_info", "the Plumb that watches; always 1", 1, label("version", naming.Clean(e.o.Version)))
}

// aboutSources says how each source does, also one that is late, and for how many there is no room.
func (e *Exporter) aboutSources(fs *families) {
	fs.gauge("plumb_sources_left_out", "sources of which nothing is shown, because there are more than the limit", float64(len(e.unkept)))
	for _, name := range slices.Sorted(maps.Keys(e.sources)) {
		s, l := e.sources[name], label("source", naming.Clean(name))
		up := 0.0
		if e.fresh(s.came, latePeriods*s.last.Every) {
			up = 1
		}
		fs.gauge("plumb_source_up", "whether a source answered within its last three periods, if only with what it lacks", up, l)
		if !s.came.IsZero() {
			fs.gauge("plumb_source_last_success_timestamp_seconds", "when a source last answered", unix(s.last.At), l)
		}
		fs.gauge("plumb_source_duration_seconds", "how long a source was last waited for", s.took.Seconds(), l)
		fs.gauge("plumb_source_gaps", "values that a source could not read when it was last asked", float64(s.gaps), l)
		fs.counter("plumb_source_batches_total", "times a source answered", s.batches, l)
		fs.counter("plumb_source_late_total", "times a source was late or failed", s.late, l)
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// aboutHost adds what a host consists of, to be joined with what it does.
func (e *Exporter) aboutHost(fs *families) {
	if !e.fresh(e.drawn, latePicture) {
		return
	}
	fs.gauge("plumb_picture_timestamp_seconds", "when the host was last read as a whole", unix(e.picture.TakenAt))
	if h := e.picture.Host(); h != nil {
		fs.gauge("plumb_host_info", "the host; always 1", 1, texts(h, "hostname", "os", "kernel", "cloud")...)
	}
	for _, t := range e.picture.OfKind("block") {
		if e.known(t.Ref) {
			fs.gauge("plumb_device_info", "a block device and what is on it; always 1", 1, e.deviceInfo(t)...)
		}
	}
}

// known tells whether a thing has readings: without them, nothing is joined.
func (e *Exporter) known(ref stack.Ref) bool { return e.labels[ref] != nil || e.carries(ref) }

// deviceInfo are the labels of a device: its own, and where it is used.
func (e *Exporter) deviceInfo(t *stack.Thing) []naming.Label {
	l := append([]naming.Label{label("device", naming.Clean(t.Ref.Name))}, texts(t, "layer", "model", "transport", "cloud_volume")...)
	if r, ok := t.Bool("rotational"); ok {
		l = append(l, label("rotational", strconv.FormatBool(r)))
	}
	return append(l, label("mounts", e.on("filesystem", t.Ref)), label("pool", e.on("pool", t.Ref)),
		label("role", naming.Clean(strings.Join(t.List("roles"), ","))), label("servers", naming.Clean(strings.Join(t.List("servers"), ","))))
}

// on names the things of a kind that lie on a device, with commas.
func (e *Exporter) on(kind string, device stack.Ref) string {
	var names []string
	for _, t := range e.picture.OfKind(kind) {
		below, _ := e.picture.Follow(t, "disks")
		if slices.ContainsFunc(below, func(b *stack.Thing) bool { return b.Ref == device }) {
			names = append(names, t.Ref.Name)
		}
	}
	return naming.Clean(strings.Join(names, ","))
}

// texts are labels of a thing's own facts; those that are not known are empty,
// which is no label to Prometheus.
func texts(t *stack.Thing, names ...string) []naming.Label {
	var all []naming.Label
	for _, n := range names {
		all = append(all, label(n, naming.Clean(t.Text(n))))
	}
	return all
}

// aboutFindings adds what check found, the worst first.
func (e *Exporter) aboutFindings(fs *families) {
	if !e.fresh(e.checked, latePicture) {
		return
	}
	fs.gauge("plumb_check_timestamp_seconds", "when the host was last checked", unix(e.checked))
	n := 0
	for _, f := range e.findings {
		for _, c := range f.Cases {
			if n++; n <= mostFindings {
				server, thing := about(c.Things)
				fs.gauge("plumb_finding", "what plumb check finds out of line; always 1", 1,
					label("rule", naming.Clean(f.Rule.ID)), label("harm", naming.Clean(string(f.Rule.Harm))), label("server", server), label("thing", thing))
			}
		}
	}
	fs.gauge("plumb_findings", "findings of plumb check, including those that are too many to be shown one by one", float64(n))
}

// about gives the server that a finding is about, and the other thing.
func about(things []stack.Ref) (server, thing string) {
	for _, r := range things {
		switch {
		case product.IsServer(r.Kind) && server == "":
			server = naming.Clean(r.String())
		case thing == "":
			thing = naming.Clean(r.String())
		}
	}
	return server, cmp.Or(thing, server)
}

// limits are facts that stay until somebody changes them, and that others are
// compared with: pictures have them, and sources do not.
var limits = []series.ID{
	{Of: stack.Ref{Kind: "filesystem"}, Name: "size"}, {Of: stack.Ref{Kind: "pool"}, Name: "size"},
	{Of: stack.Ref{Kind: "host"}, Name: "memory_total"}, {Of: stack.Ref{Kind: "host"}, Name: "cpus"},
}

// limitsOf gives the limits of a thing as readings.
func (e *Exporter) limitsOf(ref stack.Ref) (all []reading) {
	if !e.fresh(e.drawn, latePicture) {
		return nil
	}
	t := e.picture.Find(ref)
	for _, l := range limits {
		if t == nil || l.Of.Kind != ref.Kind {
			continue
		}
		if v, ok := t.Number(l.Name); ok {
			all = append(all, reading{Reading: series.Reading{Of: ref, Name: l.Name, Value: v}})
		}
	}
	return all
}
