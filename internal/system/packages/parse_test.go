package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
)

// Of Debian 12 and 13.
const simulation1 = `NOTE: This is only a simulation!
Inst libmariadb3 (1:10.11.14-0+deb12u2 Debian:12.12/oldstable, Debian-Security:12/oldstable-security [amd64])
Inst mysql-common (5.8+1.1.0 Debian:12.12/oldstable [all]) []
Inst mariadb-server (1:10.11.14-0+deb12u2 Debian:12.12/oldstable [amd64]) [mysql-common:amd64 ]
Conf libmariadb3 (1:10.11.14-0+deb12u2 Debian:12.12/oldstable [amd64])
`

func TestParseSimulation(t *testing.T) {
	s, err := parseSimulation([]byte(simulation1))
	var got []string
	for _, c := range s.comes {
		got = append(got, c.line())
	}
	want := []string{"libmariadb3:amd64 1:10.11.14-0+deb12u2 installed", "mysql-common:all 5.8+1.1.0 installed", "mariadb-server:amd64 1:10.11.14-0+deb12u2 installed"}
	if err != nil || !slices.Equal(got, want) || s.goes != nil || s.changes != nil {
		t.Errorf("%v, %+v", err, s)
	}
	s, err = parseSimulation([]byte("Remv default-mysql-server [1.1.0] []\nInst libc6 [2.36-9] (2.36-9+deb12u10 Debian:12.12/oldstable [amd64])\n"))
	if err != nil || !slices.Equal(s.goes, []string{"default-mysql-server"}) || !slices.Equal(s.changes, []installed{{"libc6:amd64", "2.36-9+deb12u10", isInstalled}}) || s.comes != nil {
		t.Errorf("%v, %+v", err, s)
	}
	for _, bad := range []string{"Inst x\n", "Inst x (1)\n", "Inst -o (1 Debian [amd64])\n", "Inst x (--force [amd64])\n", "Inst x (1;rm Debian [amd64])\n"} {
		if s, err := parseSimulation([]byte(bad)); err == nil {
			t.Errorf("%q is understood as %+v", bad, s)
		}
	}
}

func FuzzParseSimulation(f *testing.F) {
	f.Add([]byte(simulation1))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSimulation(text)
		for _, c := range append(s.comes, s.changes...) {
			if err == nil && (!isPackage(c.name) || !isVersion(c.version)) {
				t.Fatalf("%+v would become an argument", c)
			}
		}
	})
}

func FuzzParseVersions(f *testing.F) {
	f.Add([]byte("mariadb-server | 1:11.8.3-0+deb13u1 | http://deb.debian.org/debian trixie/main amd64 Packages\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range parseVersions(text) {
			if !isVersion(v) {
				t.Fatalf("%q would become an argument", v)
			}
		}
	})
}

func FuzzParseListing(f *testing.F) {
	f.Add([]byte("a:amd64 1 installed\nb: not-installed\n"))
	f.Fuzz(func(t *testing.T, text []byte) { parseListing(text) })
}

// answers is a system of which only some answers are known: dnf and dpkg do not run here.
type answers struct {
	host.Reader
	files   map[string]string
	outputs map[string]string
}

func (a answers) Stat(_ context.Context, name string) (host.Stat, error) {
	if _, there := a.files[name]; !there {
		return host.Stat{}, fs.ErrNotExist
	}
	return host.Stat{}, nil
}

