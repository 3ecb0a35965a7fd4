package catalog

import (
	"testing"

	"plumb/internal/stack"
)

func TestParseValueAndShow(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		text string
		want stack.Value
		show string
	}{
		{Bytes, "16384", stack.Int(16384), "16K"}, {Bytes, "16K", stack.Int(16384), "16K"}, {Bytes, "16KiB", stack.Int(16384), "16K"},
		{Bytes, "16385", stack.Int(16385), "16385 bytes"}, {Bytes, "128MB", stack.Int(128 << 20), "128M"}, {Bytes, "1.5G", stack.Int(3 << 29), "1.5G"},
		{Bytes, "512", stack.Int(512), "512 bytes"}, {Bytes, "0", stack.Int(0), "0 bytes"}, {Bytes, "-1", stack.Int(-1), "-1 bytes"},
		{Bytes, "1100M", stack.Int(1100 << 20), "1100M"}, {Bytes, "67385548800", stack.Int(67385548800), "62.8G"}, {Bytes, "18446744073709551615", stack.Int(1<<63 - 1), "8E"},
		{Bytes, "8 kB", stack.Int(8192), "8K"}, {Bytes, "1T", stack.Int(1 << 40), "1T"}, {Bytes, "1048577", stack.Int(1048577), "1M"},
		{Bool, "ON", stack.Bool(true), "on"}, {Bool, "0", stack.Bool(false), "off"}, {Bool, "Yes", stack.Bool(true), "on"}, {Bool, "false", stack.Bool(false), "off"},
		{Millis, "5s", stack.Int(5000), "5 s"}, {Millis, "200ms", stack.Int(200), "200 ms"}, {Millis, "5min", stack.Int(300000), "5 min"}, {Millis, "1000", stack.Int(1000), "1 s"},
		{Seconds, "1h", stack.Int(3600), "60 min"}, {Seconds, "28800", stack.Int(28800), "8 h"}, {Seconds, "5", stack.Int(5), "5 s"}, {Seconds, "4031", stack.Int(4031), "4031 s"}, {Seconds, "90", stack.Int(90), "90 s"},
		{Seconds, "3542400", stack.Int(3542400), "41 days"}, {Micros, "5ms", stack.Int(5000), "5 ms"}, {Micros, "0", stack.Int(0), "0 s"},
		{Percent, "93", stack.Float(93), "93 %"}, {Percent, "93.5%", stack.Float(93.5), "93.5 %"}, {Ratio, "0.931", stack.Float(0.931), "93.1 %"}, {Ratio, "50%", stack.Float(0.5), "50 %"},
		{Rate, "3000/s", stack.Float(3000), "3,000/s"}, {Rate, "0.25", stack.Float(0.25), "0.25/s"}, {Float, "2.3", stack.Float(2.3), "2.3"}, {Float, "0.00012", stack.Float(0.00012), "0.00012"},
		{Int, "151", stack.Int(151), "151"}, {Int, "0644", stack.Int(644), "644"}, {Text, "", stack.Text(""), `""`}, {Text, "O_DIRECT", stack.Text("O_DIRECT"), "O_DIRECT"},
		{List, "a, b", stack.List([]string{"a", "b"}), "a, b"},
	} {
		f := &Fact{Name: "f", Type: c.typ, Knob: &Knob{}} // settings are shown exactly
		got, err := ParseValue(f, c.text)
		if err != nil || !got.Equal(c.want) || !c.typ.Fits(got) {
			t.Errorf("%s %q: got %#v, %v, want %v", c.typ, c.text, got, err, c.want)
		}
		if show := Show(f, got); show != c.show {
			t.Errorf("%s %q is shown as %q, want %q", c.typ, c.text, show, c.show)
		}
	}
	for seconds, want := range map[int64]string{0: "0 s", 119: "119 s", 4031: "67 min", 65000: "18 h", 172800: "2 days", 864000: "10 days"} {
		if got := Show(&Fact{Type: Seconds}, stack.Int(seconds)); got != want {
			t.Errorf("%d measured seconds are shown as %q, want %q", seconds, got, want)
		}
	}
	if got := Show(nil, stack.Value{}); got != "not there" {
		t.Errorf("absent is shown as %q", got)
	}
}

func TestParseValueRefuses(t *testing.T) {
	for typ, texts := range map[Type][]string{
		Bytes: {"", "16Q", "K", "1.5", "16K32", "1e999G"}, Bool: {"", "2", "maybe"}, Millis: {"5 fortnights", ""},
		Int: {"5.5", "", "many"}, Percent: {"", "NaN", "Inf"}, Type("length"): {"5"},
	} {
		for _, text := range texts {
			if v, err := ParseValue(&Fact{Type: typ}, text); err == nil {
				t.Errorf("%s %q: got %v, want an error", typ, text, v)
			}
		}
	}
}

func FuzzParseValue(f *testing.F) {
	f.Add("bytes", "16K")
	f.Add("ms", "5min")
	f.Add("bool", "ON")
	f.Fuzz(func(t *testing.T, typ, text string) {
		v, err := ParseValue(&Fact{Type: Type(typ)}, text)
		if err == nil && !Type(typ).Fits(v) {
			t.Errorf("%s %q: %T does not fit", typ, text, v.Any())
		}
		ShowAs(Type(typ), v)
	})
}

func TestDurability(t *testing.T) {
	sync := &Fact{Type: Int, Knob: &Knob{Durability: map[string]string{"0": MayLose, "2": MayLose}}}
	group := &Fact{Type: Int, Knob: &Knob{Durability: map[string]string{"0": MayLose, Above + "1": MayLose}}}
	double := &Fact{Type: Text, Knob: &Knob{Durability: map[string]string{"OFF": Conditional + "atomic writes"}}}
	sum := &Fact{Type: Bool, Knob: &Knob{Durability: map[string]string{"OFF": MayCorrupt}}}
	for _, c := range []struct {
		fact     *Fact
		from, to stack.Value
		less     bool
	}{
		{sync, stack.Int(1), stack.Int(2), true}, {sync, stack.Int(2), stack.Int(1), false}, {sync, stack.Int(0), stack.Int(2), false},
		{sync, stack.Value{}, stack.Int(2), true}, {double, stack.Text("ON"), stack.Text("off"), true}, {double, stack.Text("off"), stack.Text("ON"), false},
		{group, stack.Int(1), stack.Int(1000), true}, {group, stack.Int(1000), stack.Int(1), false}, {group, stack.Int(0), stack.Int(1000), false},
		{group, stack.Int(1), stack.Text("1000"), true}, {group, stack.Int(1), stack.Text("1"), false}, {group, stack.Int(1), stack.Text("many"), false},
		{sum, stack.Bool(true), stack.Bool(false), true}, {sum, stack.Bool(false), stack.Bool(true), false}, {&Fact{Type: Int}, stack.Int(1), stack.Int(2), false},
	} {
		if got := c.fact.LessDurable(c.from, c.to); got != c.less {
			t.Errorf("%v from %v to %v: got %v", c.fact.Type, c.from, c.to, got)
		}
	}
}
