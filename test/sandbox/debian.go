package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const debian = "http://deb.debian.org/debian/"

// mysqlPackages are Debian sid's MySQL server, its clients and every library
// they need beside them, so that it runs on any older system with its own loader.
var mysqlPackages = []string{
	"mysql-server-core", "libaio1t64", "libc6", "libcurl4t64", "libfido2-1", "libgcc-s1", "libgoogle-perftools4t64",
	"libicu78", "liblz4-1", "libmecab2", "libnuma1", "libprotobuf32t64", "libprotobuf-lite32t64", "libssl3t64",
	"libstdc++6", "libtirpc3t64", "libzstd1", "zlib1g", "libtcmalloc-minimal4t64", "libunwind8", "liblzma5", "libcbor0.10",
	"libudev1", "libcap2", "libgssapi-krb5-2", "libkrb5-3", "libk5crypto3", "libkrb5support0", "libcom-err2", "libkeyutils1",
	"mysql-client-core", "libedit2", "libtinfo6", "libbsd0", "libmd0",
}

// MySQLTree gives the directory of MySQL from Debian sid, unpacked without
// being installed, and the loader its programs have to be started with.
func MySQLTree() (base string, loader []string, err error) {
	base, err = cacheDir(mysqlDir)
	if err != nil {
		return "", nil, err
	}
	err = once(base, filepath.Join(base, mysqlLast), func() error { return unpackPackages(base, mysqlPackages) })
	if err != nil {
		return "", nil, err
	}
	return MySQLUnpacked()
}

const (
	mysqlDir  = "mysql-sid"          // in the cache
	mysqlLast = "usr/bin/mysqlcheck" // a tree without it is of before the clients, and fetched again
)

// MySQLUnpacked is MySQLTree if that was fetched already.
func MySQLUnpacked() (base string, loader []string, err error) {
	base = filepath.Join(Cache(), mysqlDir)
	if !executable(filepath.Join(base, mysqlLast)) {
		return "", nil, Missing{"no MySQL of Debian sid in " + base, "run a test that fetches it"}
	}
	lib := base + "/usr/lib/x86_64-linux-gnu"
	ld, err := find("no loader in "+base, "remove that directory and try again",
		base+"/usr/lib64/ld-linux-x86-64.so.2", lib+"/ld-linux-x86-64.so.2")
	if err != nil {
		return "", nil, err
	}
	return base, []string{ld, "--library-path", lib + ":" + base + "/usr/lib/mysql/private"}, nil
}

// unpackPackages downloads and unpacks the packages that exist; which
// libraries the server needs changes with its version, so a library that sid
// no longer has is left out, and the server itself says what it misses.
func unpackPackages(base string, names []string) error {
	files, err := packageFiles(base, names)
	if err != nil {
		return Missing{"cannot read Debian's package list: " + err.Error(), "run where Debian's packages can be reached"}
	}
	if _, ok := files[names[0]]; !ok {
		return Missing{"Debian sid has no " + names[0], "look for another source of MySQL"}
	}
	for name, file := range files {
		deb := filepath.Join(base, name+".deb")
		if err := download(debian+file, deb); err != nil {
			return err
		}
		if _, err := output(exec.Command("dpkg-deb", "-x", deb, base)); err != nil {
			return Missing{err.Error(), "run on Debian or Ubuntu"}
		}
		os.Remove(deb)
	}
	return nil
}

// packageFiles finds the archive paths of packages in sid's index.
func packageFiles(dir string, names []string) (map[string]string, error) {
	index := filepath.Join(dir, "Packages.xz")
	if err := download(debian+"dists/sid/main/binary-amd64/Packages.xz", index); err != nil {
		return nil, err
	}
	defer os.Remove(index)
	cmd := exec.Command("xz", "-dc", index)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: apt-get install xz-utils", err)
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	files, current := map[string]string{}, ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "Package: "); ok {
			current = name
		}
		if file, ok := strings.CutPrefix(lines.Text(), "Filename: "); ok && wanted[current] {
			files[current] = file
		}
	}
	return files, cmd.Wait()
}
