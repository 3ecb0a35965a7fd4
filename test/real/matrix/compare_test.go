package matrix

import (
	"slices"
	"testing"

	"plumb/internal/catalog"
)

func ptr[T any](v T) *T { return &v }

// knob makes a knob of a product with one flavour, which stands under "".
func knob(name string, t catalog.Type, k catalog.Knob, doc string) map[string]*catalog.Fact {
	return map[string]*catalog.Fact{name: {Kind: "postgres", Name: name, Type: t, Doc: doc, Knob: &k}}
}

func all(text string) map[string]string { return map[string]string{"": text} }

func TestCompare(t *testing.T) {
	reload, restart := []catalog.Effect{catalog.Reload}, []catalog.Effect{catalog.Restart}
	for name, c := range map[string]struct {
		knobs   map[string]*catalog.Fact
		version string
		has     map[string]Setting
		want    []Point
	}{
		"as stated": {
			knob("shared_buffers", catalog.Bytes, catalog.Knob{Default: all("134217728"), Min: ptr(131072.0), Effect: catalog.Restart}, ""), "15.2",
			map[string]Setting{"shared_buffers": {"integer", "8kB", ptr("16384"), "16", "1073741823", nil, restart}}, nil},
		"not there":              {knob("a", catalog.Int, catalog.Knob{Versions: all("14-")}, ""), "14.1", nil, []Point{Missing}},
		"there before its range": {knob("a", catalog.Int, catalog.Knob{Versions: all("14-")}, ""), "13.9", map[string]Setting{"a": {}}, []Point{Denied}},
		"neither claims nor is":  {knob("a", catalog.Int, catalog.Knob{Versions: all("14-")}, ""), "13.9", nil, nil},
		"not named":              {knob("a", catalog.Int, catalog.Knob{}, ""), "13.9", map[string]Setting{"a": {}, "b": {}}, []Point{Unlisted}},
		"another type":           {knob("a", catalog.Int, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Type: "string"}}, []Point{Type}},
		"a size taken for a time, which ends it": {knob("a", catalog.Millis, catalog.Knob{Default: all("5"), Effect: catalog.Now}, ""), "13",
			map[string]Setting{"a": {Unit: "kB", Default: ptr("7"), Effects: restart}}, []Point{Unit}},
		"a number taken for one without a unit": {knob("a", catalog.Int, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Unit: "min"}}, []Point{Unit}},
		"another default":                       {knob("a", catalog.Seconds, catalog.Knob{Default: all("86400")}, ""), "13", map[string]Setting{"a": {Unit: "min", Default: ptr("1441")}}, []Point{Default}},
		"the same in another unit":              {knob("a", catalog.Seconds, catalog.Knob{Default: all("86400")}, ""), "13", map[string]Setting{"a": {Unit: "min", Default: ptr("1440")}}, nil},
		"-1 has no unit":                        {knob("a", catalog.Bytes, catalog.Knob{Default: all("-1"), Min: ptr(-1.0)}, ""), "13", map[string]Setting{"a": {Unit: "8kB", Default: ptr("-1"), Least: "-1"}}, nil},
		"no default stated":                     {knob("a", catalog.Text, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Default: ptr("x")}}, nil},
		"a word in another case":                {knob("a", catalog.Text, catalog.Knob{Default: all("ON")}, ""), "13", map[string]Setting{"a": {Default: ptr("on")}}, nil},
		"no such value":                         {knob("a", catalog.Bool, catalog.Knob{Default: all("on")}, ""), "13", map[string]Setting{"a": {Default: ptr("maybe")}}, []Point{Default}},
		"an older default, told":                {knob("a", catalog.Micros, catalog.Knob{Default: all("2000")}, "pause; default 20ms before 12"), "11.4", map[string]Setting{"a": {Unit: "ms", Default: ptr("20")}}, nil},
		"an older default, told wrongly":        {knob("a", catalog.Micros, catalog.Knob{Default: all("2000")}, "pause; default 20ms before 12"), "11.4", map[string]Setting{"a": {Unit: "ms", Default: ptr("2")}}, []Point{Default}},
		"an older default, no longer":           {knob("a", catalog.Micros, catalog.Knob{Default: all("2000")}, "pause; default 20ms before 12"), "12.0", map[string]Setting{"a": {Unit: "ms", Default: ptr("2")}}, nil},
		"another effect":                        {knob("a", catalog.Int, catalog.Knob{Effect: catalog.Restart}, ""), "13", map[string]Setting{"a": {Effects: reload}}, []Point{Effect}},
		"an older effect, told":                 {knob("a", catalog.Int, catalog.Knob{Effect: catalog.Reload}, "x; before 13 a change needs a restart"), "12.9", map[string]Setting{"a": {Effects: restart}}, nil},
		"an older effect, told wrongly":         {knob("a", catalog.Int, catalog.Knob{Effect: catalog.Reload}, "x; before 13 a change needs a restart"), "12.9", map[string]Setting{"a": {Effects: reload}}, []Point{Effect}},
		"the server takes less":                 {knob("a", catalog.Int, catalog.Knob{Min: ptr(1.0)}, ""), "13", map[string]Setting{"a": {Least: "0"}}, []Point{Bound}},
		"the server takes more":                 {knob("a", catalog.Int, catalog.Knob{Max: ptr(9.0)}, ""), "13", map[string]Setting{"a": {Most: "10"}}, []Point{Bound}},
		"the catalogue allows for others":       {knob("a", catalog.Int, catalog.Knob{Min: ptr(0.0), Max: ptr(9.0)}, ""), "13", map[string]Setting{"a": {Least: "1", Most: "8"}}, nil},
		"a word more":                           {knob("a", catalog.Text, catalog.Knob{Values: []string{"x", "Y"}}, ""), "13", map[string]Setting{"a": {Words: []string{"X", "y", "z"}}}, []Point{Word}},
		"a word less":                           {knob("a", catalog.Text, catalog.Knob{Values: []string{"x", "Y"}}, ""), "13", map[string]Setting{"a": {Words: []string{"x"}}}, nil},
		"no words listed":                       {knob("a", catalog.Text, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Words: []string{"x"}}}, nil},
		"a switch":                              {knob("a", catalog.Bool, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Type: "boolean", Words: []string{"OFF", "ON"}}}, nil},
		"a switch among the words":              {knob("a", catalog.Bool, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Type: "enum", Words: []string{"OFF", "ON"}}}, nil},
		"more than a switch":                    {knob("a", catalog.Bool, catalog.Knob{}, ""), "13", map[string]Setting{"a": {Type: "enum", Words: []string{"OFF", "ON", "AUTO"}}}, []Point{Type}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Point
			for _, f := range Compare(c.knobs, Server{Flavor: "postgres", Version: c.version, Whole: true, Settings: c.has}) {
				got = append(got, f.Point)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestCompareByFlavour(t *testing.T) {
	knobs := knob("a", catalog.Int, catalog.Knob{Versions: map[string]string{"mysql": "8.0-", "mariadb": "-10.5"}, Default: map[string]string{"mysql": "1", "mariadb": "2"}}, "")
	for _, c := range []struct {
		flavor, version string
		has             map[string]Setting
		want            []Point
	}{
		{"mysql", "9.7.4", map[string]Setting{"a": {Default: ptr("1")}}, nil},
		{"mysql", "9.7.4", map[string]Setting{"a": {Default: ptr("2")}}, []Point{Default}},
		{"mariadb", "10.5.9", map[string]Setting{"a": {Default: ptr("2")}, "b": {}}, nil},
		{"mariadb", "10.11.1", map[string]Setting{"a": {Default: ptr("2")}}, []Point{Denied}},
		{"percona", "8.0.1", map[string]Setting{"a": {}}, []Point{Denied}},
		{"percona", "8.0.1", nil, nil},
	} {
		var got []Point
		for _, f := range Compare(knobs, Server{Flavor: c.flavor, Version: c.version, Settings: c.has}) {
			got = append(got, f.Point)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: got %v, want %v", c.flavor, c.version, got, c.want)
		}
	}
}

func TestExcused(t *testing.T) {
	knobs := knob("a", catalog.Int, catalog.Knob{}, "only with a plugin")
	excuses := []Excuse{{"mysql", "a", Missing, "with a plugin", ""}, {"mysql", "a", Type, "gone from the doc", ""}, {"mysql", "b", Unlisted, "", ""}}
	found := []Finding{{Knob: "a", Point: Missing}, {Knob: "a", Point: Type}, {Knob: "a", Point: Default}, {Knob: "b", Point: Unlisted}}
	left := Excused(knobs, "mysql", found, excuses)
	if want := found[1:3]; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
	if left := Excused(knobs, "mariadb", found, excuses); len(left) != 4 {
		t.Errorf("another flavour's excuses cover nothing: %v", left)
	}
}
