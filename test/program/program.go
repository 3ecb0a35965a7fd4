// Package program runs the built plumb in tests, as a user does.
package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/strictyaml/schematest"
	"plumb/test/locked"
)

// runTime ends a command that hangs. The long tests run whole experiments.
func runTime() time.Duration {
	if os.Getenv("PLUMB_REAL") != "" {
		return 40 * time.Minute
	}
	return 6 * time.Minute
}

// Program is the built plumb.
type Program struct{ Path string }

// Build builds plumb into a directory. PLUMB_PROGRAM names one that is built already, for a
// machine without Go. It is linked once for all packages whose tests run it, and without what debuggers read, as make does: go build
// leaves what is up to date.
func Build(dir string) (Program, error) {
	if built := os.Getenv("PLUMB_PROGRAM"); built != "" {
		return Program{built}, nil
	}
	p := Program{filepath.Join(dir, "plumb")}
	cache, err := os.UserCacheDir()
	if err != nil {
		return p, err
	}
	cache = filepath.Join(cache, "plumb-test")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return p, err
	}
	lock, err := locked.File(filepath.Join(cache, "lock"))
	if err != nil {
		return p, err
	}
	defer lock.Close()
	build := exec.Command("sh", "-c", `go build -ldflags "-s -w" -o "$1" plumb && cp "$1" "$2"`, "sh", filepath.Join(cache, "plumb"), p.Path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("build plumb: %w: %s", err, out)
	}
	return p, nil
}

// ForTest builds plumb for a test.
func ForTest(t testing.TB) Program {
	t.Helper()
	p, err := Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Rogue builds the server of somebody else (test/rogue) into a directory.
func Rogue(dir string) (string, error) {
	path := filepath.Join(dir, "rogue")
	build := exec.Command("go", "build", "-o", path, "plumb/test/rogue")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the rogue server: %w: %s", err, out)
	}
	return path, nil
}

// Run runs plumb and wants an exit code.
func (p Program) Run(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	cmd := exec.Command(p.Path, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	timer := time.AfterFunc(runTime(), func() { cmd.Process.Kill() })
	err := cmd.Run()
	timer.Stop()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("plumb %s: exit %d (%v), want %d\n%s%s", strings.Join(args, " "), got, err, code, o.String(), e.String())
	}
	return o.String(), e.String()
}

// Awaits tells whether plumb was refused because a command still runs that a killed one has left. A person waits, and types it again.
func Awaits(said []byte) bool {
	return strings.Contains(string(said), "is still running; a Plumb that was killed started it\nhint: wait until it has ended")
}

// Document reads JSON and checks it against the schema that plumb publishes.
func (p Program) Document(t *testing.T, name, text string, into any) {
	t.Helper()
	schema, err := exec.Command(p.Path, "schema", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.JSON(schema, []byte(text)); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// Reads wants text to match all of some expressions.
func Reads(t *testing.T, text string, expressions ...string) {
	t.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile("(?m)" + e).MatchString(text) {
			t.Errorf("%s is not in:\n%s", e, text)
		}
	}
}
