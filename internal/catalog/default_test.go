package catalog

import "testing"

func TestDefaultAt(t *testing.T) {
	k := &Knob{Default: map[string]string{"": "on", "other": "maybe"}, Before: map[string]string{"2.2": "off", "0.8": "never"}}
	for _, c := range []struct{ flavour, version, want string }{
		{"", "2.3.1", "on"}, {"", "2.2", "on"}, {"", "2.1.15", "off"}, {"", "0.7.12", "never"}, {"", "", "never"}, {"other", "2.4", "maybe"},
	} {
		if got, ok := k.DefaultAt(c.flavour, c.version); got != c.want || !ok {
			t.Errorf("%q %q: got %q, %v; want %q", c.flavour, c.version, got, ok, c.want)
		}
	}
	if got, ok := (&Knob{}).DefaultAt("", "1"); ok {
		t.Errorf("without a default: got %q", got)
	}
}
