package packages

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
)

// sources is a Debian with a MariaDB 10.11 whose sources have others; simulation is what apt-get says that the newer brings.
func sources(simulation string) answers {
	a := debian("mariadb-server:amd64 1:10.11.14-0+deb12u2 installed\nmariadb-common:all 1:10.11.14-0+deb12u2 installed\ngalera-4:amd64 26.4.20-1 installed\nlibc6:amd64 2.36-9 installed\nlibssl3:amd64 3.0 installed\n", simulation)
	a.outputs["apt-cache"] = "mariadb-server | 1:11.8.3-0+deb13u1 | http://deb.debian.org/debian trixie/main amd64 Packages\n" +
		"mariadb-server | 1:10.11.14-0+deb12u2 | http://deb.debian.org/debian bookworm/main amd64 Packages\n"
	a.outputs["dpkg-query -W -f=${Package} "] = "mariadb-server mariadb\nmariadb-common mariadb\ngalera-4 galera-4\nlibc6 glibc\nlibssl3 openssl\n"
	a.outputs["dpkg-query -W -f=${Package}:${Architecture} ${Version}"] = a.outputs["dpkg-query"]
	a.outputs["dpkg-query -W -f=${Package}:${Architecture} ${db:Status-Want}"] = "mariadb-server:amd64 install\n"
	delete(a.outputs, "dpkg-query")
	return a
}

const newer = "Inst mariadb-common [1:10.11.14-0+deb12u2] (1:11.8.3-0+deb13u1 Debian:13.1/stable [all]) []\n" +
	"Inst galera-4 [26.4.20-1] (26.4.23-1 Debian:13.1/stable [amd64])\n" +
	"Inst mariadb-server [1:10.11.14-0+deb12u2] (1:11.8.3-0+deb13u1 Debian:13.1/stable [amd64]) []\n" +
	"Inst libnew (1.0 Debian:13.1/stable [amd64])\n"

func TestNewerIsExact(t *testing.T) {
	r, err := Newer(t.Context(), sources(newer), "mariadb-server", "11.8", []string{"galera-4"})
	if err != nil {
		t.Fatal(err)
	}
	if changes, comes := r.Changes(); !slices.Equal(changes, []string{"mariadb-common", "galera-4", "mariadb-server"}) || !slices.Equal(comes, []string{"libnew"}) || r.Is() != "11.8.3" {
		t.Errorf("%v %v %s", changes, comes, r.Is())
	}
	fetch := r.Fetch("/srv/r").Switch.Do[0].Argv
	for _, want := range []string{"mariadb-common:all=1:11.8.3-0+deb13u1 galera-4:amd64=26.4.23-1 mariadb-server:amd64=1:11.8.3-0+deb13u1 libnew:amd64=1.0",
		"mariadb-common:all=1:10.11.14-0+deb12u2 galera-4:amd64=26.4.20-1 mariadb-server:amd64=1:10.11.14-0+deb12u2"} {
		if !slices.Contains(fetch, want) {
			t.Errorf("it fetches %q, and not %s", fetch[len(fetch)-4:], want)
		}
	}
	before := change.Op{Argv: []string{"first"}}
	s := r.Replace("/srv/r", before).Switch
	if s.Undo[0].Argv[0] != "first" || len(s.Undo) != 4 || !slices.Contains(s.Undo[1].Argv, "/srv/r/old") || !slices.Contains(s.Do[0].Argv, "/srv/r/new") {
		t.Errorf("undone, it does %v", s.Undo)
	}
	if last := s.Undo[3].Argv; !slices.Equal(last[len(last)-2:], []string{"--purge", "libnew:amd64"}) {
		t.Errorf("what came goes last, and nothing else: %v", last)
	}
	for _, op := range []change.Op{s.Do[0], s.Undo[1]} {
		if text := op.String(); !strings.Contains(text, "SourceParts=/dev/null") || !strings.Contains(text, "--no-remove --allow-downgrades") || !strings.Contains(text, "unshare --mount --propagation slave") {
			t.Errorf("it types %s", text)
		}
	}
}

