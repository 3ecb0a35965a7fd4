package experiment

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/draw"
	"plumb/internal/strictyaml"
	"plumb/internal/strictyaml/schematest"
)

func TestSchemaTakesWhatTheParserTakes(t *testing.T) {
	for _, text := range []string{syncBinlog, small, small + "until: decided\n"} {
		if err := schematest.YAML(Schema(), []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if err := schematest.YAML(Schema(), []byte(strings.Replace(syncBinlog, "budget:", "bugdet:", 1))); err == nil {
		t.Error("an unknown key fits")
	}
}

// The experiments that are shipped are sound, and done within their budget.
func TestExperimentsFitSchemaAndParser(t *testing.T) {
	files, err := filepath.Glob("../../../experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no experiments: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			x, err := Parse(file, text)
			if err != nil {
				t.Fatal(err)
			}
			if err := schematest.YAML(Schema(), text); err != nil {
				t.Error(err)
			}
			if x.Name != strings.TrimSuffix(filepath.Base(file), ".yaml") {
				t.Errorf("it is called %s", x.Name)
			}
			takes, most := Estimate(x), 15.0
			if strings.HasSuffix(x.Name, "-openzfs") { // a machine whose processors are emulated loads data slowly
				most = 25
			}
			if takes.Short || x.Budget == 0 || x.Budget.Minutes() > most {
				t.Errorf("budget %s, and it takes %+v", x.Budget, takes)
			}
			var disk Bytes
			for _, l := range Layouts(x) {
				v := l.Setup.Volume
				disk += v.Size*Bytes(max(1, v.Vdevs)) + v.Log + v.Cache
				if v.Size > 0 && DataBytes(l.Setup)*2 > int64(v.Size)*int64(max(1, v.Vdevs)) {
					t.Errorf("%s of data and their copy do not fit on %s", Bytes(DataBytes(l.Setup)), v.Size)
				}
			}
			if disk > 30<<30 {
				t.Errorf("it needs %s of disk", disk)
			}
			t.Logf("%d arms, %d layouts, %s of disk, %+v", len(x.Arms), len(Layouts(x)), disk, takes)
		})
	}
}

// part gives the properties of the schema or of one of its definitions.
func part(t *testing.T, name string) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	if name != "" {
		s = s["$defs"].(map[string]any)[name].(map[string]any)
	}
	return s["properties"].(map[string]any)
}

func TestSchemaNamesWhatTheTypesName(t *testing.T) {
	for name, of := range map[string]reflect.Type{"setup": reflect.TypeFor[Setup](), "volume": reflect.TypeFor[Volume](), "server": reflect.TypeFor[Server](),
		"load": reflect.TypeFor[Load](), "beside": reflect.TypeFor[Beside]()} {
		var fields []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ",")
			fields = append(fields, name)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(fields)), slices.Sorted(maps.Keys(part(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	r := &reader{doc: &strictyaml.Document{}}
	keys := append(slices.Collect(maps.Keys(r.words())), "seed")
	if diff := cmp.Diff(slices.Sorted(slices.Values(keys)), slices.Sorted(maps.Keys(part(t, "")))); diff != "" {
		t.Error(diff)
	}
}

// Each field that the types have is read: setting it by its path works.
func TestEveryFieldIsRead(t *testing.T) {
	for name, keys := range map[string]map[string]any{"a volume": part(t, "volume"), "a server": part(t, "server"), "a load": part(t, "load"), "beside": part(t, "beside")} {
		for key := range keys {
			path := strings.TrimPrefix(name, "a ") + "." + key
			_, err := Parse("x.yaml", []byte(small+"  - {name: it, set: {"+path+": 1}}\n"))
			if err != nil && strings.Contains(err.Error(), "has no key") {
				t.Error(err)
			}
		}
	}
}

func TestSchemaNamesTheSameWords(t *testing.T) {
	for where, words := range map[string][]string{
		"load.script": scripts(), "load.mode": slices.Concat(modes(FileIO), modes(Fsync)), "load.random": draw.Names(), "load.kind": {OLTP, TPCC, FileIO, Fsync},
		"volume.kind": {Directory, Loop, Zpool, Dataset}, "volume.filesystem": Filesystems(), ".metric": metrics(), ".design": {Blocks, ABBA, Interleaved},
	} {
		name, key, _ := strings.Cut(where, ".")
		var got []string
		for _, w := range part(t, name)[key].(map[string]any)["enum"].([]any) {
			if w != "" { // an arm may empty what its base has
				got = append(got, w.(string))
			}
		}
		if !slices.Equal(got, words) {
			t.Errorf("%s: schema has %v, parser %v", where, got, words)
		}
	}
}
