package packages

import (
	"strings"
)

// installed is one line of dpkg's list.
type installed struct {
	name    string // with its architecture: libc6:amd64
	version string
	status  string
}

// queryFormat is how dpkg-query writes a package.
const queryFormat = `${Package}:${Architecture} ${Version} ${db:Status-Status}\n`

// listing asks for all packages. One that is named and not known would be an error.
func listing() []string { return []string{"dpkg-query", "-W", "-f=" + queryFormat} }

// line is how a package stands in the listing when it is installed.
func (i installed) line() string { return i.name + " " + i.version + " " + isInstalled }

// Words of dpkg for the state of a package.
const (
	isInstalled = "installed"
	isGone      = "not-installed"
	isRemoved   = "config-files" // removed, but for its configuration
)

// parseListing reads the listing. A package that was never unpacked has no version.
func parseListing(text []byte) (all []installed) {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch len(f) {
		case 2:
			all = append(all, installed{name: f[0], status: f[1]})
		case 3:
			all = append(all, installed{f[0], f[1], f[2]})
		}
	}
	return all
}

// plain gives the name of a package without its architecture.
func plain(name string) string { name, _, _ = strings.Cut(name, ":"); return name }

// plains gives the names of packages without their architectures.
func plains(all []installed) (names []string) {
	for _, i := range all {
		names = append(names, plain(i.name))
	}
	return names
}
