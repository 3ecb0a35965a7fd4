package mysql

// Grants gives statements that make a user which may read what Plumb reads
// and nothing else, for a person to look at and run. The user can log in over
// the socket only. flavor and version may be empty; then the text is for
// MySQL 8.0 and later.
//
// SHOW VIEW is there because information_schema.TABLES shows only tables one
// has a privilege on; it gives no access to rows.
func Grants(flavor, version string) string {
	if flavor == flavorMariaDB {
		return mariadbGrants
	}
	if version != "" && !AtLeast(version, "8.0") {
		return mysql57Grants
	}
	return mysqlGrants
}

const mariadbGrants = `-- MariaDB 10.5 and later. The operating-system user plumb logs in over the socket.
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED VIA unix_socket;
GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR, SHOW VIEW ON *.* TO plumb@localhost;
GRANT SELECT ON performance_schema.* TO plumb@localhost;
`

const mysqlGrants = `-- MySQL and Percona Server 8.0 and later. The operating-system user plumb logs in
-- over the socket; the plugin auth_socket must be there:
-- INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED WITH auth_socket;
GRANT PROCESS, REPLICATION CLIENT, SHOW VIEW ON *.* TO plumb@localhost;
GRANT SELECT ON performance_schema.* TO plumb@localhost;
GRANT SELECT (User, Host, plugin) ON mysql.user TO plumb@localhost;
-- to count prepared XA transactions; it also tells their ids
GRANT XA_RECOVER_ADMIN ON *.* TO plumb@localhost;
`

const mysql57Grants = `-- MySQL and Percona Server 5.7. The operating-system user plumb logs in over the
-- socket; the plugin auth_socket must be there:
-- INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED WITH auth_socket;
GRANT PROCESS, REPLICATION CLIENT, SHOW VIEW ON *.* TO plumb@localhost;
GRANT SELECT ON performance_schema.* TO plumb@localhost;
`
