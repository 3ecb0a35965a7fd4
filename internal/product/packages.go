package product

import "strings"

// Packages are those of one flavour in systems' own archives.
type Packages struct {
	Apt, Dnf string // without a version: what the system has, in the words of apt and of dnf
	Of       string // with one, which stands for {}: "postgresql-{}"; "" where archives have one only
	// Answers are given to Debian's questions before the packages are removed
	// together with a server that holds nothing.
	Answers []string
	Home    string // where they make the first server's files
	Service string // what starts and stops it, of Debian's; "" where that is not known
	Socket  string // and where it listens, of Debian's
	// Strangers are patterns of find(1) below Home, of which each is somebody's data and not
	// what every new server has: alternatives of words that are all wanted.
	Strangers [][]string
	// Elsewhere is a text for sh: it lists the servers that go with the packages whose data are not below Home, which is its
	// $1. "": whatever is elsewhere stays.
	Elsewhere string
	Kin       []string // sources of packages that come with the server's and have versions of their own
	Leave     []string // users and groups that stay when the packages go
}

// With gives the name of the server's package in Debian's way, of a version or
// of "", which stands for what the system has; "" where there is none.
func (p Packages) With(version string) string {
	if version == "" {
		return p.Apt
	}
	return strings.ReplaceAll(p.Of, "{}", version)
}

// PackagesOf gives the packages of a flavour; the zero value where nobody
// but its makers has any.
func PackagesOf(flavor string) Packages {
	switch flavor {
	case MariaDB:
		return Packages{Apt: "mariadb-server", Dnf: "mariadb-server", Home: "/var/lib/mysql", Socket: "/run/mysqld/mysqld.sock", Service: "mariadb", Strangers: ofMySQL, Kin: []string{"galera-4"}, Leave: []string{"mysql"},
			Answers: []string{"mariadb-server mariadb-server/postrm_remove_databases boolean true"}}
	case MySQL:
		return Packages{Apt: "mysql-server", Dnf: "mysql-server", Of: "mysql-server-{}", Home: "/var/lib/mysql", Socket: "/var/run/mysqld/mysqld.sock", Strangers: ofMySQL, Leave: []string{"mysql"}}
	case Percona:
		return Packages{Apt: "percona-server-server", Dnf: "percona-server-server", Home: "/var/lib/mysql", Socket: "/var/run/mysqld/mysqld.sock", Strangers: ofMySQL, Leave: []string{"mysql"}}
	case Postgres:
		return Packages{Apt: "postgresql", Dnf: "postgresql-server", Of: "postgresql-{}", Home: "/var/lib/postgresql", Socket: "/var/run/postgresql/.s.PGSQL.5432", Leave: []string{"postgres", "ssl-cert"}, Strangers: [][]string{
			// What people make has numbers from 16384 on: databases, and tables in the databases that are there.
			{"-path", "*/base/*", "-name", "1[6-9][0-9][0-9][0-9]*"},
			{"-path", "*/base/*", "-name", "[2-9][0-9][0-9][0-9][0-9]*"},
			{"-path", "*/base/*", "-name", "1[0-5][0-9][0-9][0-9][0-9]*"},
			{"-path", "*/pg_tblspc/*"},
		}, Elsewhere: `! command -v pg_lsclusters >/dev/null || { all=$(pg_lsclusters -h); printf '%s\n' "$all" | awk -v home="$1/" 'NF > 5 && index($6, home) != 1 { print $1 "/" $2 " in " $6 }'; }`}
	}
	return Packages{}
}

// A database is a directory in the data directory.
var ofMySQL = [][]string{{"-path", "/var/lib/mysql/*", "-not", "-path", "/var/lib/mysql/*/*", "-type", "d", "-not", "-name", "mysql", "-not", "-name", "performance_schema",
	"-not", "-name", "sys", "-not", "-name", "#*", "-not", "-name", "lost+found"}}