func (a answers) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, there := a.files[name]
	if !there {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (a answers) Output(_ context.Context, argv ...string) ([]byte, error) {
	for begin, text := range a.outputs {
		if strings.HasPrefix(strings.Join(argv, " "), begin) {
			return []byte(text), nil
		}
	}
	return nil, errors.New("exit status 100")
}

func debian(listing, simulation string) answers {
	return answers{files: map[string]string{aptGet: "", "/etc/passwd": "root:x:0:0::/:/bin/sh\n", "/etc/group": "root:x:0:\nssl-cert:x:1:\n"},
		outputs: map[string]string{"dpkg-query": listing, "apt-get -s": simulation}}
}

func TestWhatCannotBeTakenBackIsRefused(t *testing.T) {
	for what, c := range map[string]struct{ listing, simulation, want string }{
		"another package goes":                 {"x:amd64 1 installed\n", "Remv x [1]\nInst y (1 D [amd64])\n", "would remove x"},
		"another package changes":              {"x:amd64 1 installed\n", "Inst x [1] (2 D [amd64])\nInst y (1 D [amd64])\n", "would install another version of x"},
		"its configuration of before is there": {"y:amd64 1 config-files\n", "Inst y (1 D [amd64])\n", "left its configuration"},
		"dpkg was interrupted":                 {"x:amd64 1 half-configured\n", "Inst y (1 D [amd64])\n", "dpkg was interrupted here, or is running"},
		"it is held back":                      {"x:amd64 1 installed\n", "", "would install nothing"},
	} {
		_, err := Recipe(t.Context(), debian(c.listing, c.simulation), Want{Names: []string{"y"}})
		if _, refused := errors.AsType[*change.Refusal](err); !refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestInstallIsExact(t *testing.T) {
	w, err := Server("postgres", "15", false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Recipe(t.Context(), debian("x:amd64 1 installed\n", "Inst libpq5 (15.1 D [amd64])\nInst postgresql-15 (15.1 D [amd64])\n"), w)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Acts[0].Switch
	all := s.Do[0].String()
	for _, want := range []string{"DEBIAN_FRONTEND=noninteractive", "--no-remove", "--no-install-recommends", "--force-confold", " install libpq5:amd64=15.1 postgresql-15:amd64=15.1"} {
		if !strings.Contains(strings.ReplaceAll(all, "'", ""), want) {
			t.Errorf("the installation has no %q: %s", want, all)
		}
	}
	if got := s.Do[1].String(); got != "apt-mark auto libpq5:amd64" {
		t.Errorf("what it depends on: %s", got)
	}
	if last := s.UndoNone[len(s.UndoNone)-1].Argv; !slices.Equal(last[len(last)-2:], []string{"sh", "postgres"}) {
		t.Errorf("users that were not there before go, and only those: %v", last)
	}
	if s.Still == nil || s.From != change.None {
		t.Error("nothing sees to the data, or to what came in meanwhile")
	}
}

// Debian's packages of PostgreSQL drop every cluster as they are purged, wherever its data are: they are not, while one has them elsewhere.
func TestClustersElsewhereKeepTheirPackages(t *testing.T) {
	w, err := Server(product.Postgres, "15", false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Recipe(t.Context(), debian("x:amd64 1 installed\n", "Inst postgresql-15 (15.1 D [amd64])\n"), w)
	if err != nil {
		t.Fatal(err)
	}
	first := r.Acts[0].Switch.UndoNone[0].Argv
	const home = "15 main 5432 online postgres /var/lib/postgresql/15/main /var/log/postgresql/a.log"
	for says, want := range map[string]string{
		"echo '" + home + "'": "", ":": "",
		"echo '" + home + "'; echo '15 shop 5433 down postgres /srv/shop /var/log/postgresql/b.log'": "would remove the data of 15/shop in /srv/shop",
		"echo '15 shop 5433 down postgres /var/lib/postgresql2/shop /var/log/postgresql/b.log'":      "15/shop in /var/lib/postgresql2/shop",
		"exit 1": "exit status",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pg_lsclusters"), []byte("#!/bin/sh\n"+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(first[0], first[1:]...)
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if said := fmt.Sprintf("%s%v", out, err); (err != nil) != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", says, said)
		}
	}
}

// dnf does not run here: what would be run is compared as text. The package of the
// server has another name there, and Debian's is that of the client.
func TestDnf(t *testing.T) {
	w, err := Server(product.Postgres, "", false)
	if err != nil {
		t.Fatal(err)
	}
	h := answers{files: map[string]string{dnfBin: ""}, outputs: map[string]string{"rpm -qa": "bash installed\npostgresql installed\n"}}
	r, err := Recipe(t.Context(), h, w)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Acts[0].Switch
	for got, want := range map[string]string{
		s.Do[0].String():       "env LC_ALL=C dnf -y --setopt=install_weak_deps=False install postgresql-server",
		s.UndoNone[0].String(): "rpm -e --test postgresql-server",
		s.UndoNone[1].String(): "rpm -e postgresql-server",
		s.After:                "postgresql-server installed",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	h.outputs["rpm -qa"] += "postgresql-server installed\n"
	if r, err := Recipe(t.Context(), h, w); err != nil || len(r.Acts) != 0 {
		t.Errorf("installed, it has %d acts to do: %v", len(r.Acts), err)
	}
}
