package points

import (
	"testing"

	"plumb/test/sandbox"
)

// mariaDB is the installed server.
func mariaDB() dialect {
	return dialect{
		family: mysqlFamily("mariadb", func() (sandbox.MySQLOptions, error) {
			return sandbox.MySQLOptions{Settings: "innodb_log_file_size = 16M\nbinlog_format = ROW\nmax_binlog_size = 1M\nlog_slave_updates = ON\n"}, nil
		}),
		ground:  grounds[0],
		product: "MariaDB",
		status:  "SHOW MASTER STATUS",
		follow:  "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'",
		follows: "SHOW ALL SLAVES STATUS",
		last:    "SELECT @@last_gtid",
		none:    []string{"master.info"},
		started: func(string) sandbox.MySQLOptions { return sandbox.MySQLOptions{} },
	}
}

// TestPointOfMariaDBAtItsMoment brings one point to two moments.
func TestPointOfMariaDBAtItsMoment(t *testing.T) { pointAtItsMoment(t, mariaDB()) }

// TestPointsOfMariaDBToMoments brings two points to many.
func TestPointsOfMariaDBToMoments(t *testing.T) { pointsToMoments(t, mariaDB()) }

// TestPointsOfMariaDBThatAreRefused has points that are brought to none.
func TestPointsOfMariaDBThatAreRefused(t *testing.T) { pointsThatAreRefused(t, mariaDB()) }
