package tpcc

import "testing"

func TestConditionsAreSound(t *testing.T) {
	for _, r := range rules() {
		if r.says == "" || r.group == "" || len(r.keys) == 0 || len(r.parts) == 0 || r.having == "" || len(r.shows) == 0 {
			t.Errorf("condition %d is not whole: %+v", r.number, r)
		}
		for _, k := range r.keys {
			if _, known := keyNames[k]; !known {
				t.Errorf("condition %d: nobody knows the key %s", r.number, k)
			}
		}
	}
	if len(rules()) != 16 {
		t.Errorf("%d conditions", len(rules()))
	}
	for _, bad := range []string{"", "number: 1", "- number: 2\n", "- {number: 1, says: x, group: x, keys: x, parts: [], having: x, shows: {}}", "- {number: 1, sys: x}"} {
		if all, err := parseRules([]byte(bad)); err == nil {
			t.Errorf("%q gives %v", bad, all)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add(conditions)
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = parseRules(text) })
}
