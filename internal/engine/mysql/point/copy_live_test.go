package point_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// at takes a point of the server and gives a copy of it.
func (s *source) at(name string) protect.Copy {
	s.t.Helper()
	h := s.hold()
	q := s.quiesce(h)
	p, err := q.Position(s.t.Context())
	root := s.image(name)
	if _, more := q.Release(s.t.Context()); err != nil || more != nil {
		s.t.Fatal(err, more)
	}
	_ = h.Close()
	return s.copyOf(root, p)
}

// as does something as the server's user, who could do it at any time.
func (s *source) as(argv ...string) {
	s.t.Helper()
	if os.Getuid() == 0 {
		argv = append([]string{"setpriv", "--reuid=" + strconv.Itoa(s.sv.UID), "--regid=" + strconv.Itoa(s.sv.GID), "--clear-groups", "--"}, argv...)
	}
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// A replica goes on where the point was, with what its source wrote since, and nobody
// else is told its password.
func TestFollow(t *testing.T) {
	onEach(t, func(s *source) {
		const password = `se'cr\et`
		s.exec(`CREATE USER follower@'%' IDENTIFIED BY 'se''cr\\et'`, "GRANT REPLICATION SLAVE ON *.* TO follower@'%'")
		_, stop := s.load()
		c := s.at("replica")
		stop()
		c.Purpose, c.Source = protect.ForReplica, &protect.Source{Network: "tcp", Address: "127.0.0.1:" + strings.Split(s.port(), "\n")[0], User: "follower", Password: password}
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		wrong := c
		wrong.Source = &protect.Source{Network: "tcp", Address: strings.Repeat("h", 300) + ":1", User: "x", Password: password}
		if err := s.engine.Follow(s.t.Context(), s.doer, r, wrong); err == nil || strings.Contains(err.Error(), "et'") {
			s.t.Errorf("a host that cannot be: %v", err)
		}
		if err := s.engine.Follow(s.t.Context(), s.doer, r, c); err != nil {
			s.t.Fatal(err)
		}
		if behind, err := s.engine.Caught(s.t.Context(), r, c); !errors.Is(err, protect.ErrUnconnected) {
			s.t.Errorf("it follows while it is closed: %q, %v", behind, err)
		}
		r.stop()
		c.Closed = false
		r = s.start(c)
		for late := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			behind, err := s.engine.Caught(s.t.Context(), r, c)
			if err == nil && behind == "" && r.number(s.t, "SELECT COUNT(*) FROM shop.t") == s.rows() {
				break
			}
			if err != nil && !errors.Is(err, protect.ErrUnconnected) || time.Now().After(late) {
				s.t.Fatalf("behind: %q, %v", behind, err)
			}
		}
		s.write(time.Second)
		s.apart(r, c)
		text, _ := os.ReadFile(filepath.Join(c.Run, "error.log"))
		if strings.Contains(string(text), password) {
			s.t.Error("the log of the copy has the password")
		}
	})
}

func (s *source) port() (port string) {
	if err := s.db.QueryRow("SELECT @@port").Scan(&port); err != nil {
		s.t.Fatal(err)
	}
	return port
}

