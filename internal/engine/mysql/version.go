package mysql

import (
	"strings"

	"plumb/internal/catalog"
)

// The flavours.
const (
	flavorMySQL   = "mysql"
	flavorPercona = "percona"
	flavorMariaDB = "mariadb"
)

// number gives the version number at the beginning of what a server calls its
// version: "10.11.19-MariaDB-0+deb12u1-log" is 10.11.19. MariaDB before 11
// puts "5.5.5-" before it for old replicas.
func number(version string) string {
	if rest, ok := strings.CutPrefix(version, "5.5.5-"); ok && strings.Contains(rest, "MariaDB") {
		version = rest
	}
	return catalog.Numbers(version)
}

// flavor tells the product from @@version and @@version_comment.
func flavor(version, comment string) string {
	v, c := strings.ToLower(version), strings.ToLower(comment)
	switch {
	case strings.Contains(v, "mariadb"), strings.Contains(c, "mariadb"):
		return flavorMariaDB
	case strings.Contains(c, "percona"), strings.Contains(v, "percona"):
		return flavorPercona
	}
	return flavorMySQL
}

// Series gives major.minor, as it is used in option groups: 10.11.19 → 10.11.
// Between series, data is not exchanged without an upgrade.
func Series(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// AtLeast compares version numbers. It must only be used between versions of
// one flavour. A version that cannot be read is taken for a new one.
func AtLeast(version, least string) bool {
	have, err := catalog.ParseVersion(version)
	want, err2 := catalog.ParseVersion(least)
	return err != nil || err2 != nil || have.Compare(want) >= 0
}
