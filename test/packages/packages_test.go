// Package packages installs what make dist packs, runs it, and removes it.
package packages

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/program"
)

// packagesIn names a directory with packages to a test that runs again in a
// root of its own.
const packagesIn = "PLUMB_TEST_PACKAGES"

const packaging = "../../packaging"

// built is the directory with the packages of this machine's architecture.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plumb-packages-")
	if err != nil {
		panic(err)
	}
	built = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// canPack skips a test where nothing can be packed.
func canPack(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds packages: run without -short")
	}
	if out, err := exec.Command("go", "-C", packaging, "mod", "download").CombinedOutput(); err != nil {
		t.Skipf("the modules that packing needs cannot be had here: %s", out)
	}
}

// pack builds plumb and packs it, once.
func pack(t *testing.T) string {
	t.Helper()
	canPack(t)
	dir := filepath.Join(built, "one")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	p, err := program.Build(built)
	must(t, err)
	packInto(t, p.Path, dir)
	return dir
}

// packInto packs a binary into a new directory.
func packInto(t *testing.T, binary, dir string) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	arch, err := exec.Command("go", "env", "GOARCH").Output()
	must(t, err)
	must(t, os.Link(binary, filepath.Join(dir, "plumb-linux-"+strings.TrimSpace(string(arch)))))
	c := exec.Command("go", "-C", packaging, "run", ".", dir)
	c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("pack: %v: %s", err, out)
	}
}

// one gives the file of a directory that matches a pattern.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("want one %s in %s, got %v, %v", pattern, dir, files, err)
	}
	return files[0]
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return text
}

// TestPackagesAreTheSameAgain packs one binary twice, at other places and in another zone of time. It is a small one: to compress
// plumb itself twice would take most of the time of these tests, and show no more.
func TestPackagesAreTheSameAgain(t *testing.T) {
	canPack(t)
	dir := t.TempDir()
	small, first, second := filepath.Join(dir, "plumb"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if out, err := exec.Command("go", "build", "-o", small, "./testdata/standin").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	packInto(t, small, first)
	t.Setenv("TZ", "Asia/Tokyo")
	packInto(t, small, second)
	for _, pattern := range []string{"*.deb", "*.rpm", "*.cdx.json", "SHA256SUMS"} {
		if !bytes.Equal(read(t, one(t, first, pattern)), read(t, one(t, second, pattern))) {
			t.Errorf("%s differs", pattern)
		}
	}
	c := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	c.Dir = first
	out, err := c.CombinedOutput()
	if err != nil || strings.Count(string(out), ": OK\n") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSBOMNamesEveryModule holds it against what Go says of the binary.
func TestSBOMNamesEveryModule(t *testing.T) {
	dir := pack(t)
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version, Purl string }
	}
	must(t, json.Unmarshal(read(t, one(t, dir, "*.cdx.json")), &bom))
	got := map[string]string{}
	for _, c := range bom.Components {
		got[c.Name] = c.Version
	}
	out, err := exec.Command("go", "version", "-m", filepath.Join(built, "plumb")).Output()
	must(t, err)
	deps := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) >= 3 && f[0] == "dep" {
			deps++
			if got[f[1]] != f[2] {
				t.Errorf("%s %s is in the SBOM as %q", f[1], f[2], got[f[1]])
			}
		}
	}
	if deps < 10 || len(got) != deps+1 || got["stdlib"] == "" || bom.BOMFormat != "CycloneDX" {
		t.Errorf("the binary has %d modules, the SBOM %d and %q", deps, len(got), bom.BOMFormat)
	}
}

// TestScriptsAreClean has the shell and shellcheck read the packages' scripts
// as they are installed.
func TestScriptsAreClean(t *testing.T) {
	common := read(t, filepath.Join(packaging, "scripts/common.sh"))
	files, err := filepath.Glob(filepath.Join(packaging, "scripts/*-*.sh"))
	if err != nil || len(files) < 4 {
		t.Fatalf("scripts: %v, %v", files, err)
	}
	for _, file := range files {
		script := filepath.Join(t.TempDir(), filepath.Base(file))
		must(t, os.WriteFile(script, append(bytes.Clone(common), read(t, file)...), 0o644))
		for _, argv := range [][]string{{"sh", "-n"}, {"dash", "-n"}, {"shellcheck", "--severity=style"}} {
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Logf("no %s", argv[0])
				continue
			}
			if out, err := exec.Command(argv[0], append(argv[1:], script)...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
		}
	}
}
