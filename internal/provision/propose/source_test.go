package propose

import (
	"context"
	"errors"
	"slices"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// bare has no server, and the makers' repository among its sources.
type bare struct {
	provision.System
	provision.Engine
}

func (bare) Kind() string { return product.MySQL }

func (bare) Filesystem(context.Context, host.Reader, spec.Filesystem) (provision.Making, error) {
	return provision.Making{}, nil
}

func (bare) Source(context.Context, host.Reader, string, string) (provision.Making, error) {
	return provision.Making{Notes: []string{"it is entered already"}}, nil
}

func (bare) Packages(context.Context, host.Reader, string, string, string, bool) (provision.Making, error) {
	return provision.Making{Acts: []change.Act{{Switch: &change.Switch{On: "the packages"}}}, Notes: []string{"of packages"}}, nil
}

// Whose key is good for a repository that somebody else has entered is told before anything comes from it.
func TestSourceThatIsThereIsTold(t *testing.T) {
	p := &planning{Flow: Flow{System: bare{}, Storage: disks{}, Engines: []provision.Engine{bare{}}}, d: there{}}
	p.Stack = &stack.Stack{}
	p.Spec = spec.Spec{From: "mariadb.org", Filesystem: &spec.Filesystem{Type: "xfs", At: "/srv"}, Server: spec.Server{Product: product.MariaDB, Version: "11.8"}}
	missing, err := p.packages(t.Context())
	if err != nil || !missing || len(p.Stages) != 1 || !slices.Contains(p.Stages[0].Notes, "it is entered already") || !slices.Contains(p.Stages[0].Notes, "of packages") {
		t.Errorf("missing %v, %+v: %v", missing, p.Stages, err)
	}
}

// disks are all empty, or none can be used.
type disks struct {
	provision.Storage
	err error
}

func (d disks) Disks(context.Context, host.Reader, spec.Pool) error { return d.err }

func (d disks) Filesystem(context.Context, host.Reader, spec.Filesystem, string, provision.Birth) (provision.Making, error) {
	return provision.Making{}, d.err
}

// A disk that cannot be used is told before anything is installed on its account.
func TestNothingIsInstalledForADiskInUse(t *testing.T) {
	used := errors.New("it is in use")
	server := spec.Server{Product: product.MariaDB}
	for name, sp := range map[string]spec.Spec{"pool": {Pool: &spec.Pool{Name: "tank"}, Server: server}, "filesystem": {Filesystem: &spec.Filesystem{Type: "xfs", At: "/srv"}, Server: server}} {
		p := &planning{Flow: Flow{System: bare{}, Storage: disks{err: used}, Engines: []provision.Engine{bare{}}}, d: there{}}
		p.Stack, p.Spec = &stack.Stack{}, sp
		if missing, err := p.packages(t.Context()); !errors.Is(err, used) || missing || len(p.Stages) > 0 {
			t.Errorf("%s: missing %v, %d stages: %v", name, missing, len(p.Stages), err)
		}
	}
}

// there has every file.
type there struct{ host.Doer }

func (there) Stat(context.Context, string) (host.Stat, error) { return host.Stat{}, nil }