func (s *source) rows() (n int64) {
	if err := s.db.QueryRow("SELECT COUNT(*) FROM shop.t").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A database that is linked to another directory is found, and its link leads into the copy.
func TestLinkedDatabase(t *testing.T) {
	onEach(t, func(s *source) {
		away, err := s.box.Mkdir("away")
		sandbox.Need(s.t, err)
		s.exec("CREATE DATABASE far", "CREATE TABLE far.t (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO far.t VALUES (1)", "FLUSH TABLES")
		if err := s.server.Stop(); err != nil {
			s.t.Fatal(err)
		}
		s.as("mv", s.server.Dir+"/far", away+"/far")
		s.as("ln", "-s", away+"/far", s.server.Dir+"/far")
		s.again()
		s.exec("INSERT INTO far.t VALUES (2)")
		if !strings.Contains(fmt.Sprint(s.sv.Dirs), away+"/far") {
			s.t.Errorf("dirs: %v", s.sv.Dirs)
		}
		c := s.at("copy")
		moved := c
		moved.Purpose = protect.ForReplay // which lies elsewhere later
		if err := s.engine.Neutralise(s.t.Context(), s.doer, moved); err == nil || !strings.Contains(err.Error(), "/far is a link, which would have to point into the copy now and elsewhere later") {
			s.t.Errorf("one that is to be moved: %v", err)
		}
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		if to, err := os.Readlink(c.In(s.server.Dir + "/far")); err != nil || to != c.In(away+"/far") {
			s.t.Errorf("the link leads to %s, %v", to, err)
		}
		r := s.start(c)
		if err := r.Exec(s.t.Context(), "INSERT INTO far.t VALUES (3)"); err != nil || r.number(s.t, "SELECT COUNT(*) FROM far.t") != 3 {
			s.t.Error(err)
		}
		s.apart(r, c)
		r.stop()
	})
}

// again starts the server anew on its data.
func (s *source) again() {
	s.t.Helper()
	var err error
	s.server, err = s.box.MySQL(s.options)
	sandbox.Need(s.t, err)
	s.look()
}

// Tables with a directory of their own: MySQL finds them in the copy, MariaDB would write
// to the source's, so that its copy is refused by the table's name.
func TestDataDirectory(t *testing.T) {
	onEach(t, func(s *source) {
		logs := filepath.Dir(s.sv.Settings["log_bin_index"])
		s.exec("CREATE TABLE shop.far (id INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY = '"+logs+"'", "INSERT INTO shop.far VALUES (1)")
		s.look()
		c := s.at("copy")
		err := s.engine.Neutralise(s.t.Context(), s.doer, c)
		if strings.HasPrefix(s.sv.Product, "MariaDB") {
			if err == nil || !strings.Contains(err.Error(), "shop.far") {
				s.t.Errorf("got %v", err)
			}
			return
		}
		if err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		if err := r.Exec(s.t.Context(), "INSERT INTO shop.far VALUES (2)"); err != nil || r.number(s.t, "SELECT COUNT(*) FROM shop.far") != 2 {
			s.t.Error(err)
		}
		if err := r.Exec(s.t.Context(), "CREATE TABLE shop.more (id INT PRIMARY KEY) DATA DIRECTORY = '"+logs+"'"); err == nil || !strings.Contains(err.Error(), "DATA DIRECTORY location must be in a known directory") {
			s.t.Errorf("a table where the source has its own: %v", err)
		}
		s.apart(r, c)
		s.sound(r, c, false)
	})
}

// Whatever the server's user has put into his directory, nothing outside of the copy is
// changed, and what cannot be made harmless is refused.
func TestHostileCopies(t *testing.T) {
	onEach(t, func(s *source) {
		precious := filepath.Join(s.box.Dir, "precious")
		if err := os.WriteFile(precious, []byte("keep"), 0o666); err != nil {
			s.t.Fatal(err)
		}
		data := s.server.Dir
		n := 0
		for name, c := range map[string]struct {
			spoil func(c protect.Copy)
			want  string // of the error; "" for none
		}{
			"auto.cnf is a link":  {func(c protect.Copy) { s.as("ln", "-sf", precious, c.In(data)+"/auto.cnf") }, ""},
			"my.cnf is a link":    {func(c protect.Copy) { s.as("ln", "-sf", precious, c.Run+"/my.cnf") }, ""},
			"my.cnf is begun":     {func(c protect.Copy) { s.as("ln", "-sf", precious, c.Run+"/.my.cnf.plumb-new") }, ""},
			"the index is a link": {func(c protect.Copy) { s.as("ln", "-sf", precious, c.In(s.sv.Settings["log_bin_index"])) }, "not in the copy"},
			"a table is a link":   {func(c protect.Copy) { s.as("ln", "-s", precious, c.In(data)+"/shop/x.MYD") }, "(table shop.x)"},
			"a link climbs out":   {func(c protect.Copy) { s.as("ln", "-s", strings.Repeat("../", 30)+"etc", c.In(data)+"/etc") }, "not in the copy"},
			"the data is a link":  {func(c protect.Copy) { s.as("mv", c.In(data), c.In(data)+"2"); s.as("ln", "-s", data, c.In(data)) }, "leads to " + data},
			"there is no data":    {func(c protect.Copy) { s.as("mv", c.In(data)+"/mysql", c.In(data)+"/other") }, "contains no data of a server"},
			"a name with a break": {func(c protect.Copy) { s.as("touch", c.In(data)+"/a\nauto.cnf", c.In(data)+"/-rf.pid") }, ""},
			"a link to a link": {func(c protect.Copy) {
				s.as("ln", "-s", data+"/two", c.In(data)+"/one")
				s.as("ln", "-s", "/etc", c.In(data)+"/two")
			}, ""},
		} {
			n++
			copied := s.at("copy" + strconv.Itoa(n))
			if os.Getuid() == 0 { // the tests make the parents of its directories as root
				for _, d := range s.sv.Dirs {
					if err := os.Chown(filepath.Dir(copied.In(d.Path)), s.sv.UID, s.sv.GID); err != nil {
						s.t.Fatal(err)
					}
				}
			}
			c.spoil(copied)
			err := s.engine.Neutralise(s.t.Context(), s.doer, copied)
			if name == "a link to a link" {
				if err == nil {
					s.t.Errorf("%s: not refused", name)
				}
			} else if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				s.t.Errorf("%s: %v", name, err)
			}
			if text, _ := os.ReadFile(precious); string(text) != "keep" {
				s.t.Fatalf("%s: what is outside is now %q", name, text)
			}
			if err == nil {
				conf, err := os.Lstat(filepath.Join(copied.Run, "my.cnf"))
				if err != nil || !conf.Mode().IsRegular() {
					s.t.Errorf("%s: %v, %v", name, conf, err)
				}
				for _, gone := range []string{"auto.cnf", "mysqld-auto.cnf", "-rf.pid"} {
					if st, err := os.Lstat(copied.In(data) + "/" + gone); err == nil && st.Mode().IsRegular() {
						s.t.Errorf("%s: %s is still there", name, gone)
					}
				}
			}
			if err := os.RemoveAll(filepath.Dir(copied.Root)); err != nil {
				s.t.Error(err)
			}
		}
	})
}

