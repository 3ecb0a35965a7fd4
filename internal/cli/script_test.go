package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plumb/internal/strictyaml/schematest"
)

// TestMain lets the scripts run plumb in this process's own program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"plumb": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs test/script/*.txtar: each page shows what a person types
// and what comes of it, exit codes and hints included.
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("../../fixtures")
	must(t, err)
	testscript.Run(t, testscript.Params{
		Dir:           "../../test/script",
		Setup:         func(e *testscript.Env) error { e.Setenv("FIXTURES", fixtures); return nil },
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "fits": fits,
		},
	})
}

// exits runs plumb and compares its exit code: exits 2 check --nonsense.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGUMENTS...")
	}
	err := ts.Exec("plumb", args[1:]...)
	code := "0"
	if err != nil {
		code = map[string]string{"exit status 1": "1", "exit status 2": "2", "exit status 3": "3"}[err.Error()]
	}
	if code != args[0] {
		ts.Fatalf("plumb ended with %v, want exit code %s", err, args[0])
	}
}

// fits checks a JSON file against a JSON Schema: fits doc.json schema.json.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fits DOCUMENT SCHEMA")
	}
	ts.Check(schematest.JSON([]byte(ts.ReadFile(args[1])), []byte(ts.ReadFile(args[0]))))
}
