package main

import (
	"bytes"
	"strings"

	"github.com/google/rpmpack"
)

// rpm makes an RPM package.
func (p Package) rpm() ([]byte, error) {
	r, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: "plumb", Summary: summary, Description: description, Version: p.Version, Release: "1", Arch: p.RPMArch,
		Vendor: maintainer, Packager: maintainer, Licence: "Apache-2.0", BuildHost: "localhost",
		Compressor: "gzip", Epoch: rpmpack.NoEpoch, BuildTime: p.Time,
	})
	if err != nil {
		return nil, err
	}
	for _, program := range []string{"/bin/sh", "coreutils", "findutils", "sed"} { // of its script
		need, err := rpmpack.NewRelation(program)
		if err != nil {
			return nil, err
		}
		r.Requires = append(r.Requires, need)
	}
	for _, f := range p.Files {
		name := strings.Replace(f.Path, zshDebian, zshOthers, 1)
		one := rpmpack.RPMFile{Name: name, Body: f.Body, Mode: uint(f.Mode), Owner: "root", Group: "root", MTime: uint32(p.Time.Unix())}
		if f.Dir {
			one.Mode |= 0o40000
		}
		if f.Doc {
			one.Type = rpmpack.DocFile
		}
		r.AddFile(one)
	}
	r.AddPreun(commonScript + rpmPreun)
	var b bytes.Buffer
	err = r.Write(&b)
	return b.Bytes(), err
}
