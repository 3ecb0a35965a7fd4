package main

import (
	"archive/tar"
	"bytes"
	"crypto/md5" // what dpkg verifies installed files with
	"fmt"
	"path"
	"strings"
	"time"
)

// deb makes a Debian package (deb(5)): an ar archive of three members. Written
// here, it is the same on any machine; dpkg-deb's bytes differ by its version.
func (p Package) deb() ([]byte, error) {
	control, err := archive(p.Time, p.controlFiles())
	if err != nil {
		return nil, err
	}
	data, err := archive(p.Time, p.Files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	member(&b, p.Time, "debian-binary", []byte("2.0\n"))
	member(&b, p.Time, "control.tar.gz", control)
	member(&b, p.Time, "data.tar.gz", data)
	return b.Bytes(), nil
}

// member adds a file to an ar archive.
func member(b *bytes.Buffer, at time.Time, name string, body []byte) {
	fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, at.Unix(), 0, 0, "100644", len(body))
	b.Write(body)
	if len(body)%2 == 1 {
		b.WriteByte('\n')
	}
}

func (p Package) controlFiles() []File {
	size := 0
	var digests strings.Builder
	for _, f := range p.Files {
		size += len(f.Body)
		if !f.Dir {
			fmt.Fprintf(&digests, "%x  %s\n", md5.Sum(f.Body), strings.TrimPrefix(f.Path, "/"))
		}
	}
	control := fmt.Sprintf("Package: plumb\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: database\nPriority: optional\nDescription: %s\n %s\n",
		p.Version, p.Arch, maintainer, (size+1023)/1024, summary, strings.ReplaceAll(description, "\n", "\n "))
	script := func(text string) []byte { return []byte(commonScript + text) }
	return []File{
		{Path: "/control", Mode: 0o644, Body: []byte(control)},
		{Path: "/md5sums", Mode: 0o644, Body: []byte(digests.String())},
		{Path: "/postinst", Mode: 0o755, Body: script(debPostinst)},
		{Path: "/postrm", Mode: 0o755, Body: script(debPostrm)},
		{Path: "/prerm", Mode: 0o755, Body: script(debPrerm)},
	}
}

// archive makes a compressed tar archive of files, with the directories above
// them, which dpkg wants to see before what is in them.
func archive(at time.Time, files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	seen := map[string]bool{}
	add := func(name string, mode int64, dir bool, body []byte) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: "." + name, Mode: mode, Size: int64(len(body)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatGNU}
		if dir {
			h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(h.Name, "/")+"/"
			seen[name] = true
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(body)
		return err
	}
	for _, f := range files {
		for _, dir := range above(f.Path) {
			if seen[dir] {
				continue
			}
			if err := add(dir, 0o755, true, nil); err != nil {
				return nil, err
			}
		}
		if err := add(f.Path, f.Mode, f.Dir, f.Body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return compress(b.Bytes())
}

// above lists the directories above a path, the root first.
func above(name string) []string {
	if name == "/" {
		return nil
	}
	dir := path.Dir(name)
	return append(above(dir), dir)
}
