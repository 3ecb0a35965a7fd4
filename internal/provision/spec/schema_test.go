package spec

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/product"
	"plumb/internal/strictyaml/schematest"
)

// example is a spec with all keys.
func example(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSchemaTakesWhatTheParserTakes(t *testing.T) {
	for _, text := range []string{small, plain, example(t)} {
		if _, err := Parse("x.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
		if err := schematest.YAML(Schema(), []byte(text)); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{strings.Replace(small, "layout:", "lay-out:", 1), small + "use: tank\n", strings.Replace(small, "mirror", "miror", 1), strings.Replace(small, "1G", "1GB", 1)} {
		if err := schematest.YAML(Schema(), []byte(wrong)); err == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}

// part gives what the schema says of a key, or of a key of one of its definitions.
func part(t *testing.T, definition string) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	if definition == "" {
		return s["properties"].(map[string]any)
	}
	d := s["$defs"].(map[string]any)[definition].(map[string]any)
	if either, ok := d["oneOf"].([]any); ok {
		d = either[1].(map[string]any)
	}
	return d["properties"].(map[string]any)
}

// The types, the parser and the schema name the same keys.
func TestSchemaNamesWhatTheTypesName(t *testing.T) {
	for name, of := range map[string]reflect.Type{"pool": reflect.TypeFor[Pool](), "filesystem": reflect.TypeFor[Filesystem](), "server": reflect.TypeFor[Server](), "disk": reflect.TypeFor[Disk](), "database": reflect.TypeFor[Database]()} {
		var fields []string
		for i := range of.NumField() {
			key := strings.ToLower(of.Field(i).Name)
			if name == "pool" && key == "data" {
				key = "disks"
			}
			fields = append(fields, key)
		}
		keys := slices.Sorted(maps.Keys(part(t, name)))
		if diff := cmp.Diff(slices.Sorted(slices.Values(fields)), keys); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, key := range keys {
			text := name + ": {" + key + ": -}\n"
			switch name {
			case "disk":
				text = "filesystem: {device: {" + key + ": -}}\n"
			case "database":
				text = "server: {databases: [{" + key + ": -}]}\n"
			}
			if _, err := Parse("x.yaml", []byte(text)); err == nil || strings.Contains(err.Error(), "has no key") {
				t.Errorf("%s.%s: %v", name, key, err)
			}
		}
	}
	for key := range part(t, "") {
		if _, err := Parse("x.yaml", []byte(key+": -\n")); strings.Contains(err.Error(), "has no key") {
			t.Error(err)
		}
	}
}

func TestSchemaNamesTheSameWords(t *testing.T) {
	for where, words := range map[string][]string{"pool.layout": layouts(), "filesystem.type": Filesystems(), "server.product": product.Private(), "server.role": {string(Primary), string(Replica)}} {
		name, key, _ := strings.Cut(where, ".")
		var got []string
		for _, w := range part(t, name)[key].(map[string]any)["enum"].([]any) {
			got = append(got, w.(string))
		}
		if !slices.Equal(got, words) {
			t.Errorf("%s: schema has %v, parser %v", where, got, words)
		}
	}
}

// What a program has found out can be written, read again, and is the same.
func TestTextIsReadAgain(t *testing.T) {
	for _, text := range []string{small, plain, example(t)} {
		s, err := Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("x.yaml", Text(s))
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Errorf("%v\n%s\n%s", err, Text(s), diff)
		}
	}
}
