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
	server = "server"
	initdb = "initdb"
)

// found is one server program.
type found struct {
	version string
	lab.Program
}

// places are the directories of server programs: of Debian's packages, of the
// project's own, of archives, and of distributions with one version.
func places() []string {
	return []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/opt/postgresql*/bin", "/usr/local/pgsql*/bin", "/usr/local/bin", "/usr/bin"}
}

// Find implements lab.Engine.
func (e Engine) Find(ctx context.Context, d host.Doer, s experiment.Server, mayFetch bool) (lab.Program, error) {
	if s.Engine != postgres {
		return lab.Program{}, fmt.Errorf("%q is no engine of this family", s.Engine)
	}
	patterns := places()
	if s.Basedir != "" {
		if !path.IsAbs(s.Basedir) {
			return lab.Program{}, hint.With(fmt.Errorf("basedir is %q", s.Basedir), "give it as a path from the root")
		}
		patterns = []string{path.Join(s.Basedir, "bin")}
	}
	all, err := programs(ctx, d, patterns)
	if err != nil {
		return lab.Program{}, err
	}
	if p, ok := choose(all, s.Version); ok {
		return p.Program, nil
	}
	release, exists := fetch.PostgreSQL(s.Version)
	if s.Basedir != "" || !exists || !mayFetch {
		return lab.Program{}, missing(all, s, exists && s.Basedir == "")
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
	all, err := programs(ctx, d, []string{path.Join(tree, "bin")})
	if err != nil {
		return lab.Program{}, err
	}
	if p, ok := choose(all, ""); ok {
		return p.Program, nil
	}
	return lab.Program{}, hint.With(fmt.Errorf("the fetched server in %s does not run here", tree), "install PostgreSQL, or name an unpacked one with basedir")
}

// programs asks every postgres in some directories what it is. One that does
// not run, or has no initdb beside it, is passed over.
func programs(ctx context.Context, d host.Doer, patterns []string) (all []found, err error) {
	var seen []string
	for _, pattern := range patterns {
		dirs, err := d.Glob(ctx, pattern)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			f, ok := program(ctx, d, dir)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if ok && !slices.Contains(seen, f.Paths[server]) {
				seen = append(seen, f.Paths[server])
				all = append(all, f)
			}
		}
	}
	return all, nil
}

func program(ctx context.Context, d host.Doer, dir string) (f found, ok bool) {
	st, err := d.Stat(ctx, path.Join(dir, "postgres"))
	if err != nil || !st.Mode.IsRegular() {
		return f, false
	}
	real := cmp.Or(st.Resolved, path.Join(dir, "postgres"))
	dir = path.Dir(real)
	if st, err := d.Stat(ctx, path.Join(dir, "initdb")); err != nil || !st.Mode.IsRegular() {
		return f, false
	}
	out, err := d.Run(ctx, real, "--version")
	if err != nil {
		return f, false
	}
	f.Paths = map[string]string{server: real, initdb: path.Join(dir, "initdb")}
	lib := path.Join(path.Dir(dir), "lib")
	if _, err := d.Stat(ctx, path.Join(lib, "libpq.so.5")); err == nil && !strings.HasPrefix(lib, "/usr/") {
		f.Env = []string{"LD_LIBRARY_PATH=" + lib} // an unpacked tree brings its libraries along
	}
	f.version, ok = versionOf(out)
	f.Product = "PostgreSQL " + f.version
	return f, ok
}

// versionLine is what --version prints: "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)".
var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+(?:\.\d+)*)`)

// versionOf reads what a server says of itself with --version.
func versionOf(out []byte) (string, bool) {
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return "", false
	}
	return string(m[1]), true
}

// choose gives the newest of the servers that are of the version asked for.
func choose(all []found, version string) (found, bool) {
	fit := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return !isVersion(f.version, version) })
	if len(fit) == 0 {
		return found{}, false
	}
	return slices.MaxFunc(fit, func(a, b found) int {
		x, _ := catalog.ParseVersion(a.version) // the pattern above lets only numbers through
		y, _ := catalog.ParseVersion(b.version)
		return x.Compare(y)
	}), true
}

// isVersion tells whether 17.6 is "17" or "17.6".
func isVersion(have, want string) bool {
	return want == "" || have == want || strings.HasPrefix(have, want+".")
}

// missing says what was asked for and what there is.
func missing(all []found, s experiment.Server, canFetch bool) error {
	want := strings.TrimSpace("PostgreSQL " + s.Version)
	if s.Basedir != "" && len(all) == 0 {
		return hint.With(fmt.Errorf("no postgres and initdb in %s/bin", s.Basedir), "basedir is the directory that holds bin/postgres")
	}
	help := "install postgresql, or name an unpacked one with basedir"
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
