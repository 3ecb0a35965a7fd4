package private

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// Names of a program's paths.
const (
	server  = "server"
	install = "install" // mariadb-install-db; MySQL initialises itself
	base    = "base"    // of an unpacked server
)

// found is one server program.
type found struct {
	engine  string
	version string
	lab.Program
}

// Find implements lab.Engine.
func (e Engine) Find(ctx context.Context, d host.Doer, s experiment.Server, mayFetch bool) (lab.Program, error) {
	if s.Basedir != "" {
		return unpacked(ctx, d, s)
	}
	all, err := installed(ctx, d)
	if err != nil {
		return lab.Program{}, err
	}
	if p, ok := choose(all, s); ok {
		return p.Program, nil
	}
	release, exists := fetch.MariaDB(s.Version)
	exists = exists && s.Engine == mariadb
	if !exists || !mayFetch {
		return lab.Program{}, missing(all, s, exists)
	}
	return e.fetched(ctx, d, release)
}

// fetched finds the server of a release of the repository.
func (e Engine) fetched(ctx context.Context, d host.Doer, release fetch.Release) (lab.Program, error) {
	dir, err := e.cache()
	if err != nil {
		return lab.Program{}, err
	}
	tree, err := fetch.Store{Dir: dir}.Tree(ctx, d, release)
	if err != nil {
		return lab.Program{}, err
	}
	bases, err := d.Glob(ctx, path.Join(tree, release.Base))
	if err != nil {
		return lab.Program{}, err
	}
	for _, b := range bases {
		if p, err := unpacked(ctx, d, experiment.Server{Engine: mariadb, Basedir: b}); err == nil {
			return p, nil
		}
	}
	return lab.Program{}, hint.With(fmt.Errorf("the fetched server in %s does not run here", tree), "install MariaDB, or name an unpacked one with basedir")
}

// unpacked finds the server of a base directory.
func unpacked(ctx context.Context, d host.Doer, s experiment.Server) (lab.Program, error) {
	if !path.IsAbs(s.Basedir) {
		return lab.Program{}, hint.With(fmt.Errorf("basedir is %q", s.Basedir), "give it as a path from the root")
	}
	all, err := programs(ctx, d, s.Basedir, []string{s.Basedir + "/bin", s.Basedir + "/sbin", s.Basedir + "/libexec", s.Basedir + "/usr/sbin", s.Basedir + "/usr/bin"})
	if err != nil {
		return lab.Program{}, err
	}
	if len(all) == 0 {
		return lab.Program{}, hint.With(fmt.Errorf("no mariadbd or mysqld below %s", s.Basedir), "basedir is the directory that holds bin/mysqld")
	}
	if p, ok := choose(all, s); ok {
		return p.Program, nil
	}
	return lab.Program{}, missing(all, s, false)
}

// installed lists the servers in the places where packages and archives put
// them.
func installed(ctx context.Context, d host.Doer) ([]found, error) {
	dirs := []string{"/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"}
	all, err := programs(ctx, d, "", dirs)
	if err != nil {
		return nil, err
	}
	for _, pattern := range []string{"/usr/local/mysql", "/usr/local/mariadb", "/opt/mysql*", "/opt/mariadb*", "/opt/percona*"} {
		bases, err := d.Glob(ctx, pattern)
		if err != nil {
			return nil, err
		}
		for _, b := range bases {
			more, err := programs(ctx, d, b, []string{b + "/bin"})
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// programs asks every server program in some directories what it is. One that
// does not run is passed over.
func programs(ctx context.Context, d host.Doer, basedir string, dirs []string) (all []found, err error) {
	var seen []string
	for _, dir := range dirs {
		for _, name := range []string{"mariadbd", "mysqld"} {
			st, err := d.Stat(ctx, path.Join(dir, name))
			if err != nil || !st.Mode.IsRegular() {
				continue
			}
			real := cmp.Or(st.Resolved, path.Join(dir, name))
			if slices.Contains(seen, real) {
				continue // mysqld is a link to mariadbd
			}
			seen = append(seen, real)
			f := found{Program: lab.Program{Paths: map[string]string{server: real}}}
			if basedir != "" {
				f.Paths[base] = basedir
			}
			f.loader(ctx, d)
			out, err := d.Run(ctx, append(slices.Clone(f.Before), real, "--no-defaults", "--version")...)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if f.engine, f.version, f.Product = productOf(out); err != nil || f.engine == "" {
				continue
			}
			if f.engine == mariadb && !f.installer(ctx, d) {
				continue
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// loader lets a package that was unpacked with all its libraries run on a
// system with older ones.
func (f *found) loader(ctx context.Context, d host.Doer) {
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

// installer finds mariadb-install-db beside a server.
func (f *found) installer(ctx context.Context, d host.Doer) bool {
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

// versionLine is what --version prints: "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)".
var versionLine = regexp.MustCompile(`Ver ((\d+\.\d+\.\d+)\S*) for [^\n]*`)

// productOf reads what a server says of itself with --version. engine is ""
// when it is none of ours.
func productOf(out []byte) (engine, version, product string) {
	m := versionLine.FindSubmatch(out[:min(len(out), 4096)])
	if m == nil {
		return "", "", ""
	}
	version = string(m[2])
	switch line := strings.ToLower(string(m[0])); {
	case strings.Contains(line, "mariadb"):
		return mariadb, version, "MariaDB " + version
	case strings.Contains(line, "percona"):
		return percona, version, "Percona Server " + version
	}
	return mysql, version, "MySQL " + version
}

// choose gives the newest of the servers that are of the engine and version
// asked for.
func choose(all []found, s experiment.Server) (found, bool) {
	fit := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.engine != s.Engine || !isVersion(f.version, s.Version) })
	if len(fit) == 0 {
		return found{}, false
	}
	return slices.MaxFunc(fit, func(a, b found) int {
		x, _ := catalog.ParseVersion(a.version) // the pattern above lets only numbers through
		y, _ := catalog.ParseVersion(b.version)
		return x.Compare(y)
	}), true
}

// isVersion tells whether 10.11.14 is "10.11", "10" or "10.11.14".
func isVersion(have, want string) bool {
	return want == "" || have == want || strings.HasPrefix(have, want+".")
}

// missing says what was asked for and what there is.
func missing(all []found, s experiment.Server, canFetch bool) error {
	want := map[string]string{mariadb: "MariaDB", mysql: "MySQL", percona: "Percona Server"}[s.Engine]
	if want == "" {
		return fmt.Errorf("%q is no engine of this family", s.Engine)
	}
	if s.Version != "" {
		want += " " + s.Version
	}
	help := map[string]string{
		mariadb: "install mariadb-server, or name an unpacked one with basedir",
		mysql:   "install mysql-server, or name an unpacked one with basedir; MariaDB is engine: mariadb",
		percona: "install percona-server-server, or name an unpacked one with basedir",
	}[s.Engine]
	if canFetch {
		help = "--fetch gets it from Maven Central; or install it, or name an unpacked one with basedir"
	}
	if len(all) == 0 {
		return hint.With(errors.New("no "+want+" is installed"), help)
	}
	var have []string
	for _, f := range all {
		have = append(have, f.Product)
	}
	return hint.With(fmt.Errorf("no %s is installed; there is %s", want, strings.Join(have, ", ")), help)
}
