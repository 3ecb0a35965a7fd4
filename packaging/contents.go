package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// Where zsh looks for completions of packages: Debian's does elsewhere.
const (
	zshDebian = "/usr/share/zsh/vendor-completions/"
	zshOthers = "/usr/share/zsh/site-functions/"
)

// stateDir is where Plumb keeps its journals and the books of its labs.
const stateDir = "/var/lib/plumb"

// File is a file or, with Dir, a directory of a package. It belongs to root.
type File struct {
	Path string
	Mode int64
	Dir  bool
	Doc  bool // documentation: packages may be installed without it
	Body []byte
}

// contents lists what is installed.
func contents(program, licences []byte, docs []File) []File {
	all := append(slices.Clone(docs),
		File{Path: "/usr/bin/plumb", Mode: 0o755, Body: program},
		File{Path: "/usr/share/doc/plumb/copyright", Mode: 0o644, Doc: true, Body: licences},
		File{Path: stateDir, Mode: 0o700, Dir: true})
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// documents has a binary write its man pages, its completions, and the script by which Galera starts it.
func documents(binary string) ([]File, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	files, err := manPages(binary)
	if err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/plumb",
		"zsh":  zshDebian + "_plumb",
		"fish": "/usr/share/fish/vendor_completions.d/plumb.fish",
	} {
		text, err := exec.Command(binary, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
		files = append(files, File{Path: name, Mode: 0o644, Body: text})
	}
	script, err := exec.Command(binary, "sst", "--script").Output()
	if err != nil {
		return nil, fmt.Errorf("script for Galera: %w", err)
	}
	return append(files, File{Path: "/usr/bin/wsrep_sst_plumb", Mode: 0o755, Body: script}), nil
}

func manPages(binary string) ([]File, error) {
	dir, err := os.MkdirTemp("", "plumb-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command(binary, "man", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("write man pages: %w: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("write man pages: there are none: %w", err)
	}
	var files []File
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		packed, err := compress(text)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join("/usr/share/man/man1", filepath.Base(page)+".gz"), Mode: 0o644, Doc: true, Body: packed})
	}
	return files, nil
}

// compress packs with gzip, without a name and a time.
func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// What the scripts of both kinds of packages share comes first in each.
var (
	//go:embed scripts/common.sh
	commonScript string
	//go:embed scripts/deb-prerm.sh
	debPrerm string
	//go:embed scripts/deb-postrm.sh
	debPostrm string
	//go:embed scripts/deb-postinst.sh
	debPostinst string
	//go:embed scripts/rpm-preun.sh
	rpmPreun string
)

const (
	summary     = "finds what is out of line between a database and the machine under it"
	description = `Plumb reads a database host from the kernel to the database, says what is out
of line between the layers, and shows the evidence. It changes nothing unless it
is told to, and then keeps a journal, so that everything can be taken back.`
	maintainer = "The Plumb authors"
)
