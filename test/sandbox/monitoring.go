package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
)

// monitoringPackages are what others watch servers with. They are unpacked and
// not installed: their packages would start them.
var monitoringPackages = []string{"prometheus", "prometheus-node-exporter", "prometheus-mysqld-exporter", "prometheus-postgres-exporter", "victoria-metrics"}

// Monitoring gives the directory of Prometheus, promtool, VictoriaMetrics and
// the usual exporters, from the packages of this system's own release, kept in
// the tests' cache.
func Monitoring() (bin string, err error) {
	base, err := cacheDir("monitoring")
	if err != nil {
		return "", err
	}
	bin = filepath.Join(base, "usr/bin")
	return bin, once(base, filepath.Join(bin, "victoria-metrics"), func() error { return unpackDownloads(base, monitoringPackages) })
}

// unpackDownloads unpacks packages that apt knows; the last one tells that all
// are there.
func unpackDownloads(base string, names []string) error {
	to, err := os.MkdirTemp(base, "download")
	if err != nil {
		return err
	}
	defer os.RemoveAll(to)
	for _, name := range names {
		get := exec.Command("apt-get", "-qq", "download", name)
		get.Dir = to
		if _, err := output(get); err != nil {
			return Missing{"no package " + name + ": " + err.Error(), "run on Debian 12 or later, where its packages can be reached, after apt-get update"}
		}
		files, err := filepath.Glob(filepath.Join(to, name+"_*.deb"))
		if err != nil || len(files) != 1 {
			return Missing{"apt-get download gave no package " + name, "try it by hand"}
		}
		if _, err := output(exec.Command("dpkg-deb", "-x", files[0], base)); err != nil {
			return Missing{err.Error(), "run on Debian or Ubuntu"}
		}
	}
	return nil
}
