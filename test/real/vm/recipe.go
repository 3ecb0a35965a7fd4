package vm

import (
	"crypto/sha256"
	_ "embed" // the scripts
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The releases of Debian there are machines of.
const (
	Bookworm = "bookworm" // OpenZFS 2.1, MariaDB 10.11, PostgreSQL 15
	Trixie   = "trixie"   // OpenZFS 2.3, MariaDB 11.8, PostgreSQL 17
)

// Ceph is trixie with Ceph 18 in place of OpenZFS.
const Ceph = "trixie-ceph"

// SELinux is trixie with Debian's policy, which is not enforced when it boots. A [Script] asks for it with the kernel's words
// "security=selinux".
const SELinux = "trixie-selinux"

// Releases lists them, oldest first.
func Releases() []string { return []string{Bookworm, Trixie} }

//go:embed guest/build.sh
var buildScript string

//go:embed guest/build_selinux.sh
var buildSELinux string

//go:embed guest/stub.sh
var stubScript string

//go:embed guest/init.sh
var initScript string

//go:embed guest/systemd.sh
var systemdScript string

//go:embed guest/run.sh
var runScript string

// recipe is all that decides what is in an image, except what Debian has under
// these names on the day.
type recipe struct {
	Release  string
	Mirror   string
	Size     string // of the disk, as mke2fs takes it; the file has holes
	Packages []string
	Build    string
	Stub     string
	Base     string `json:",omitempty"` // hash of the recipe of the release's image, which this one begins with; "": with nothing
}

// packages are what every machine has. Where zfsutils-linux is among them build.sh adds zfs-dkms,
// last because it takes the headers.
var packages = []string{
	"linux-image-cloud-amd64", "linux-headers-cloud-amd64", "zfsutils-linux",
	"mariadb-server", "postgresql",
	"systemd-sysv", "dbus", "udev", "kmod", "iproute2", "procps", "e2fsprogs", "xfsprogs",
	"mdadm", "lvm2", "thin-provisioning-tools", "bcache-tools", "nfs-kernel-server", "smartmontools", "sdparm",
}

// ofCeph are what a cluster on one machine needs beside; its client comes along with them.
var ofCeph = []string{"ceph-mon", "ceph-osd", "uuid-runtime"}

// ofSELinux are Debian's policy, and what shows and sets labels.
var ofSELinux = []string{"selinux-policy-default", "selinux-utils", "policycoreutils", "policycoreutils-python-utils"}

func recipeOf(name string) (recipe, error) {
	r := recipe{Release: name, Mirror: "http://deb.debian.org/debian", Size: "6G", Packages: packages, Build: buildScript, Stub: stubScript}
	switch {
	case name == Ceph:
		r.Release = Trixie
		r.Packages = slices.DeleteFunc(slices.Concat(packages, ofCeph), func(p string) bool { return p == "zfsutils-linux" })
	case name == SELinux: // nothing is fetched or built twice
		r.Release = Trixie
		r = recipe{Release: Trixie, Packages: ofSELinux, Build: buildSELinux, Base: r.hash()}
	case !slices.Contains(Releases(), name):
		return recipe{}, fmt.Errorf("no machine %q: there are %s, %s and %s", name, strings.Join(Releases(), ", "), Ceph, SELinux)
	}
	return r, nil
}

// hash names what the recipe makes.
func (r recipe) hash() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
