package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// modules are those whose packages are judged together, so that what only
// research uses is not dead.
var modules = []string{".", "research", "packaging"}

// unreachable says what cannot be asked from here.
type unreachable struct{ why string }

func (u unreachable) Error() string { return u.why }

// workspace is the repository as one Go workspace, and where the tools are.
type workspace struct{ root, bin string }

// install builds the tools that the module in dir pins.
func (w workspace) install(dir string) error {
	if out, err := w.command(dir, "off", "go", "mod", "download").CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("SECURITY ERROR")) || bytes.Contains(out, []byte("malformed go.sum")) {
			return fmt.Errorf("download the tools: %w\n%s", err, out)
		}
		return unreachable{"they cannot be downloaded: " + lastLine(out)}
	}
	if err := os.MkdirAll(w.bin, 0o755); err != nil {
		return err
	}
	if out, err := w.command(dir, "off", "go", "build", "-o", w.bin+"/", "tool").CombinedOutput(); err != nil {
		return fmt.Errorf("build the tools: %w\n%s", err, out)
	}
	return nil
}

func (w workspace) file() string { return filepath.Join(w.bin, "go.work") }

// write makes the file that joins the modules.
func (w workspace) write() error {
	release, err := goRelease(filepath.Join(w.root, "go.mod"))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "go %s\n", release)
	for _, m := range modules {
		fmt.Fprintf(&b, "use %q\n", filepath.Join(w.root, m))
	}
	return os.WriteFile(w.file(), []byte(b.String()), 0o644)
}

func goRelease(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if release, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(release), nil
		}
	}
	return "", fmt.Errorf("%s has no line that begins with go", file)
}

// ask runs a tool on all modules and gives its findings, one a line.
func (w workspace) ask(t tool) ([]string, error) {
	var patterns []string
	for _, m := range modules {
		patterns = append(patterns, "./"+filepath.Join(m, "..."))
	}
	cmd := w.command(w.root, w.file(), filepath.Join(w.bin, t.name), slices.Concat(t.args, patterns)...)
	// They end soon, and need not collect their garbage often: deadcode takes a third less of the processor.
	cmd.Env = append(cmd.Env, "GOGC=400")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if t.offline != "" && strings.Contains(said.String(), t.offline) {
		return nil, unreachable{lastLine(said.Bytes())}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != t.foundSome) {
		return nil, fmt.Errorf("%s: %w\n%s%s", t.name, err, &said, &out)
	}
	return t.parse(out.Bytes())
}

// command sets what Go reads from the environment and would mean something
// else in a workspace.
func (w workspace) command(dir, work, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK="+work, "GOFLAGS=-buildvcs=false")
	return cmd
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
