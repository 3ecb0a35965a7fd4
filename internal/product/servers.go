package product

import "regexp"

// servers is the table.
var servers = []Server{
	{
		Kind: MySQL,
		Flavors: []Flavor{
			{Name: MariaDB, Label: "MariaDB", Private: true},
			{Name: MySQL, Label: "MySQL", Private: true},
			{Name: Percona, Label: "Percona Server", Private: true},
		},
		Programs: []string{"mariadbd", "mysqld"},
		Wrappers: []string{"mysqld_safe", "mariadbd-safe"},
		Accounts: []string{"mysql", "mariadb"},
		Units:    regexp.MustCompile(`^(mysql|mysqld|mariadb)(@[^/]+)?\.service$`),
		Places: []Place{
			{"", []string{"/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"}},
			{"/usr/local/mysql", []string{"bin"}}, {"/usr/local/mariadb", []string{"bin"}},
			{"/opt/mysql*", []string{"bin"}}, {"/opt/mariadb*", []string{"bin"}}, {"/opt/percona*", []string{"bin"}},
		},
		Schemes:   []string{"mysql", "mariadb"},
		Verify:    "tls=true",
		Config:    "my.cnf",
		SELinux:   "mysqld_db_t",
		FirstFile: "ibdata1",
		Files: []Files{
			{"data", []string{"aria_log.*", "aria_log_control"}},
			{"temporary", []string{"ibtmp*", "#innodb_temp/*", "#sql*", "*/#sql*", "ML*"}},
			{"redo", []string{"ib_logfile*", "#ib_redo*"}},
			{"undo", []string{"undo_*", "undo0*"}},
			{"relaylog", []string{"*relay*.[0-9][0-9][0-9][0-9][0-9][0-9]*"}},
			{"binlog", []string{"*.[0-9][0-9][0-9][0-9][0-9][0-9]*"}},
		},
		// Of a table in partitions each has a file: t#P#p0, t#p#p0#sp#p0sp0.
		Tables:     regexp.MustCompile(`^([^/]+/[^/#]+)(?:#[pP]#[^/]*)?\.(?:ibd|MYD|MYI|MAD|MAI)$`),
		Notation:   Option,
		Dialect:    &mysqlDialect,
		SparseLogs: true,
	},
	{
		Kind:     Postgres,
		Flavors:  []Flavor{{Name: Postgres, Label: "PostgreSQL", Private: true}},
		Programs: []string{"postgres", "postmaster"},
		Accounts: []string{"postgres", "pgsql", "enterprisedb"},
		Units:    regexp.MustCompile(`^(postgresql|edb-as)(-[0-9.]+)?(@[^/]+)?\.service$`),
		// Of Debian's packages, of the project's own, of archives, and of
		// distributions with one version.
		Places: []Place{{"", []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/opt/postgresql*/bin",
			"/usr/local/pgsql*/bin", "/usr/local/bin", "/usr/bin"}}},
		Schemes:   []string{"postgres", "postgresql"},
		Verify:    "sslmode=verify-full",
		Config:    "postgresql.conf",
		SELinux:   "postgresql_db_t",
		FirstFile: "global/pg_control",
		Files: []Files{{"temporary", []string{"pgsql_tmp/*", "pgsql_tmp/*/*", "PG_*/pgsql_tmp/*", "PG_*/pgsql_tmp/*/*",
			"*/t[0-9]*_[0-9]*", "PG_*/*/t[0-9]*_[0-9]*"}}},
		// By the number of its database, and that of its files, which pg_filenode_relation() knows. Those of an index are its own.
		Tables:       regexp.MustCompile(`^(?:base|PG_[^/]+)/([0-9]+/[0-9]+)(?:_(?:fsm|vm|init))?(?:\.[0-9]+)?$`),
		Notation:     Units,
		Dialect:      &postgresDialect,
		SharesMemory: true,
	},
	{
		Kind: Mongo,
		Flavors: []Flavor{
			{Name: "mongodb", Label: "MongoDB"},
			{Name: Percona, Label: "Percona Server for MongoDB", Claim: "percona-mongodb"},
			{Name: "ferretdb", Label: "FerretDB", Unruled: true},
		},
		Programs:       []string{"mongod", "mongos"},
		Schemes:        []string{"mongodb", "mongodb+srv"},
		Verify:         "tls=true",
		Config:         "mongod.conf",
		SELinux:        "mongod_var_lib_t",
		FirstFile:      "WiredTiger",
		HidesAllocator: true,
	},
	{
		Kind:     ProxySQL,
		Flavors:  []Flavor{{Name: ProxySQL, Label: "ProxySQL"}},
		Programs: []string{"proxysql"},
	},
}
