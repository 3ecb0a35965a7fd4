package metrics

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plumb/internal/units"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/view/page"
)

// State is what a plugin of Icinga or Nagios exits with.
type State int

// The states, as those programs number them.
const (
	OK State = iota
	Warning
	Critical
	Unknown
)

// String is the state's name.
func (s State) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// Limits say what a plugin calls bad.
type Limits struct {
	Critical float64       // share of a server's time that a limit costs at least
	Late     time.Duration // age of the newest window
	Point    time.Duration // age of the newest point of a server; 0: not looked at
	Proof    time.Duration // age of the newest proven one; 0: not looked at
}

// mostPage is how much of a page is read, in bytes.
const mostPage = 8 << 20

// judged is what a plugin says so far.
type judged struct {
	state State
	says  []string
	perf  []string
}

// add notes a state and what is said of it; unknown is worse than a warning and
// hides no critical one.
func (j *judged) add(s State, format string, args ...any) {
	rank := [...]int{OK: 0, Warning: 1, Unknown: 2, Critical: 3}
	text := fmt.Sprintf(format, args...)
	if rank[s] > rank[j.state] {
		j.state = s
		j.says = append([]string{text}, j.says...)
		return
	}
	j.says = append(j.says, text)
}

// Plugin reads a page of metrics, as a scrape or a textfile gives it, and says
// in one line how the host is, with performance data.
func Plugin(from io.Reader, now time.Time, l Limits) (line string, state State) {
	all, err := readPage(from)
	if err != nil {
		return UnknownLine("the metrics cannot be read: " + err.Error()), Unknown
	}
	if all["plumb_build_info"] == nil {
		return UnknownLine("these are not metrics of Plumb"), Unknown
	}
	var j judged
	j.windows(all, now, l)
	j.servers(all)
	j.limits(all, l)
	j.findings(all)
	j.points(all, l)
	if len(j.says) == 0 {
		j.says = []string{fmt.Sprintf("no limit holds back any of %s", units.Count(len(all["plumb_server_up"]), "server")) + untold(all)}
	}
	return plainLine(j.state, strings.Join(j.says, "; "), j.perf), j.state
}

// untold says of how many verdicts nobody knows whether they hold.
func untold(all map[string][]point) string {
	n := 0
	for _, p := range all["plumb_bottleneck_unknown"] {
		n += int(p.value)
	}
	if n == 0 {
		return ""
	}
	return " (" + units.Count(n, "verdict") + " unknown)"
}

// UnknownLine is the line of a plugin that could see nothing.
func UnknownLine(why string) string { return plainLine(Unknown, why, nil) }

// plainLine makes the one line. A | would end what is said.
func plainLine(s State, says string, perf []string) string {
	line := fmt.Sprintf("PLUMB %s - %s", s, strings.ReplaceAll(naming.Cut(oneLine(says), 1000), "|", "/"))
	if len(perf) > 0 {
		line += " | " + strings.Join(perf, " ")
	}
	return line + "\n"
}

// oneLine is a text of which strangers may have written part, as one line that
// drives no terminal.
func oneLine(s string) string {
	return strings.ReplaceAll(page.Clean(strings.ToValidUTF8(s, "?")), "\n", " ")
}

// point is one sample of a page.
type point struct {
	labels map[string]string
	value  float64
}

func readPage(from io.Reader) (map[string][]point, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	page := &io.LimitedReader{R: from, N: mostPage + 1}
	families, err := p.TextToMetricFamilies(page)
	if page.N == 0 { // what is bad may stand in what was not read
		return nil, fmt.Errorf("they are longer than %s: plumb watch metrics --max-series N exports fewer", units.Bytes(mostPage))
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]point{}
	for name, f := range families {
		for _, m := range f.Metric {
			v := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				all[name] = append(all[name], point{labelMap(m), v})
			}
		}
		slices.SortFunc(all[name], func(a, b point) int {
			return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(fmt.Sprint(a.labels), fmt.Sprint(b.labels)))
		})
	}
	return all, nil
}

func labelMap(m *dto.Metric) map[string]string {
	all := map[string]string{}
	for _, l := range m.Label {
		all[l.GetName()] = l.GetValue()
	}
	return all
}

// windows sees that what is said is of now.
func (j *judged) windows(all map[string][]point, now time.Time, l Limits) {
	at := all["plumb_moment_timestamp_seconds"]
	if len(at) == 0 {
		j.add(Unknown, "plumb has judged nothing lately")
		return
	}
	switch age := now.Sub(time.UnixMilli(int64(at[0].value * 1e3))).Round(time.Second); {
	case age > l.Late:
		j.add(Unknown, "the newest window is %s old", units.Age(int64(age.Seconds())))
	case age < -l.Late:
		j.add(Unknown, "the newest window is %s ahead of this clock", units.Age(int64(-age.Seconds())))
	}
	var late []string
	for _, p := range all["plumb_source_up"] {
		if p.value == 0 {
			late = append(late, p.labels["source"])
		}
	}
	if len(late) > 0 {
		j.add(Warning, "no data from %s", strings.Join(late, ", "))
	}
	if out := all["plumb_sources_left_out"]; len(out) > 0 && out[0].value > 0 {
		j.add(Warning, "the state of %s is not exported: there are too many", units.Count(int(out[0].value), "source"))
	}
}

