package advise

import "testing"

func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`{"plumb":1,"kind":"plan","steps":[{"knob":"mysql:3306#sync_binlog","to":1}]}`))
	f.Add([]byte(`{"steps":[null,{}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = ReadPlan(text) })
}
