package catalog

import (
	"testing"
)

func TestRangeHas(t *testing.T) {
	for _, c := range []struct {
		ranges, version string
		want            bool
	}{
		{"8.0.30-", "8.0.30", true}, {"8.0.30-", "8.0.29", false}, {"8.0.30-", "8.4.0", true}, {"8.0.30-", "26.7.0", true},
		{"-5.7", "5.7.44", true}, {"-5.7", "8.0.1", false}, {"-5.7", "5.6.51-log", true},
		{"10.5-11.3", "10.4.34", false}, {"10.5-11.3", "10.5.0", true}, {"10.5-11.3", "11.3.2-MariaDB-1:11.3.2+maria~deb12", true},
		{"10.5-11.3", "11.4.0", false}, {"9.7-", "26.7.0", true}, {"8.4", "8.4.3", true}, {"8.4", "8.0.3", false}, {"8.4", "9.0", false},
		{"-8.0.13", "8.0.13", true}, {"-8.0.13", "8.0.14", false}, {"-8.0.13", "8.0", true},
		{"10.11.14-10.11", "10.11.14", true}, {"10.11.14-10.11", "10.11.13", false}, {"10.11.14-10.11", "11.4.5", false}, {"12.20-12", "12.22", true},
		{"10.7-10", "10.6", false}, {"10.7-10", "10.23", true}, {"10.7-10", "11.0", false},
		{"2.2-", "2.3.9-1ubuntu1", true}, {"14-", "15.14 (Debian 15.14-0+deb12u1)", true}, {"18-", "18rc1", true},
	} {
		r, err := ParseRange(c.ranges)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ParseVersion(c.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Has(v); got != c.want {
			t.Errorf("%s has %s: got %v, want %v", c.ranges, c.version, got, c.want)
		}
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for _, text := range []string{"", "-", "8.0.30+", ">= 8", "9-8", "10.5-MariaDB", "8.0-8.4-9", "8..0-", "10.11.14-10.10"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, r)
		}
	}
}

func TestKnobHas(t *testing.T) {
	k := &Knob{Versions: map[string]string{"mysql": "8.0.30-", "mariadb": "-10.4, 10.11.14-10.11, 11.8.3-"}}
	for _, c := range []struct {
		flavor, version string
		want            bool
	}{{"mysql", "8.4.1", true}, {"mysql", "5.7.1", false}, {"mariadb", "10.4.9", true}, {"mariadb", "11.4.2", false},
		{"mariadb", "10.11.19", true}, {"mariadb", "10.11.13", false}, {"mariadb", "11.8.2", false}, {"mariadb", "12.3.1", true}, {"percona", "8.4.1", false}, {"mysql", "?", true}} {
		if got := k.Has(c.flavor, c.version); got != c.want {
			t.Errorf("%s %s: got %v", c.flavor, c.version, got)
		}
	}
	if all, err := ParseRanges("8.0.30-, "); err == nil {
		t.Errorf("got %v, want an error", all)
	}
	if !(&Knob{}).Has("any", "1") || !(&Knob{Versions: map[string]string{"": "14-"}}).Has("postgres", "15.2") {
		t.Error("a knob without ranges is everywhere, one with a single range is for all flavours")
	}
}

func TestKnobIgnores(t *testing.T) {
	k := &Knob{Versions: map[string]string{"mysql": "-8.4", "mariadb": "-10.5"}, Ignored: map[string]string{"mariadb": "10.6-"}}
	for _, c := range []struct {
		flavor, version string
		want            bool
	}{{"mariadb", "10.6.1", true}, {"mariadb", "10.5.9", false}, {"mysql", "9.7.1", false}} {
		if got := k.Ignores(c.flavor, c.version); got != c.want {
			t.Errorf("%s %s: got %v", c.flavor, c.version, got)
		}
	}
	if (&Knob{}).Ignores("mysql", "9.7.1") {
		t.Error("nothing is said to be ignored, and is")
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("8.0.36-28.1", "10.5-11.3")
	f.Add("26.7.0", "-5.7")
	f.Fuzz(func(t *testing.T, version, ranges string) {
		v, err := ParseVersion(version)
		r, errRange := ParseRange(ranges)
		if err == nil && v.Compare(v) != 0 {
			t.Error("a version equals itself")
		}
		if err == nil && errRange == nil {
			r.Has(v)
		}
	})
}
