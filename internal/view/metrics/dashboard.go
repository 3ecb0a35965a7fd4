package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
)

// dashboard is what Grafana reads, as far as we write it.
type dashboard struct {
	Title         string         `json:"title"`
	UID           string         `json:"uid"`
	SchemaVersion int            `json:"schemaVersion"`
	Tags          []string       `json:"tags"`
	Timezone      string         `json:"timezone"`
	Refresh       string         `json:"refresh"`
	Time          map[string]any `json:"time"`
	Templating    map[string]any `json:"templating"`
	Panels        []panel        `json:"panels"`
}

type panel struct {
	ID          int            `json:"id"`
	Type        string         `json:"type"` // row, timeseries, table, state-timeline
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Collapsed   bool           `json:"collapsed,omitempty"`
	Grid        grid           `json:"gridPos"`
	Datasource  map[string]any `json:"datasource,omitempty"`
	Targets     []target       `json:"targets,omitempty"`
	Fields      map[string]any `json:"fieldConfig,omitempty"`
	Panels      []panel        `json:"panels,omitempty"` // of a row that is closed
}

type grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type target struct {
	Ref     string `json:"refId"`
	Expr    string `json:"expr"`
	Legend  string `json:"legendFormat"`
	Instant bool   `json:"instant,omitempty"`
	Format  string `json:"format,omitempty"`
}

// Dashboard gives a dashboard for Grafana over everything that is exported: what the catalogue
// says is sampled, and what the tree of a moment shows of a window. In it are what limits servers first, and then a row for each kind of
// thing.
func Dashboard(cat *catalog.Catalog) ([]byte, error) {
	b := &builder{}
	b.overview()
	for _, kind := range sampledKinds(cat) {
		b.kind(cat.Kinds[kind])
	}
	d := dashboard{Title: "Plumb", UID: "plumb-watch", SchemaVersion: 39, Tags: []string{"plumb"}, Timezone: "browser", Refresh: "30s",
		Time: map[string]any{"from": "now-1h", "to": "now"}, Templating: map[string]any{"list": variables()}, Panels: b.panels}
	return json.MarshalIndent(d, "", "  ")
}

// variables are what a person chooses at the top: where the data is, and which hosts.
func variables() []map[string]any {
	return []map[string]any{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
		{"name": "instance", "label": "Host", "type": "query", "datasource": datasource(), "query": "label_values(plumb_build_info, instance)",
			"refresh": 2, "multi": true, "includeAll": true, "allValue": ".+", "current": map[string]any{"text": "All", "value": "$__all"}},
	}
}

func datasource() map[string]any { return map[string]any{"type": "prometheus", "uid": "${datasource}"} }

// sampledKinds lists the kinds that sources read and that we have names for, servers first.
func sampledKinds(cat *catalog.Catalog) []string {
	var kinds []string
	for name, k := range cat.Kinds {
		if slices.ContainsFunc(slices.Collect(maps.Values(k.Facts)), func(f *catalog.Fact) bool { return f.Every > 0 }) && !onlyByOthers(name) {
			kinds = append(kinds, name)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if s, t := product.IsServer(a), product.IsServer(b); s != t {
			return map[bool]int{true: -1, false: 1}[s]
		}
		return strings.Compare(a, b)
	})
	return kinds
}

// builder places panels, two in a line.
type builder struct {
	panels []panel
	id, y  int
}

func (b *builder) row(title string, open bool, panels []panel) {
	b.id++
	row := panel{ID: b.id, Type: "row", Title: title, Collapsed: !open, Grid: grid{1, 24, 0, b.y}}
	b.y++
	for i := range panels {
		b.id++
		panels[i].ID, panels[i].Datasource = b.id, datasource()
		panels[i].Grid = grid{8, 12, 12 * (i % 2), b.y + 8*(i/2)}
	}
	if open {
		b.panels = append(append(b.panels, row), panels...)
		b.y += 8 * ((len(panels) + 1) / 2)
		return
	}
	row.Panels = panels
	b.panels = append(b.panels, row)
}

const chosen = `{instance=~"$instance"}`

