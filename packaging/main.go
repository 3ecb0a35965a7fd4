// Packaging packs built binaries of Plumb: a .deb and an .rpm of each, an SBOM,
// and one file of checksums. It is a module of its own, so that the product
// depends on nothing that only packing needs.
//
//	packaging DIRECTORY
//
// The directory holds plumb-linux-ARCH for each architecture, one of them this
// machine's, which writes the man pages and completions. SOURCE_DATE_EPOCH is
// the time of everything that is packed: the same binaries and time give the
// same bytes.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// architectures are those that are packed: Go's name and rpm's. Debian's is Go's.
var architectures = []struct{ name, rpm string }{
	{"amd64", "x86_64"},
	{"arm64", "aarch64"},
}

// Package is what a package says of itself and what it holds.
type Package struct {
	Version string // as packages order it
	Arch    string // Debian's name
	RPMArch string
	Time    time.Time // of everything in it
	Files   []File    // sorted by path; directories only where their mode matters
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one directory with binaries plumb-linux-ARCH")
	}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is no time in seconds: %w", err)
	}
	dir, at := args[0], time.Unix(epoch, 0).UTC()
	docs, err := documents(filepath.Join(dir, "plumb-linux-"+runtime.GOARCH))
	if err != nil {
		return err
	}
	packed := 0
	for _, arch := range architectures {
		binary := filepath.Join(dir, "plumb-linux-"+arch.name)
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := pack(dir, binary, Package{Arch: arch.name, RPMArch: arch.rpm, Time: at}, docs); err != nil {
			return fmt.Errorf("pack %s: %w", binary, err)
		}
		packed++
	}
	if packed == 0 {
		return fmt.Errorf("there is no binary in %s", dir)
	}
	return sums(dir)
}

// pack makes all that is made of one binary.
func pack(dir, binary string, p Package, docs []File) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	p.Version = packageVersion(info.Main.Version)
	licences, err := licences(info)
	if err != nil {
		return err
	}
	p.Files = contents(program, licences, docs)
	bom, err := sbom(info, program, p)
	if err != nil {
		return err
	}
	deb, err := p.deb()
	if err != nil {
		return err
	}
	rpm, err := p.rpm()
	return errors.Join(err,
		os.WriteFile(binary+".cdx.json", bom, 0o644),
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("plumb_%s_%s.deb", p.Version, p.Arch)), deb, 0o644),
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("plumb-%s-1.%s.rpm", p.Version, p.RPMArch)), rpm, 0o644))
}

// packageVersion makes of Go's version one that packages order as Go does: what
// comes before a release is behind a tilde, and no part holds a hyphen.
func packageVersion(v string) string {
	v, ok := strings.CutPrefix(v, "v")
	if !ok { // (devel): the build knew no commit
		return "0~devel"
	}
	v, build, built := strings.Cut(v, "+")
	release, before, pre := strings.Cut(v, "-")
	if pre {
		release += "~" + strings.ReplaceAll(before, "-", ".")
	}
	if built {
		release += "+" + strings.ReplaceAll(build, "-", ".")
	}
	return release
}

// sums writes the checksums of all files in a directory.
func sums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	const name = "SHA256SUMS"
	var list strings.Builder
	for _, e := range entries { // sorted by name
		if !e.Type().IsRegular() || e.Name() == name {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(list.String()), 0o644)
}
