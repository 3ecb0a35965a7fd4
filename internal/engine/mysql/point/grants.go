package point

import (
	"plumb/internal/engine/mysql"
	"plumb/internal/product"
)

// Grants gives statements for a user with the least rights that each verb needs,
// and says what is lost without each. flavor and version may be empty; then the
// text is for MySQL 8.0 and later.
func Grants(flavor, version string) string {
	switch {
	case flavor == product.MariaDB:
		return grantsOfMariaDB
	case version != "" && !mysql.AtLeast(version, "8.0"):
		return grantsOf57
	}
	return grantsOfMySQL
}

const grantsOfMariaDB = `-- MariaDB 10.5 and later, for snapshot and protect. Before 10.5 BINLOG MONITOR is called REPLICATION CLIENT.
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED VIA unix_socket;
-- locked: BACKUP STAGE and FLUSH ENGINE LOGS; without it there is no locked mode
GRANT RELOAD ON *.* TO plumb@localhost;
-- the position in the binary log; without it a point has none, and nothing proves that the lock held
GRANT BINLOG MONITOR ON *.* TO plumb@localhost;
-- whether all tables are transactional; without it there is no crash mode
GRANT SHOW VIEW ON *.* TO plumb@localhost;
-- who stands in the way of the lock; without it only the lock's own time limit holds
GRANT PROCESS ON *.* TO plumb@localhost;
-- locked, on a node of Galera: wsrep_desync; without it there is no locked mode there
-- GRANT SUPER ON *.* TO plumb@localhost;
-- clone --replica: for the account with which the copy follows, not for plumb
-- GRANT REPLICATION SLAVE ON *.* TO replica@localhost;
-- Drills, clones, rollback and prune ask nothing more of this server: copies are started without accounts.
`

const grantsOfMySQL = `-- MySQL and Percona Server 8.0 and later, for snapshot and protect.
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED WITH auth_socket;
-- locked: FLUSH TABLES WITH READ LOCK and FLUSH ENGINE LOGS; without it there is no locked mode
GRANT RELOAD ON *.* TO plumb@localhost;
-- locked: LOCK INSTANCE FOR BACKUP; without it there is no locked mode
GRANT BACKUP_ADMIN ON *.* TO plumb@localhost;
-- the position in the binary log; without it a point has none, and nothing proves that the lock held
GRANT REPLICATION CLIENT ON *.* TO plumb@localhost;
-- whether all tables are transactional; without it there is no crash mode
GRANT SHOW VIEW ON *.* TO plumb@localhost;
-- who stands in the way of the lock; without them only the lock's own time limit holds
GRANT PROCESS ON *.* TO plumb@localhost;
GRANT SELECT ON performance_schema.* TO plumb@localhost;
-- prepared XA transactions; without it they are neither waited for nor named
GRANT XA_RECOVER_ADMIN ON *.* TO plumb@localhost;
-- clone --replica: for the account with which the copy follows, not for plumb
-- GRANT REPLICATION SLAVE ON *.* TO replica@localhost;
-- Drills, clones, rollback and prune ask nothing more of this server: copies are started without accounts.
`

const grantsOf57 = `-- MySQL and Percona Server 5.7, for snapshot and protect; from the documentation, never run here.
CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED WITH auth_socket;
-- locked: FLUSH TABLES WITH READ LOCK and FLUSH ENGINE LOGS; without it there is no locked mode
GRANT RELOAD ON *.* TO plumb@localhost;
-- the position in the binary log; without it a point has none, and nothing proves that the lock held
GRANT REPLICATION CLIENT ON *.* TO plumb@localhost;
-- whether all tables are transactional; without it there is no crash mode
GRANT SHOW VIEW ON *.* TO plumb@localhost;
-- who stands in the way of the lock; without it only the lock's own time limit holds
GRANT PROCESS ON *.* TO plumb@localhost;
`
