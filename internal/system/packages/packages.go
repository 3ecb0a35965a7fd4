package packages

import (
	"context"
	"fmt"
	"path"
	"slices"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
)

// Managers of packages.
const (
	aptGet = "/usr/bin/apt-get"
	dnfBin = "/usr/bin/dnf"
)

// Want is what shall be installed.
type Want struct {
	Names []string // as Debian has them
	// Server tells what the packages of a server make and leave; the zero value
	// for those of no server.
	Server product.Packages
	// Series is that of the server, whose sources may have others too; "": whichever they have.
	Series string
}

// Server are the packages of a server of a flavour, in a version or, for "", the one
// that the system has. Where its makers' repository is among the sources, any version can be chosen.
func Server(flavor, version string, makers bool) (Want, error) {
	p := product.PackagesOf(flavor)
	if makers && p.Of == "" {
		return Want{Names: []string{p.Apt}, Server: p, Series: version}, nil
	}
	name := p.With(version)
	if name == "" {
		return Want{}, &change.Refusal{Why: fmt.Sprintf("the system's packages have no %s of a version that can be chosen", product.OfFlavor(flavor).Label(flavor)),
			What: "name no version, or install the server from its makers' repository"}
	}
	return Want{Names: []string{name}, Server: p}, nil
}

// rpms gives the names as dnf has them, which calls some servers differently.
func (w Want) rpms() []string {
	names := slices.Clone(w.Names)
	if i := slices.Index(names, w.Server.Apt); i >= 0 {
		names[i] = w.Server.Dnf
	}
	return names
}

// Recipe says what installs those of some packages that are not there. No acts: all
// are. It only reads. A *change.Refusal says why they cannot come in so that they
// could go again, and what helps.
func Recipe(ctx context.Context, h host.Reader, w Want) (change.Recipe, error) {
	switch isApt, err := host.Exists(ctx, h, aptGet); {
	case err != nil:
		return change.Recipe{}, err
	case isApt:
		return apt{ctx, h}.recipe(w)
	}
	switch isDnf, err := host.Exists(ctx, h, dnfBin); {
	case err != nil:
		return change.Recipe{}, err
	case isDnf:
		return dnf{ctx, h}.recipe(w)
	}
	return change.Recipe{}, &change.Refusal{Why: "this system has neither apt-get nor dnf", What: "install what is missing yourself, and plan again"}
}

// still reads whether somebody's data are in the first server's directory: what
// removes a server's packages removes them too.
func (w Want) still() *change.Still {
	p := w.Server
	if p.Home == "" {
		return nil
	}
	// Others' directories beside it are not gone into. That it is not there is no error.
	argv := []string{"find", path.Dir(p.Home), "-mindepth", "1", "(", "-not", "-path", p.Home, "-not", "-path", p.Home + "/*", "-prune", ")"}
	for _, words := range p.Strangers {
		argv = slices.Concat(argv, []string{"-o", "("}, words, []string{"-printf", "%P\\n", ")"})
	}
	return &change.Still{Inspect: change.Inspection{Argv: argv}, State: change.None,
		Hint: "the server from the packages contains data now: save and drop them first, or keep the packages"}
}

// alone refuses to remove packages with which servers would go whose data are elsewhere, where still does not see them.
func (w Want) alone() []change.Op {
	if w.Server.Elsewhere == "" {
		return nil
	}
	return []change.Op{{Argv: []string{"sh", "-euc", "left=$(" + w.Server.Elsewhere + `)
[ -z "$left" ] || { echo "removing the packages would remove the data of $left: save and drop them first, or keep the packages" >&2; exit 1; }`, "sh", w.Server.Home}}}
}

// notes says what goes with the packages.
func (w Want) notes() []string {
	if w.Server.Home == "" {
		return nil
	}
	return []string{"taken away again, the packages take the server in " + w.Server.Home + " along, with its accounts and settings; while it holds a database, they stay"}
}
