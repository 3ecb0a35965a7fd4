package private_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plumb/internal/engine/private"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/test/sandbox"
	"plumb/test/sandbox/labbox"
)

// TestExperimentsCanBeServed takes the settings of all arms of our own
// experiments; with PLUMB_REAL=1 real servers have to take them as well,
// which takes minutes.
func TestExperimentsCanBeServed(t *testing.T) {
	files, err := filepath.Glob("../../../experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no experiments", err)
	}
	for _, e := range private.Engines() {
		served := 0
		for _, file := range files {
			served += serveArms(t, e, file)
		}
		if served == 0 {
			t.Errorf("no experiment has a server of %s", e.Names())
		}
	}
}

// serveArms looks at the arms of a file that have a server of an engine's.
func serveArms(t *testing.T, e lab.Engine, file string) (served int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x, err := experiment.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range x.Arms {
		s := a.Setup.Server
		if s == nil || !slices.Contains(e.Names(), s.Engine) {
			continue
		}
		served++
		if _, err := e.Files(lab.Program{}, *s, "/box/data", "/box/run"); err != nil {
			t.Errorf("%s, %s: %v", x.Name, a.Name, err)
		}
		if os.Getenv("PLUMB_REAL") != "" {
			t.Run(x.Name+"/"+a.Name, func(t *testing.T) { serveArm(t, e, *s) })
		}
	}
	return served
}

func serveArm(t *testing.T, e lab.Engine, s experiment.Server) {
	b := sandbox.ForTest(t, "")
	p, err := labbox.Start(t.Context(), b, "server", e, s, false)
	sandbox.Need(t, err)
	a, err := p.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	asAsked(t, e, a, s)
}
