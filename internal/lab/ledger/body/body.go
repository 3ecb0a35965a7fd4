// Package body writes a record of the lab as JSON and reads it back, exactly as
// it was, also with numbers that JSON does not have.
package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"plumb/internal/lab/experiment"
)

// stored is a record as it is kept. NotNumbers is by path: "series/3/p99_ms".
type stored struct {
	experiment.Record
	NotNumbers map[string]string `json:"not_numbers,omitempty"`
}

// Encode gives the JSON of a record. JSON has no NaN and no infinities: they are
// null, and "not_numbers" tells by path which they were. The record itself and
// what it leads to are not changed. A time beyond the year 9999 is an error.
func Encode(r experiment.Record) ([]byte, error) {
	s := stored{Record: r, NotNumbers: map[string]string{}}
	numbers(reflect.ValueOf(&s.Record).Elem(), "", func(path string, v reflect.Value) {
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			s.NotNumbers[path] = strconv.FormatFloat(f, 'g', -1, 64)
			v.SetFloat(0)
		}
	})
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write its record: %w", err)
	}
	if len(s.NotNumbers) == 0 {
		return data, nil
	}
	return null(data, s.NotNumbers)
}

// null makes null of what stands at the paths: a zero there would be a lie to
// those who read the JSON themselves.
func null(data []byte, paths map[string]string) ([]byte, error) {
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("write its record: %w", err)
	}
	for path := range paths {
		steps := strings.Split(path, "/")
		last := len(steps) - 1
		at := tree
		for _, s := range steps[:last] {
			at = below(at, s)
		}
		switch at := at.(type) {
		case map[string]any:
			at[steps[last]] = nil
		case []any:
			if i, err := strconv.Atoi(steps[last]); err == nil && i >= 0 && i < len(at) {
				at[i] = nil
			}
		}
	}
	return json.Marshal(tree)
}

func below(at any, step string) any {
	switch at := at.(type) {
	case map[string]any:
		return at[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(at) {
			return at[i]
		}
	}
	return nil
}

// Decode reads the JSON of a record. Fields it does not know, which a newer
// plumb has written, are left out.
func Decode(data []byte) (experiment.Record, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return experiment.Record{}, fmt.Errorf("read its record: %w", err)
	}
	var bad error
	numbers(reflect.ValueOf(&s.Record).Elem(), "", func(path string, v reflect.Value) {
		text, ok := s.NotNumbers[path]
		if !ok {
			return
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !math.IsNaN(f) && !math.IsInf(f, 0) {
			bad = errors.Join(bad, fmt.Errorf("read its record: not_numbers has %q for %s", text, path))
			return
		}
		v.SetFloat(f)
	})
	if bad != nil {
		return experiment.Record{}, bad
	}
	return s.Record, nil
}

// numbers calls f with every floating point number in v, which must be
// settable, and its path in the JSON. What pointers and slices lead to is copied
// on the way, so f may change it without touching what others hold.
func numbers(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		f(path, v)
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			v.Set(own)
			numbers(own.Elem(), path, f)
		}
	case reflect.Slice:
		if v.Len() == 0 || v.Type().Elem().Kind() == reflect.Uint8 || v.Type().Elem().Kind() == reflect.String {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range v.Len() {
			numbers(v.Index(i), join(path, strconv.Itoa(i)), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			numbers(v.Field(i), fieldPath(path, field), f)
		}
	}
}

// fieldPath is where a field stands in the JSON.
func fieldPath(path string, field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "" && field.Anonymous {
		return path
	}
	if name == "" {
		name = field.Name
	}
	return join(path, name)
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "/" + step
}
