// Package load_test runs plumb load as a user does: the built program against
// private servers and files.
package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plumb/test/sandbox"
)

// shared is what the tests have in common: the program, and servers that are
// started when the first test asks for them.
type shared struct {
	plumb string
	box   *sandbox.Box
	mu    sync.Mutex
	up    map[string]*sandbox.Server
	why   map[string]error
}

var common = shared{up: map[string]*sandbox.Server{}, why: map[string]error{}}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "plumb-load-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	common.plumb = filepath.Join(dir, "plumb")
	build := exec.Command("go", "build", "-o", common.plumb, "plumb")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build plumb: %v: %s", err, out)
		return 1
	}
	defer func() {
		if common.box != nil {
			if err := common.box.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}()
	return m.Run()
}

// server gives the private server of an engine, and the options that name it.
func server(t *testing.T, engine string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers: run without -short")
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.up[engine] == nil && common.why[engine] == nil {
		common.up[engine], common.why[engine] = common.start(engine)
	}
	must(t, common.why[engine])
	s := common.up[engine]
	if engine == "mysql" {
		return []string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=sbtest"}
	}
	return []string{"--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", s.Port), "--pgsql-user=" + s.User, "--pgsql-db=sbtest"}
}

func (c *shared) start(engine string) (s *sandbox.Server, err error) {
	if c.box == nil {
		if c.box, err = sandbox.New(""); err != nil {
			return nil, err
		}
	}
	if engine == "mysql" {
		s, err = c.box.MySQL(sandbox.MySQLOptions{Name: "my", Settings: "local_infile=1\nmax_connections=60"})
	} else {
		s, err = c.box.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 54871})
	}
	if err != nil {
		return nil, err
	}
	return s, s.Exec("CREATE DATABASE sbtest")
}

// must skips for what the machine does not offer and fails for the rest.
func must(t *testing.T, err error) {
	t.Helper()
	if missing, ok := errors.AsType[sandbox.Missing](err); ok {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// plumb runs plumb load and wants an exit code.
func plumb(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	cmd := exec.Command(common.plumb, append([]string{"load"}, args...)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Run()
	timer.Stop()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("plumb load %s: exit %d (%v), want %d\n%s%s", strings.Join(args, " "), got, err, code, o.String(), e.String())
	}
	return o.String(), e.String()
}

// reads wants text to match all of some expressions.
func reads(t *testing.T, text string, expressions ...string) {
	t.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile("(?m)" + e).MatchString(text) {
			t.Errorf("%s is not in:\n%s", e, text)
		}
	}
}

// document reads JSON and checks it against the schema that plumb publishes.
func document(t *testing.T, name, text string, into any) {
	t.Helper()
	schema, err := exec.Command(common.plumb, "schema", name).Output()
	must(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	must(t, err)
	c := jsonschema.NewCompiler()
	must(t, c.AddResource("schema.json", parsed))
	s, err := c.Compile("schema.json")
	must(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	must(t, err)
	must(t, s.Validate(doc))
	must(t, json.Unmarshal([]byte(text), into))
}

// args joins lists of arguments.
func args(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
