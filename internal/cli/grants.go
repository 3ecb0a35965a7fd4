package cli

import (
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/product"
)

// grants returns, for each engine, the statements that make a user with no more rights than a check needs.
func grants() string {
	parts := []string{
		mysql.Grants(product.MariaDB, ""), mysql.Grants(product.MySQL, ""), mysql.Grants(product.MySQL, "5.7"),
		postgres.Grants(), mongoGrants,
	}
	return "-- Look through these, and run those of your server.\n\n" + strings.Join(parts, "\n")
}

const mongoGrants = `// MongoDB 4.4 and later, in mongosh.
use admin
db.createUser({user: "plumb", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
`
