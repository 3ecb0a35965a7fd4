package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver for admin sessions
)

// PostgresOptions say how a PostgreSQL server is set up.
type PostgresOptions struct {
	Name     string   // of the instance; "" for postgres
	Bindir   string   // directory with initdb and postgres; "" for the newest installed
	Datadir  string   // "" for a directory of the box
	WALdir   string   // as with initdb --waldir; "" for inside the data directory
	Settings string   // lines for postgresql.conf
	Port     int      // names the socket; TCP listens on 127.0.0.1 when TCP is set
	TCP      bool     //
	Wrap     []string // command that starts the server, such as Cgroup gives
	Initdb   []string // more arguments for initdb
	Auth     string   // authentication of local connections; "" for trust
}

// Postgres starts a private server.
func (b *Box) Postgres(o PostgresOptions) (*Server, error) {
	o.Name, o.Port = cmp.Or(o.Name, "postgres"), cmp.Or(o.Port, 5432)
	bin, err := postgresBin(o.Bindir)
	if err != nil {
		return nil, err
	}
	data, run, err := b.home(o.Name, o.Datadir)
	if err != nil {
		return nil, err
	}
	s := &Server{Engine: "postgres", Dir: data, Socket: run, Port: o.Port, User: "postgres"}
	if err := b.initdb(bin, data, run, o); err != nil {
		return nil, err
	}
	if s.PID, err = b.start(o.Wrap, syscall.SIGINT, libraryPath(bin), filepath.Join(bin, "postgres"), "-D", data); err != nil {
		return nil, err
	}
	return s, s.ready()
}

// Resetwal runs pg_resetwal on the data of the installed PostgreSQL.
func (b *Box) Resetwal(data string, args ...string) error {
	bin, err := postgresBin("")
	if err != nil {
		return err
	}
	_, err = output(b.asServer(exec.Command(filepath.Join(bin, "pg_resetwal"), append(args, data)...)))
	return err
}

// postgresBin finds the server's programs.
func postgresBin(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	initdb, err := find("no PostgreSQL server", "apt-get install postgresql", "/usr/lib/postgresql/*/bin/initdb", "initdb")
	if err != nil {
		return "", err
	}
	initdb, err = filepath.EvalSymlinks(initdb)
	return filepath.Dir(initdb), err
}

// libraryPath lets an unpacked tree find the libraries it brings along.
func libraryPath(bin string) []string {
	lib := filepath.Join(filepath.Dir(bin), "lib")
	if _, err := os.Stat(filepath.Join(lib, "libpq.so.5")); err != nil {
		return nil
	}
	return []string{"LD_LIBRARY_PATH=" + lib}
}

func (b *Box) initdb(bin, data, run string, o PostgresOptions) error {
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		return nil // started again on its old data, with its old settings
	}
	program := filepath.Join(bin, "initdb")
	args := append([]string{"-U", "postgres", "-A", cmp.Or(o.Auth, "trust"), "-E", "UTF8", "--no-locale", "--no-sync"}, o.Initdb...)
	err := b.fillPostgres(program, data, args, func(data string) error {
		cmd := b.asServer(exec.Command(program, append([]string{"-D", data}, args...)...))
		cmd.Env = append(os.Environ(), libraryPath(bin)...)
		_, err := output(cmd)
		return err
	})
	if err == nil && o.WALdir != "" {
		err = b.moveWAL(data, o.WALdir)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(flush(data), flush(cmp.Or(o.WALdir, data))); err != nil {
		return err
	}
	listen := ""
	if o.TCP {
		listen = "127.0.0.1"
	}
	conf, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer conf.Close()
	_, err = fmt.Fprintf(conf, "\nlisten_addresses = '%s'\nport = %d\nunix_socket_directories = '%s'\n%s\n", listen, o.Port, run, o.Settings)
	return err
}

// moveWAL does what initdb does with --waldir.
func (b *Box) moveWAL(data, to string) error {
	const script = `mkdir -p -m 700 "$2" && mv "$1"/pg_wal/* "$2" && rmdir "$1/pg_wal" && ln -s "$2" "$1/pg_wal"`
	_, err := output(b.asServer(exec.Command("sh", "-ec", script, "sh", data, to)))
	return err
}
