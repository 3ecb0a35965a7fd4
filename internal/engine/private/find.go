package private

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

// Names of a program's paths.
const (
	server  = "server"
	install = "install" // makes the data directory; MySQL's server does it itself
	base    = "base"    // of an unpacked server
)

// programs says how the servers of a family are found.
type programs struct {
	product.Server
	sources map[string]source // by engine
	below   []string          // directories of programs in an unpacked server
	lacks   string            // what a directory, %s, lacks that is no unpacked server
	example string            // a program's path in one
	// complete asks a program what it is, and finds what belongs to it. It is
	// false when it does not run or is none of the family's.
	complete func(ctx context.Context, d host.Doer, f *found) bool
	cache    func() (string, error) // where fetched servers are kept
}

// source is where the servers of an engine come from.
type source struct {
	get     string                             // what to do where there is none
	release func(string) (fetch.Release, bool) // of a version; nil where none can be fetched
}

// found is one server program.
type found struct {
	engine  string
	version string
	lab.Program
}

// Names implements lab.Engine.
func (p programs) Names() (all []string) {
	for _, f := range p.Flavors {
		all = append(all, f.Name)
	}
	return all
}

// Find implements lab.Engine.
func (p programs) Find(ctx context.Context, d host.Doer, s experiment.Server, mayFetch bool) (lab.Program, error) {
	one, known := p.sources[s.Engine]
	if !known {
		return lab.Program{}, fmt.Errorf("%q is not an engine of this family", s.Engine)
	}
	if s.Basedir != "" {
		return p.unpacked(ctx, d, s)
	}
	all, err := p.in(ctx, d, p.Places)
	if err != nil {
		return lab.Program{}, err
	}
	if f, ok := choose(all, s); ok {
		return f.Program, nil
	}
	var release fetch.Release
	exists := false
	if one.release != nil {
		release, exists = one.release(s.Version)
	}
	if !exists || !mayFetch {
		return lab.Program{}, p.missing(all, s, exists)
	}
	return p.fetched(ctx, d, s.Engine, release)
}

// fetched finds the server of a release of the repository.
func (p programs) fetched(ctx context.Context, d host.Doer, engine string, release fetch.Release) (lab.Program, error) {
	dir, err := p.cache()
	if err != nil {
		return lab.Program{}, err
	}
	tree, err := fetch.Store{Dir: dir}.Tree(ctx, d, release)
	if err != nil {
		return lab.Program{}, err
	}
	bases, err := matching(ctx, d, path.Join(tree, release.Base))
	if err != nil {
		return lab.Program{}, err
	}
	for _, b := range bases {
		if f, err := p.unpacked(ctx, d, experiment.Server{Engine: engine, Basedir: b}); err == nil {
			return f, nil
		}
	}
	return lab.Program{}, hint.With(fmt.Errorf("the fetched server in %s does not run here", tree), "install "+p.Label(engine)+", or name an unpacked one with basedir")
}

// unpacked finds the server of a base directory.
func (p programs) unpacked(ctx context.Context, d host.Doer, s experiment.Server) (lab.Program, error) {
	if !path.IsAbs(s.Basedir) {
		return lab.Program{}, hint.With(fmt.Errorf("basedir is %q", s.Basedir), "give it as a path from the root")
	}
	all, err := p.in(ctx, d, []product.Place{{Base: s.Basedir, Dirs: p.below}})
	if err != nil {
		return lab.Program{}, err
	}
	if len(all) == 0 {
		return lab.Program{}, hint.With(fmt.Errorf(p.lacks, s.Basedir), "basedir is the directory that holds "+p.example)
	}
	if f, ok := choose(all, s); ok {
		return f.Program, nil
	}
	return lab.Program{}, p.missing(all, s, false)
}

// in asks every server program in some places what it is. One that does not
// run is passed over.
func (p programs) in(ctx context.Context, d host.Doer, places []product.Place) (all []found, err error) {
	dirs, err := directories(ctx, d, places)
	if err != nil {
		return nil, err
	}
	var seen []string
	for _, in := range dirs {
		for _, name := range p.Programs {
			st, err := d.Stat(ctx, path.Join(in.path, name))
			if err != nil || !st.Mode.IsRegular() {
				continue
			}
			real := cmp.Or(st.Resolved, path.Join(in.path, name))
			if slices.Contains(seen, real) {
				continue // mysqld is a link to mariadbd
			}
			seen = append(seen, real)
			f := found{Program: lab.Program{Paths: map[string]string{server: real}}}
			if in.base != "" {
				f.Paths[base] = in.base
			}
			ok := p.complete(ctx, d, &f)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if ok {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// directory is one directory of a place.
type directory struct{ base, path string }

// directories gives those of all places.
func directories(ctx context.Context, d host.Doer, places []product.Place) (all []directory, err error) {
	for _, at := range places {
		bases, err := matching(ctx, d, at.Base)
		if err != nil {
			return nil, err
		}
		for _, b := range bases {
			for _, dir := range at.Dirs {
				paths, err := matching(ctx, d, path.Join(b, dir))
				if err != nil {
					return nil, err
				}
				for _, p := range paths {
					all = append(all, directory{b, p})
				}
			}
		}
	}
	return all, nil
}

// matching gives the paths of a pattern; what is none need not exist.
func matching(ctx context.Context, d host.Doer, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}, nil
	}
	return d.Glob(ctx, pattern)
}

// choose gives the newest of the servers that are of the engine and version
// asked for.
func choose(all []found, s experiment.Server) (found, bool) {
	fit := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.engine != s.Engine || !isVersion(f.version, s.Version) })
	if len(fit) == 0 {
		return found{}, false
	}
	return slices.MaxFunc(fit, func(a, b found) int {
		x, _ := catalog.ParseVersion(a.version) // what reads them lets only numbers through
		y, _ := catalog.ParseVersion(b.version)
		return x.Compare(y)
	}), true
}

// isVersion tells whether 10.11.14 is "10.11", "10" or "10.11.14".
func isVersion(have, want string) bool {
	return want == "" || have == want || strings.HasPrefix(have, want+".")
}

// missing says what was asked for and what there is.
func (p programs) missing(all []found, s experiment.Server, canFetch bool) error {
	want := strings.TrimSpace(p.Label(s.Engine) + " " + s.Version)
	help := p.sources[s.Engine].get
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
