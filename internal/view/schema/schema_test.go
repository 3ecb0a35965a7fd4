package schema

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/stack"
	archiveview "plumb/internal/view/archive"
	backupview "plumb/internal/view/backup"
	checkview "plumb/internal/view/check"
	explainview "plumb/internal/view/explain"
	fixview "plumb/internal/view/fix"
	forecastview "plumb/internal/view/forecast"
	inventoryview "plumb/internal/view/inventory"
	labview "plumb/internal/view/lab"
	loadview "plumb/internal/view/load"
	protectview "plumb/internal/view/protect"
	provisionview "plumb/internal/view/provision"
	rehearseview "plumb/internal/view/rehearse"
	stackview "plumb/internal/view/stack"
	"plumb/internal/view/viewtest"
	watchview "plumb/internal/view/watch"
)

// TestSchemaIsUpToDate makes the schemas from the types and compares them with
// the published files: the one in the program, and those in docs/schema.
func TestSchemaIsUpToDate(t *testing.T) {
	for name, doc := range documents() {
		want := schemaOf(t, doc.of, doc.title+", version 1")
		upToDate(t, name+schemaEnding, want)
		upToDate(t, "../../../docs/schema/"+name+".v1.json", want)
	}
}

// document is a type with the title of its schema.
type document struct {
	of    reflect.Type
	title string
}

func documents() map[string]document {
	return map[string]document{
		"check":          {reflect.TypeFor[checkview.CheckJSON](), "plumb check --json"},
		"stack":          {reflect.TypeFor[stackview.StackJSON](), "plumb stack --json"},
		"stack-since":    {reflect.TypeFor[stackview.SinceJSON](), "plumb stack --since FILE --json"},
		"rules":          {reflect.TypeFor[explainview.RulesJSON](), "plumb rules --json"},
		"load":           {reflect.TypeFor[loadview.LoadJSON](), "plumb load ... run --json"},
		"load-calibrate": {reflect.TypeFor[loadview.CalibrateJSON](), "plumb load calibrate --json"},
		"load-sweep":     {reflect.TypeFor[loadview.SweepJSON](), "plumb load fileio run --json at several numbers of threads"},
		"load-fsync":     {reflect.TypeFor[loadview.FsyncJSON](), "plumb load fsync --json"},
		"load-check":     {reflect.TypeFor[loadview.TPCCCheckJSON](), "plumb load tpcc check --json"},
		"fix":            {reflect.TypeFor[fixview.FixJSON](), "plumb fix --json"},
		"boost":          {reflect.TypeFor[provisionview.BoostJSON](), "plumb boost --dry-run --json"},
		"undo":           {reflect.TypeFor[fixview.UndoJSON](), "plumb undo --json"},
		"history":        {reflect.TypeFor[fixview.HistoryJSON](), "plumb history --json"},
		"inventory":      {reflect.TypeFor[inventoryview.InventoryJSON](), "plumb inventory --json"},
		"lab":            {reflect.TypeFor[labview.LabJSON](), "plumb lab report --json"},
		"rehearse":       {reflect.TypeFor[rehearseview.RehearseJSON](), "plumb rehearse --json"},
		"snapshot":       {reflect.TypeFor[protectview.SnapshotJSON](), "plumb snapshot --json"},
		"drill":          {reflect.TypeFor[protectview.DrillJSON](), "plumb drill --json"},
		"points":         {reflect.TypeFor[protectview.PointsJSON](), "plumb protect list --json"},
		"clones":         {reflect.TypeFor[protectview.ClonesJSON](), "plumb clone --json and plumb clone list --json"},
		"protect-status": {reflect.TypeFor[protectview.StatusJSON](), "plumb protect status --json"},
		"protect-run":    {reflect.TypeFor[protectview.RunJSON](), "plumb protect run --json"},
		"backup":         {reflect.TypeFor[backupview.BackupJSON](), "plumb backup --json"},
		"backup-driven":  {reflect.TypeFor[backupview.DrivenJSON](), "plumb backup --with and plumb backup list --with, --json"},
		"backup-copy":    {reflect.TypeFor[backupview.CopyJSON](), "plumb backup copy --json"},
		"backup-sheet":   {reflect.TypeFor[backupview.SheetJSON](), "plumb backup sheet --json"},
		"backups":        {reflect.TypeFor[backupview.BackupsJSON](), "plumb backup list --json and plumb backup show --json"},
		"backup-prune":   {reflect.TypeFor[backupview.PruneJSON](), "plumb backup prune --json"},
		"restore":        {reflect.TypeFor[backupview.RestoreJSON](), "plumb restore --json"},
		"restore-moment": {reflect.TypeFor[backupview.MomentJSON](), "plumb restore --dir --json"},
		"archive":        {reflect.TypeFor[archiveview.ArchiveListJSON](), "plumb archive list --json"},
		"archive-status": {reflect.TypeFor[archiveview.ArchiveStatusJSON](), "plumb archive status --json"},
		"verify":         {reflect.TypeFor[backupview.VerifyJSON](), "plumb verify --json"},
		"replicate":      {reflect.TypeFor[protectview.ReplicateJSON](), "plumb replicate --json"},
		"rollback":       {reflect.TypeFor[protectview.RollbackJSON](), "plumb rollback --json"},
		"rollback-table": {reflect.TypeFor[protectview.TableJSON](), "plumb rollback --table --json"},
		"provision":      {reflect.TypeFor[provisionview.ProvisionJSON](), "plumb provision --json"},
		"prune":          {reflect.TypeFor[protectview.PruneJSON](), "plumb prune --json"},
		"watch":          {reflect.TypeFor[watchview.WatchJSON](), "plumb watch --once --json"},
		"forecast-space": {reflect.TypeFor[forecastview.ForecastSpaceJSON](), "plumb forecast space --json"},
		"forecast-score": {reflect.TypeFor[forecastview.ForecastScoreJSON](), "plumb forecast score --json"},
		"forecast-model": {reflect.TypeFor[forecastview.ModelsJSON](), "plumb forecast cache, load, zfs, volume, monitor and wear --json"},
		"load-verify":    {reflect.TypeFor[loadview.VerifyJSON](), "plumb load verify --json"},
	}
}

