package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// source is the product's module, as seen from this one's directory.
const source = ".."

// licences gives Plumb's licence and those of all it was built from, which ask
// to be passed on with the binary.
func licences(info *debug.BuildInfo) ([]byte, error) {
	var all bytes.Buffer
	own, err := licence(source)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&all, "Plumb\n\n%s", own)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	text, err := licence(strings.TrimSpace(string(root)))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&all, "\n\nThe Go standard library %s\n\n%s", info.GoVersion, text)
	dirs, err := directories(info)
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		text, err := licence(dirs[d.Path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		fmt.Fprintf(&all, "\n\n%s %s\n\n%s", d.Path, d.Version, text)
	}
	return all.Bytes(), nil
}

// directories tells where the modules of a binary are on this machine.
func directories(info *debug.BuildInfo) (map[string]string, error) {
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}
	for _, d := range info.Deps {
		args = append(args, d.Path)
	}
	c := exec.Command("go", args...)
	c.Dir = source
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[name] = dir
	}
	return dirs, nil
}

// licence reads the licence files of a module. Without one it may not be passed on.
func licence(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		for _, want := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
			if !strings.HasPrefix(name, want) || e.IsDir() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			all = append(all, text...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no licence in %s", dir)
	}
	return all, nil
}