// A user with the rights of the text can do all that the text says, and without any of them
// the right that is missing is named.
func TestGrants(t *testing.T) {
	onEach(t, func(s *source) {
		s.exec("CREATE USER least@localhost IDENTIFIED BY 'least'")
		of := *s
		of.doer = host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: s.dialers(), DSN: "least:least@unix(" + s.server.Socket + ")/"}))
		s.t.Cleanup(func() { of.doer.Close() })
		var rights []string
		for line := range strings.Lines(point.Grants(s.sv.Flavor, s.sv.Version, "snapshot")) {
			if grant, ok := strings.CutPrefix(line, "GRANT "); ok {
				rights = append(rights, strings.Split(grant, " TO ")[0])
				s.exec("GRANT " + rights[len(rights)-1] + " TO least@localhost")
			}
		}
		of.target = s.target
		of.target.Logins = []host.Login{{DSN: true}}
		if m := of.mode(protect.ModeCrash, protect.Set{}); m.Not != "" {
			s.t.Error(m.Not)
		}
		q := of.quiesce(of.hold())
		if p, err := q.Position(s.t.Context()); err != nil || p.GTID == "" {
			s.t.Error(p, err)
		}
		if _, err := q.Release(s.t.Context()); err != nil {
			s.t.Error(err)
		}
		for _, r := range rights {
			s.exec("REVOKE " + r + " FROM least@localhost")
			if strings.HasPrefix(r, "RELOAD") || strings.HasPrefix(r, "BACKUP_ADMIN") {
				h := of.hold()
				_, err := s.engine.Quiesce(s.t.Context(), h, of.mode(protect.ModeLocked, protect.Set{}), time.Second)
				if !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), strings.Fields(r)[0]) {
					s.t.Errorf("without %s: %v", r, err)
				}
				_ = h.Close()
			}
			s.exec("GRANT " + r + " TO least@localhost")
		}
	})
}
