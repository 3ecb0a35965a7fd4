package cli

import (
	"strings"

	"plumb/internal/engine/mysql"
)

// grants gives, for each engine, what makes the least user a check needs.
func grants() string {
	parts := []string{
		mysql.Grants("mariadb", ""), mysql.Grants("mysql", ""), mysql.Grants("mysql", "5.7"),
		postgresGrants, mongoGrants,
	}
	return "-- Look through these, and run those of your server.\n\n" + strings.Join(parts, "\n")
}

const postgresGrants = `-- PostgreSQL 10 and later. The operating-system user plumb logs in over the socket (peer).
CREATE ROLE plumb LOGIN;
GRANT pg_monitor TO plumb;
`

const mongoGrants = `// MongoDB 4.4 and later, in mongosh.
use admin
db.createUser({user: "plumb", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
`
