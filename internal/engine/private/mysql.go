package private

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/engine/mysql/client"
	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/load"
	"plumb/internal/product"
)

// mysqlEngine implements [lab.Engine].
type mysqlEngine struct{ family }

func mysqlFamily(cache func() (string, error)) family {
	return family{
		programs: programs{
			Server: product.Of(product.MySQL),
			sources: map[string]source{
				product.MariaDB: {"install mariadb-server, or name an unpacked one with basedir", fetch.MariaDB},
				product.MySQL:   {"install mysql-server, or name an unpacked one with basedir; MariaDB is engine: mariadb", nil},
				product.Percona: {"install percona-server-server, or name an unpacked one with basedir", nil},
			},
			below:    []string{"bin", "sbin", "libexec", "usr/sbin", "usr/bin"},
			lacks:    "no mariadbd or mysqld below %s",
			example:  "bin/mysqld",
			complete: completeMySQL,
			cache:    cache,
		},
		rules:  mysqlRules(),
		socket: "mysqld.sock",
		config: "my.cnf",
		dial: func(socket, database string) load.Server {
			return client.New(client.Config{Network: "unix", Address: socket, User: "root", Database: database})
		},
		prepare: func(ctx context.Context, a load.Admin) error {
			return a.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+database)
		},
		write: writeMySQL,
	}
}

// Logs implements lab.Engine. MySQL 8.0.30 and later look into a directory of
// their own, where a filesystem can be mounted; others are told.
func (mysqlEngine) Logs(p lab.Program) lab.Logs {
	const own = "#innodb_redo"
	mariadb := strings.HasPrefix(p.Product, product.Of(product.MySQL).Label(product.MariaDB)+" ")
	v, err := catalog.ParseVersion(p.Product[strings.LastIndex(p.Product, " ")+1:])
	if !mariadb && err == nil && v.Compare(catalog.Version{8, 0, 30}) >= 0 {
		return lab.Logs{Dir: own}
	}
	return lab.Logs{Dir: own, Files: []string{"ib_logfile*"}, Args: []string{"--innodb-log-group-home-dir=./" + own}}
}

// ReservedLogs implements lab.Engine: InnoDB's redo log, under the names it has
// before and since MySQL 8.0.30.
func (mysqlEngine) ReservedLogs() []string { return []string{"ib_logfile*", "#ib_redo*"} }

// completeMySQL asks the server, and finds the program that MariaDB's data
// directory is made with.
func completeMySQL(ctx context.Context, d host.Doer, f *found) bool {
	withLoader(ctx, d, f)
	out, err := d.Run(ctx, append(slices.Clone(f.Before), f.Paths[server], "--no-defaults", "--version")...)
	f.engine, f.version = productOf(out)
	f.Product = product.Of(product.MySQL).Label(f.engine) + " " + f.version
	return err == nil && f.engine != "" && (f.engine != product.MariaDB || withInstaller(ctx, d, f))
}

// withLoader lets a package that was unpacked with all its libraries run on a
// system with older ones.
func withLoader(ctx context.Context, d host.Doer, f *found) {
	b := f.Paths[base]
	if b == "" || !strings.HasPrefix(f.Paths[server], b+"/usr/") {
		return
	}
	ld, err := d.Glob(ctx, b+"/usr/lib*/ld-linux-*.so.*")
	more, err2 := d.Glob(ctx, b+"/usr/lib/*/ld-linux-*.so.*")
	if ld = append(ld, more...); err != nil || err2 != nil || len(ld) == 0 {
		return
	}
	libs, err := d.Glob(ctx, b+"/usr/lib/*/libc.so.6")
	if err != nil || len(libs) == 0 {
		return
	}
	f.Before = []string{ld[0], "--library-path", path.Dir(libs[0]) + ":" + b + "/usr/lib/mysql/private"}
	f.Paths[base] = b + "/usr" // where it looks for its messages
}

// withInstaller finds mariadb-install-db beside a server.
func withInstaller(ctx context.Context, d host.Doer, f *found) bool {
	dirs := []string{path.Dir(f.Paths[server]), "/usr/bin", "/usr/local/bin"}
	if b := f.Paths[base]; b != "" {
		dirs = []string{b + "/scripts", b + "/bin"}
	}
	for _, dir := range dirs {
		for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
			if st, err := d.Stat(ctx, path.Join(dir, name)); err == nil && st.Mode.IsRegular() {
				f.Paths[install] = path.Join(dir, name)
				return true
			}
		}
	}
	return false
}

// mysqlVersion is what --version prints: "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)",
// or since Debian 13 "mariadbd  Ver 11.8.9-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on …".
var mysqlVersion = regexp.MustCompile(`Ver ((\d+\.\d+\.\d+)\S*)(?: from \S+)? for [^\n]*`)

// productOf reads what a server says of itself with --version. engine is ""
// when it is none of ours.
func productOf(out []byte) (engine, version string) {
	m := mysqlVersion.FindSubmatch(out[:min(len(out), 4096)])
	if m == nil {
		return "", ""
	}
	version = string(m[2])
	switch line := strings.ToLower(string(m[0])); {
	case strings.Contains(line, "mariadb"):
		return product.MariaDB, version
	case strings.Contains(line, "percona"):
		return product.Percona, version
	}
	return product.MySQL, version
}
