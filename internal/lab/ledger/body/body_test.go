package body

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plumb/internal/lab/experiment"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// full is a record in which every field is set, also those that will be added.
func full() (r experiment.Record) {
	set(reflect.ValueOf(&r).Elem(), new(int))
	return r
}

func set(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 12, 0, *n%60, *n, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(math.MaxInt64 - int64(*n))
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(math.MaxUint64 - uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 1.0/3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		set(v.Index(0), n)
		set(v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key, n)
		set(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i), n)
		}
	default:
		panic("a record has a " + v.Kind().String())
	}
}

func TestEveryFieldComesBack(t *testing.T) {
	for _, r := range []experiment.Record{full(), {}} {
		data, err := Encode(r)
		ok(t, err)
		got, err := Decode(data)
		ok(t, err)
		if diff := cmp.Diff(r, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEveryNumberMayBeNone(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		count := 0
		first := full()
		numbers(reflect.ValueOf(&first).Elem(), "", func(string, reflect.Value) { count++ })
		for n := range count {
			r, at, i := full(), "", 0
			numbers(reflect.ValueOf(&r).Elem(), "", func(path string, v reflect.Value) {
				if i == n {
					at = path
					v.SetFloat(bad)
				}
				i++
			})
			data, err := Encode(r)
			ok(t, err)
			name := at[strings.LastIndex(at, "/")+1:]
			if !strings.Contains(string(data), `"`+name+`":null`) {
				t.Errorf("no null for %s in %s", at, data)
			}
			got, err := Decode(data)
			ok(t, err)
			if name == "stolen" { // a share that is no number is not known
				r.Stolen = nil
			}
			if diff := cmp.Diff(r, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s: %s", at, diff)
			}
		}
		if count < 15 {
			t.Errorf("a record has only %d numbers", count)
		}
	}
}

func TestTheCallersRecordIsNotChanged(t *testing.T) {
	r := full()
	r.Series[1].P99, r.Setup.Load.Rate, r.Volume.Limits[0].Asked = math.NaN(), math.Inf(1), math.NaN()
	_, err := Encode(r)
	ok(t, err)
	if !math.IsNaN(r.Series[1].P99) || !math.IsInf(r.Setup.Load.Rate, 1) || !math.IsNaN(r.Volume.Limits[0].Asked) {
		t.Errorf("%+v", r)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"not_numbers":{"metric":"1"}}`, `{"not_numbers":{"metric":"x"}}`, `{"metric":"NaN"}`} {
		if r, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, r)
		}
	}
	if _, err := Encode(experiment.Record{Began: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("the year 10000 is taken")
	}
	_, err := Decode([]byte(`{"metric":1,"of a newer plumb":{"x":[1]}}`))
	ok(t, err)
}

func FuzzDecode(f *testing.F) {
	r := full()
	for _, v := range []float64{1, math.NaN(), math.Inf(-1)} {
		r.Series[0].P50 = v
		data, err := Encode(r)
		ok(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"not_numbers":{"metric":"1"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Skip(err) // a time beyond what JSON holds
		}
		got, err := Decode(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		if diff := cmp.Diff(r, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
