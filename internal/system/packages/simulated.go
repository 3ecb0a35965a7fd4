package packages

import (
	"fmt"
	"slices"
	"strings"
)

// simulated is what apt-get says it would do.
type simulated struct {
	comes   []installed // packages that are not there now
	changes []installed // that would get another version: this one
	goes    []string    // that would be removed
}

// parseSimulation reads what apt-get -s prints:
//
//	Inst libmariadb3 (1:10.11.14-0+deb12u2 Debian:12.12/oldstable [amd64]) [mariadb-client:amd64 ]
//	Inst libc6 [2.36-9] (2.36-9+deb12u10 Debian:12.12/oldstable [amd64])
//	Remv default-mysql-server [1.1.0]
func parseSimulation(text []byte) (s simulated, err error) {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "Remv", "Purg":
			s.goes = append(s.goes, plain(f[1]))
		case "Inst":
			if len(f) > 2 && strings.HasPrefix(f[2], "[") {
				p, err := parseInst(slices.Delete(f, 2, 3))
				if err != nil {
					return s, err
				}
				s.changes = append(s.changes, p)
				continue
			}
			p, err := parseInst(f)
			if err != nil {
				return s, err
			}
			s.comes = append(s.comes, p)
		}
	}
	return s, nil
}

// parseInst reads the words of one line.
func parseInst(f []string) (installed, error) {
	damaged := fmt.Errorf("apt-get -s says %q, which Plumb does not understand", strings.Join(f, " "))
	if len(f) < 4 || !strings.HasPrefix(f[2], "(") {
		return installed{}, damaged
	}
	for _, w := range f[3:] {
		arch, ends := strings.CutSuffix(w, "])")
		if !ends {
			continue
		}
		p := installed{name: plain(f[1]) + ":" + strings.TrimPrefix(arch, "["), version: strings.TrimPrefix(f[2], "("), status: isInstalled}
		if !isPackage(p.name) || !isVersion(p.version) {
			return installed{}, damaged
		}
		return p, nil
	}
	return installed{}, damaged
}

// isPackage tells whether a text is the name of a package, with its architecture or
// without: it becomes an argument of commands that root runs.
func isPackage(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '+' && name[0] != '.' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.:") == ""
}

// isVersion tells whether a text is a version of a package.
func isVersion(v string) bool {
	return v != "" && v[0] >= '0' && v[0] <= '9' && strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+-~:") == ""
}
