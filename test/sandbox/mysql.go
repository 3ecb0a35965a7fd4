package sandbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // the driver for admin sessions
)

// Server is a running private server.
type Server struct {
	Engine string // mysql, postgres or mongo
	Dir    string // its data directory
	Socket string // mysql, mongo: the socket; postgres: the directory of the socket
	Port   int
	PID    int
	User   string // of the admin session

	Password string // mongo: of the admin session, when it has a User
}

// MySQLOptions say how a MariaDB or MySQL server is set up.
type MySQLOptions struct {
	Name     string   // of the instance; "" for mysql
	Basedir  string   // unpacked server; "" for the installed MariaDB
	Datadir  string   // "" for a directory of the box
	Settings string   // lines for the [mysqld] group
	Port     int      // 0 for no TCP
	Wrap     []string // command that starts the server, such as Cgroup gives
	Native   bool     // MySQL itself: initialised by mysqld --initialize-insecure
	Loader   []string // a loader the programs of Basedir need before them
}

// MySQL starts a private server with an option file of its own.
func (b *Box) MySQL(o MySQLOptions) (*Server, error) {
	o.Name = cmp.Or(o.Name, "mysql")
	data, run, err := b.home(o.Name, o.Datadir)
	if err != nil {
		return nil, err
	}
	s := &Server{Engine: "mysql", Dir: data, Socket: filepath.Join(run, "mysqld.sock"), Port: o.Port, User: "root"}
	// In a shared one servers remove each other's temporary tables when they start.
	if _, err := b.Mkdir(o.Name + "-run/tmp"); err != nil {
		return nil, err
	}
	conf, err := b.Write(o.Name+"-run/my.cnf", mysqlOptionFile(s, run, o))
	if err != nil {
		return nil, err
	}
	program, err := b.initialiseMySQL(o, conf, data)
	if err != nil {
		return nil, err
	}
	argv := append(slices.Clone(o.Loader), program, "--defaults-file="+conf)
	if s.PID, err = b.start(o.Wrap, syscall.SIGTERM, nil, argv...); err != nil {
		return nil, err
	}
	return s, s.ready()
}

func mysqlOptionFile(s *Server, run string, o MySQLOptions) string {
	net := "skip-networking"
	if o.Port != 0 {
		net = fmt.Sprintf("port = %d\nbind-address = 127.0.0.1", o.Port)
	}
	base := ""
	if o.Basedir != "" {
		base = "basedir = " + o.Basedir
	}
	if o.Native { // Debian's build looks for its messages and files under /usr and /var
		base = "basedir = " + o.Basedir + "/usr\nsecure_file_priv = NULL\nmysqlx = OFF"
	}
	return fmt.Sprintf("[mysqld]\ndatadir = %s\nsocket = %s\npid-file = %s/mysqld.pid\nlog-error = %s/error.log\ntmpdir = %s/tmp\n%s\n%s\n%s\n",
		s.Dir, s.Socket, run, run, run, net, base, o.Settings)
}

// initialiseMySQL makes the system tables and gives the server's program.
func (b *Box) initialiseMySQL(o MySQLOptions, conf, data string) (string, error) {
	const hint = "apt-get install mariadb-server-core"
	server, install := []string{"mariadbd", "mysqld"}, []string{"mariadb-install-db"}
	if o.Basedir != "" {
		server = []string{o.Basedir + "/bin/mariadbd", o.Basedir + "/usr/sbin/mysqld", o.Basedir + "/sbin/mysqld"}
		install = []string{o.Basedir + "/scripts/mariadb-install-db", o.Basedir + "/bin/mariadb-install-db"}
	}
	program, err := find("no MariaDB or MySQL server", hint, server...)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(data, "mysql")); err == nil {
		return program, nil // started again on its old data
	}
	if o.Native {
		argv := append(slices.Clone(o.Loader), program, "--defaults-file="+conf, "--initialize-insecure")
		_, err = output(b.asServer(exec.Command(argv[0], argv[1:]...)))
		return program, err
	}
	installer, err := find("no mariadb-install-db", hint, install...)
	if err != nil {
		return "", err
	}
	return program, b.fillMariaDB(program, conf, data, o.Settings, func(conf, data string) error {
		args := []string{"--defaults-file=" + conf, "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db"}
		if o.Basedir != "" {
			args = append(args, "--basedir="+o.Basedir)
		}
		_, err := output(b.asServer(exec.Command(installer, args...)))
		return err
	})
}

func (s *Server) ready() error {
	err := until(patience, func(ctx context.Context) error {
		db, err := s.Open()
		if err != nil {
			return err
		}
		defer db.Close()
		err = db.PingContext(ctx)
		if err != nil && strings.Contains(err.Error(), "28P01") {
			return nil // it is up and wants a password, which some tests want it to
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s in %s did not start: %w%s", s.Engine, s.Dir, err, tail(filepath.Dir(s.Socket)+"/error.log"))
	}
	return nil
}

// tail gives the end of a log for an error message.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return "\n" + string(text[max(0, len(text)-2000):])
}

// Open opens an admin session pool. The caller closes it.
func (s *Server) Open() (*sql.DB, error) {
	if s.Engine == "postgres" {
		return sql.Open("pgx", fmt.Sprintf("host=%s port=%d user=%s dbname=postgres", s.Socket, s.Port, s.User))
	}
	return sql.Open("mysql", s.User+"@unix("+s.Socket+")/?multiStatements=true")
}

// Stop ends the server in peace and waits for its end.
func (s *Server) Stop() error {
	sig := syscall.SIGTERM
	if s.Engine == "postgres" {
		sig = syscall.SIGINT
	}
	if err := syscall.Kill(s.PID, sig); err != nil {
		return err
	}
	return until(patience, func(context.Context) error {
		if err := syscall.Kill(s.PID, 0); err == nil {
			return fmt.Errorf("process %d has not ended", s.PID)
		}
		return nil
	})
}

// Kill ends the server as a crash would.
func (s *Server) Kill() error { return syscall.Kill(s.PID, syscall.SIGKILL) }

// Exec runs statements as the administrator.
func (s *Server) Exec(statements ...string) error {
	db, err := s.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}