// servers says which are down, and of which that or every verdict is not known. Where plumb knows none, nothing
// is well: the one that is to be watched may have ended before plumb began.
func (j *judged) servers(all map[string][]point) {
	unmet := lacking(all, "plumb_server_up", "plumb_server_info")
	if len(all["plumb_server_up"])+len(unmet) == 0 && len(all["plumb_moment_timestamp_seconds"]) > 0 {
		j.add(Unknown, "plumb sees no server here")
	}
	for _, server := range unmet {
		j.add(Unknown, "plumb has never logged in to %s", server)
	}
	unjudged := map[string]bool{}
	for _, p := range all["plumb_bottleneck_unknown"] {
		unjudged[p.labels["server"]] = p.value > 0
	}
	for _, name := range []string{"plumb_bottleneck", "plumb_server_idle"} {
		for _, p := range all[name] {
			delete(unjudged, p.labels["server"])
		}
	}
	for _, p := range all["plumb_server_up"] {
		switch server := p.labels["server"]; {
		case p.value == 0:
			j.add(Critical, "%s does not answer", server)
		case unjudged[server]:
			j.add(Unknown, "no verdict about %s can be judged", server)
		}
	}
}

// limits says what holds servers back, by the least that it can cost.
func (j *judged) limits(all map[string][]point, l Limits) {
	share := map[string]float64{}
	for _, p := range all["plumb_bottleneck_share_low_ratio"] {
		share[p.labels["server"]+" "+p.labels["verdict"]] = p.value
	}
	for _, p := range all["plumb_bottleneck"] {
		low, known := share[p.labels["server"]+" "+p.labels["verdict"]]
		switch {
		case p.value != 1:
			continue
		case !known:
			j.add(Warning, "%s is held back by %s", p.labels["server"], p.labels["verdict"])
			low = math.NaN()
		case low >= l.Critical:
			j.add(Critical, "%s is held back by %s, for %.0f%% of its time or more", p.labels["server"], p.labels["verdict"], 100*low)
		default:
			j.add(Warning, "%s is held back by %s, for %.0f%% of its time or more", p.labels["server"], p.labels["verdict"], 100*low)
		}
		j.datum(p.labels["verdict"]+"@"+p.labels["server"], 100*low, "%", digits(100*l.Critical))
	}
}

// findings says what check found. What it found before is no longer exported once it is too old.
func (j *judged) findings(all map[string][]point) {
	if len(all["plumb_findings"]) == 0 && len(all["plumb_moment_timestamp_seconds"]) > 0 {
		j.add(Unknown, "plumb has not checked this host lately")
	}
	rules := map[string]bool{}
	for _, p := range all["plumb_finding"] {
		if p.labels["harm"] == "danger" {
			rules[p.labels["rule"]] = true
		}
	}
	if len(rules) > 0 {
		j.add(Warning, "data can be lost: %s", strings.Join(slices.Sorted(maps.Keys(rules)), ", "))
	}
	if f := all["plumb_findings"]; len(f) > 0 {
		j.datum("findings", f[0].value, "", "")
	}
}

func (j *judged) points(all map[string][]point, l Limits) {
	for _, p := range all["plumb_points_failing"] {
		if p.value > 0 {
			j.add(Critical, "plumb protect run fails for %s", p.labels["server"])
		}
	}
	gone := Warning
	if l.Point > 0 {
		gone = Critical
	}
	for _, p := range all["plumb_points"] {
		if p.value == 0 {
			j.add(gone, "no point of %s is left: the snapshots of all are gone or cannot be read", p.labels["server"])
		}
	}
	for _, c := range []struct {
		name, what string
		most       time.Duration
		state      State
	}{{"plumb_newest_point_age_seconds", "point", l.Point, Critical}, {"plumb_newest_proven_point_age_seconds", "proven point", l.Proof, Warning}} {
		if c.most == 0 {
			continue
		}
		ages, without := all[c.name], lacking(all, c.name, "plumb_points", "plumb_points_failing")
		if len(ages)+len(without) == 0 {
			j.add(c.state, "no %s of any server is known", c.what)
		}
		for _, server := range without {
			j.add(c.state, "no %s of %s is known", c.what, server)
			ages = append(ages, point{map[string]string{"server": server}, math.NaN()})
		}
		for _, p := range ages {
			if p.value > c.most.Seconds() {
				j.add(c.state, "the newest %s of %s is %s old", c.what, p.labels["server"], units.Age(int64(p.value)))
			}
			j.datum(strings.ReplaceAll(c.what, " ", "_")+"_age@"+p.labels["server"], math.Round(p.value), "s", digits(c.most.Seconds()))
		}
	}
}

// lacking are the servers that have one of some series, and not another.
func lacking(all map[string][]point, series string, have ...string) []string {
	servers := map[string]bool{}
	for _, name := range have {
		for _, p := range all[name] {
			servers[p.labels["server"]] = true
		}
	}
	for _, p := range all[series] {
		delete(servers, p.labels["server"])
	}
	return slices.Sorted(maps.Keys(servers))
}

// datum adds performance data: 'name'=value unit;warning;critical. What is not known,
// a NaN, is U, as the guidelines for plugins have it.
func (j *judged) datum(name string, value float64, unit, critical string) {
	name = strings.NewReplacer("'", "", "=", "", "|", "").Replace(oneLine(name))
	text := "U"
	if !math.IsNaN(value) {
		text = digits(math.Round(value*100)/100) + unit
	}
	j.perf = append(j.perf, fmt.Sprintf("'%s'=%s;;%s", name, text, critical))
}

// digits is a number in digits alone: those who read performance data know no 1e+06.
func digits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