// What is fetched is of two versions: once somebody has updated the packages of before, it is fetched anew, the exchange is refused,
// and so is the stop before it. The way back takes packages that were updated since.
func TestPackagesThatWereUpdatedMeanwhile(t *testing.T) {
	a := sources(newer)
	r, err := Newer(t.Context(), a, "mariadb-server", "11.8", []string{"galera-4"})
	if err != nil {
		t.Fatal(err)
	}
	s, listing := r.Replace("/srv/r").Switch, a.outputs["dpkg-query -W -f=${Package}:${Architecture} ${Version}"]
	if s.From != "galera-4:amd64 26.4.20-1 installed\nmariadb-common:all 1:10.11.14-0+deb12u2 installed\nmariadb-server:amd64 1:10.11.14-0+deb12u2 installed" {
		t.Errorf("it is done from %q", s.From)
	}
	later := regexp.MustCompile("^(?:" + s.Later + ")$")
	if !later.MatchString(s.After) || !later.MatchString(strings.ReplaceAll(s.After, "1:11.8.3-0", "1:11.8.6-0")) || later.MatchString(s.After[strings.Index(s.After, "\n")+1:]) {
		t.Errorf("%q is what becomes of %q", s.Later, s.After)
	}
	a.files["/srv/r/whole"] = r.Fetch("/srv/r").Switch.After + "\n"
	updated := sources(newer)
	updated.files["/srv/r/whole"] = a.files["/srv/r/whole"]
	updated.outputs["dpkg-query -W -f=${Package}:${Architecture} ${Version}"] = strings.ReplaceAll(listing, "deb12u2", "deb12u3")
	u, err := Newer(t.Context(), updated, "mariadb-server", "11.8", []string{"galera-4"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		Release
		answers
		want bool
	}{{r, a, true}, {u, updated, false}} {
		if there, err := c.Fetched(t.Context(), c.answers, "/srv/r"); err != nil || there != c.want {
			t.Errorf("fetched: %v, %v", there, err)
		}
		out, err := listed(t, c.outputs["dpkg-query -W -f=${Package}:${Architecture} ${Version}"], r.Same())
		if (err == nil) != c.want || !c.want && !strings.Contains(out, "the package mariadb-common:all was of version 1:10.11.14-0+deb12u2") {
			t.Errorf("the same %v: %v: %s", c.want, err, out)
		}
	}
}

// listed does an operation where dpkg-query lists some packages.
func listed(t *testing.T, listing string, op change.Op) (string, error) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "dpkg-query"), []byte("#!/bin/sh\ncat <<'END'\n"+listing+"END\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(op.Argv[0], op.Argv[1:]...)
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestNewerRefusesWhatOthersNeed(t *testing.T) {
	for what, c := range map[string]struct{ series, simulation, want string }{
		"a library changes":        {"11.8", newer + "Inst libc6 [2.36-9] (2.41-12 Debian:13.1/stable [amd64])\n", "apt-get install libc6:amd64=2.41-12"},
		"one takes its place":      {"11.8", newer + "Remv libssl3 [3.0]\nInst libssl3t64 (3.5 Debian:13.1/stable [amd64])\n", "libssl3t64:amd64=3.5"},
		"nobody has the series":    {"12.3", newer, "have no mariadb-server of 12.3"},
		"another of the same head": {"11", newer + "Remv x [1]\n", "remove x"},
		"no such series":           {"1", newer, "have no mariadb-server of 1:"},
	} {
		_, err := Newer(t.Context(), sources(c.simulation), "mariadb-server", c.series, []string{"galera-4"})
		refused, ok := errors.AsType[*change.Refusal](err)
		if !ok || !strings.Contains(err.Error()+refused.What, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Newer(t.Context(), sources(newer), "mariadb-other", "11.8", nil); err == nil {
		t.Error("a package that is not installed")
	}
}

// A hold is respected before the server is stopped, on the way there and on the way back.
func TestHeldPackagesAreLeft(t *testing.T) {
	a := sources(newer)
	a.outputs["dpkg-query -W -f=${Package}:${Architecture} ${db:Status-Want}"] = "libc6:amd64 hold\nmariadb-server:amd64 hold\ngalera-4:amd64 install\n"
	_, err := Newer(t.Context(), a, "mariadb-server", "11.8", []string{"galera-4"})
	refused, ok := errors.AsType[*change.Refusal](err)
	if !ok || !strings.Contains(refused.Why, "mariadb-server is held") || !strings.Contains(refused.What, "apt-mark unhold mariadb-server,") {
		t.Errorf("%v", err)
	}
	r, err := Newer(t.Context(), sources(newer), "mariadb-server", "11.8", []string{"galera-4"})
	if err != nil {
		t.Fatal(err)
	}
	still := r.Replace("/srv/r").Switch.Still
	if still == nil || still.State != change.None || !slices.Contains(still.Inspect.Among, "mariadb-server:amd64") || !regexp.MustCompile(still.Inspect.Match).MatchString("mariadb-server:amd64 hold") || regexp.MustCompile(still.Inspect.Match).MatchString("mariadb-server:amd64 install") {
		t.Errorf("%+v", still)
	}
}

func TestUpstream(t *testing.T) {
	for text, want := range map[string]string{"1:11.8.3-0+deb13u1": "11.8.3", "1:11.8.3+maria~deb12": "11.8.3", "8.0.40-31-1.bookworm": "8.0.40", "x": "", "": ""} {
		if got := upstream(text); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
