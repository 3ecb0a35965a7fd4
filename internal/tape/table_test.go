package tape

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzDecodeTable holds the quick reading to what encoding/json reads.
func FuzzDecodeTable(f *testing.F) {
	for _, s := range []string{`{"columns":["a","b"],"values":[["1",null],["\n","ü"]]}`, `{"columns":[],"values":[],"cut":true}`, `{"columns":null,"values":null}`,
		`{"columns":["a"],"values":[[{"base64":"/w=="}]]}`, `{"columns":["a"],"values":[[]]}`, `{"columns":[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		quick, ok := scanTable(value)
		if !ok || !utf8.Valid(value) { // Read has seen to that
			return
		}
		var slow Table
		if err := json.Unmarshal(value, &slow); err != nil {
			t.Fatalf("%q: only the quick reading takes it: %v", value, err)
		}
		a, _ := json.Marshal(quick.filled())
		b, _ := json.Marshal(slow.filled())
		if string(a) != string(b) {
			t.Errorf("quick %s, slow %s", a, b)
		}
	})
}

// filled makes empty lists of missing ones.
func (t Table) filled() Table {
	t.Columns = append([]Text{}, t.Columns...)
	t.Values = append([][]*Text{}, t.Values...)
	return t
}
