// Package mysql reads MySQL, MariaDB and Percona Server: their settings with
// where each comes from and what the next start would change, their status,
// their replication, and which paths they keep their data in.
//
// MariaDB is treated as an engine of its own. What a version can do is asked
// of the server (does the variable exist?) before its number is looked at.
// It also sets their variables: now, and where the next start reads them last.
// Without a login the package still tells what option files and the process
// show.
package mysql