// overview is the open row.
func (b *builder) overview() {
	b.row("What limits the servers", true, []panel{
		graph("Share of active time that a limit costs", "With its 95 % interval: low and high.", "percentunit",
			target{Ref: "A", Expr: "plumb_bottleneck_share_ratio" + chosen, Legend: "{{instance}} {{server}} {{verdict}}"},
			target{Ref: "B", Expr: "plumb_bottleneck_share_low_ratio" + chosen, Legend: "{{instance}} {{server}} {{verdict}} low"},
			target{Ref: "C", Expr: "plumb_bottleneck_share_high_ratio" + chosen, Legend: "{{instance}} {{server}} {{verdict}} high"}),
		{Type: "state-timeline", Title: "Servers that answer", Description: "0: it does not. No line: nothing is known.",
			Targets: []target{{Ref: "A", Expr: "min by (instance, server) (plumb_server_up" + chosen + ")", Legend: "{{instance}} {{server}}"}}},
		{Type: "state-timeline", Title: "Limits that hold", Description: "1 while it holds. A limit that is unknown has no line.",
			Targets: []target{{Ref: "A", Expr: "max by (instance, server, verdict) (plumb_bottleneck" + chosen + ") > 0", Legend: "{{instance}} {{server}} {{verdict}}"}}},
		table("Findings of plumb check", "plumb_finding"+chosen),
		graph("Age of the newest point, and of the newest proven one", "", "s",
			target{Ref: "A", Expr: "plumb_newest_point_age_seconds" + chosen, Legend: "{{instance}} {{server}}"},
			target{Ref: "B", Expr: "plumb_newest_proven_point_age_seconds" + chosen, Legend: "{{instance}} {{server}} proven"}),
		table("Devices", "plumb_device_info"+chosen),
		graph("Sources", "0: late, and what it reads has no series.", "none",
			target{Ref: "A", Expr: "min by (instance, source) (plumb_source_up" + chosen + ")", Legend: "{{instance}} {{source}}"}),
	})
}

func graph(title, about, unit string, targets ...target) panel {
	return panel{Type: "timeseries", Title: title, Description: about, Targets: targets, Fields: map[string]any{"defaults": map[string]any{"unit": unit}, "overrides": []any{}}}
}

func table(title, expr string) panel {
	return panel{Type: "table", Title: title, Targets: []target{{Ref: "A", Expr: expr, Instant: true, Format: "table"}}}
}

// kind adds a closed row with a panel for every fact, and one for what sessions do.
func (b *builder) kind(k *catalog.Kind) {
	var panels []panel
	if product.IsServer(k.Name) {
		panels = append(panels, sessionsOf(k))
	}
	for _, name := range slices.Sorted(maps.Keys(k.Facts)) {
		f := k.Facts[name]
		s, ok := naming.ShapeOf(f)
		if !ok || !sampled(k, f) || f.Every == 0 && !watch.Shows(k.Name, name) || strings.HasPrefix(name, "sessions_") {
			continue
		}
		panels = append(panels, ofFact(f, s))
	}
	title := k.Title
	if title == "" {
		title = k.Name
	}
	b.row(title, false, panels)
}

// sessionsOf stacks what sessions do.
func sessionsOf(k *catalog.Kind) panel {
	p := graph("Active sessions by what they do or wait for", "", "none")
	for i, c := range series.Classes {
		p.Targets = append(p.Targets, target{Ref: string(rune('A' + i)), Expr: fmt.Sprintf("plumb_%s_sessions_%s%s", k.Name, c, chosen), Legend: "{{instance}} {{server}} " + string(c)})
	}
	p.Fields["defaults"].(map[string]any)["custom"] = map[string]any{"stacking": map[string]any{"mode": "normal"}, "fillOpacity": 40}
	return p
}

// ofFact is the panel of one fact: of a counter its rate.
func ofFact(f *catalog.Fact, s naming.Shape) panel {
	expr, unit := s.Name+chosen, unitOf(f.Type)
	if s.Counter {
		expr = "rate(" + expr + "[$__rate_interval])"
		unit = map[string]string{"bytes": "Bps", "s": "percentunit"}[unit]
		if unit == "" {
			unit = "ops"
		}
	}
	legend := "{{instance}}"
	for _, l := range kindLabels(f.Kind) {
		legend += " {{" + l + "}}"
	}
	title, about, _ := strings.Cut(f.Doc, "; ")
	return graph(title, strings.TrimSpace(about+"\n"+s.Name), unit, target{Ref: "A", Expr: expr, Legend: legend})
}

// unitOf is Grafana's name of a unit.
func unitOf(t catalog.Type) string {
	switch t {
	case catalog.Bytes:
		return "bytes"
	case catalog.Millis, catalog.Micros, catalog.Seconds:
		return "s"
	case catalog.Percent, catalog.Ratio:
		return "percentunit"
	}
	return "none"
}

// kindLabels are the names of the labels that things of a kind have.
func kindLabels(kind string) []string {
	switch {
	case slices.Contains(naming.Alone, kind):
		return nil
	case product.IsServer(kind), kind == "process":
		return []string{"server"}
	case kind == "block":
		return []string{"device"}
	case kind == "cgroup_device":
		return []string{"cgroup", "device"}
	}
	return []string{kind}
}

// Expressions lists every expression of a dashboard.
func Expressions(text []byte) ([]string, error) {
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	var all []string
	var walk func([]panel)
	walk = func(list []panel) {
		for _, p := range list {
			for _, t := range p.Targets {
				all = append(all, t.Expr)
			}
			walk(p.Panels)
		}
	}
	walk(d.Panels)
	return all, nil
}
