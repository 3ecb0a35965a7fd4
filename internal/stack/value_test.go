package stack

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestValueJSON(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Float(10), "10.0"}, {Float(0), "0.0"}, {Float(-3), "-3.0"}, {Float(0.25), "0.25"}, {Float(1e21), "1e+21"}, {Float(1e-9), "1e-9"},
		{Int(10), "10"}, {Int(math.MaxInt64), "9223372036854775807"}, {Bool(true), "true"}, {Text("10.0"), `"10.0"`},
		{List(nil), "[]"}, {List([]string{"a"}), `["a"]`}, {Value{}, "null"},
	} {
		b, err := json.Marshal(c.v)
		if err != nil || string(b) != c.want {
			t.Errorf("%#v is written %s, %v, want %s", c.v, b, err, c.want)
		}
		roundTrip(t, c.v)
	}
}

// TestASavedStackCanBeUsed: facts can be added to each of its things, and each is found.
func TestASavedStackCanBeUsed(t *testing.T) {
	text, err := json.Marshal(Stack{Things: []*Thing{NewThing("process", "17"), NewThing("block", "sda")}})
	var back Stack
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []Ref{{"process", "17"}, {"block", "sda"}} {
		x := back.Find(of)
		if x == nil {
			t.Fatalf("%s is not found", of)
		}
		x.Set("size", Int(1), "test")
		x.Link("on")
	}
	if err := json.Unmarshal([]byte(`{"things":[null]}`), &back); err == nil {
		t.Error("a thing that is null is taken")
	}
}

type fataler interface {
	Errorf(format string, args ...any)
}

// roundTrip writes a value and reads it back: the type must stay, too.
func roundTrip(t fataler, v Value) {
	var back Value
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || !reflect.DeepEqual(v.Any(), back.Any()) {
		t.Errorf("%#v becomes %s becomes %#v, %v", v.Any(), b, back.Any(), err)
	}
}

func TestNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, Float(rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "float")))
		roundTrip(t, Int(rapid.Int64().Draw(t, "int")))
	})
}
