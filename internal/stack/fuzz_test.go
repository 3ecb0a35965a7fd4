package stack

import (
	"encoding/json"
	"testing"
)

// What is read as a reference is written the same.
func FuzzParseRef(f *testing.F) {
	f.Add("mysql:3306")
	f.Add("mysql:/run/mysqld/mysqld.sock")
	f.Add(":")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRef(text); err == nil && r.String() != text {
			t.Errorf("%q is written %q", text, r)
		}
	})
}

// No saved value breaks the reading of it.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`1`, `1.5`, `"x"`, `true`, `["a"]`, `{"absent":true}`, `null`, `9223372036854775808`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v Value
		if json.Unmarshal(text, &v) != nil {
			return
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s was read and cannot be written: %v", text, err)
		}
	})
}