// upToDate compares a published schema with what it must be.
func upToDate(t *testing.T, file string, want []byte) {
	t.Helper()
	if *viewtest.Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s is stale; go test ./internal/view/schema -update\n%s", file, diff)
	}
}

func schemaOf(t *testing.T, doc reflect.Type, title string) []byte {
	t.Helper()
	g := generator{docs: fieldComments(t), defs: map[string]any{}}
	schema := g.object(doc)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = title
	schema["$defs"] = g.defs
	got, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(got, '\n')
}

// generator turns Go types into JSON Schema.
type generator struct {
	docs map[string]string // "CheckJSON.findings" to its comment
	defs map[string]any
}

func (g generator) schema(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[stack.Value]():
		return map[string]any{"description": "boolean, number, text, list of texts, or null for what does not exist"}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string", "description": "kind:name"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.schema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Struct:
		if _, have := g.defs[t.Name()]; !have {
			g.defs[t.Name()] = nil // a type that holds itself ends here
			g.defs[t.Name()] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	}
	return map[string]any{"type": "string"}
}

func (g generator) object(t reflect.Type) map[string]any {
	props, required := map[string]any{}, []string{}
	for f := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := g.schema(f.Type)
		if doc := g.docs[t.Name()+"."+f.Name]; doc != "" {
			s["description"] = doc
		}
		props[name] = s
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": props, "required": required}
	if doc := g.docs[t.Name()]; doc != "" {
		out["description"] = doc
	}
	return out
}

// fields gives the fields that JSON writes, those of embedded types too.
func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if !f.Anonymous && f.IsExported() && f.Tag.Get("json") != "-" && !yield(f) {
				return
			}
		}
	}
}

// fieldComments reads the comments of the types that JSON is made of.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, dir := range []string{"../page", "../check", "../explain", "../backup", "../../backup", "../../backup/driven", "../../backup/manifest", "../../backup/prune", "../../backup/moment", "../../protect/replay", "../archive", "../../archive", "../fix", "../forecast", "../inventory", "../lab", "../load", "../../protect/policy", "../../protect/replicate", "../../protect/keep", "../../protect", "../protect", "../provision", "../rehearse", "../stack", "../watch", "../../advise", "../../stack"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range slices.Sorted(slices.Values(files)) {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(docs, typeComments(f))
		}
	}
	return docs
}

func typeComments(f *ast.File) map[string]string {
	docs := map[string]string{}
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			ts := spec.(*ast.TypeSpec)
			docs[ts.Name.Name] = oneLine(decl.Doc)
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					docs[ts.Name.Name+"."+name.Name] = oneLine(field.Comment)
				}
			}
		}
	}
	return docs
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
