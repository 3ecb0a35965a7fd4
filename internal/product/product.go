// Package product is the one table of the servers that Plumb knows: what they
// are called, what they run as, how they are named in a URL, and in what else
// they differ where the difference is a value. Code that knows one product
// lies in engine/ and below; what lies under it asks this table.
package product

import (
	"regexp"
	"slices"
)

// Kinds of servers: the kinds that their things have in a stack, and what a
// host.Target calls their engine.
const (
	MySQL    = "mysql"
	Postgres = "postgres"
	Mongo    = "mongo"
	ProxySQL = "proxysql"
)

// Flavours of MySQL that are no MySQL.
const (
	MariaDB = "mariadb"
	Percona = "percona"
)

// Server is one kind of server.
type Server struct {
	Kind    string
	Flavors []Flavor // those of one kind differ in little; the first is taken where nothing tells

	Programs []string       // the kernel's names of their processes (/proc/PID/comm), at most 15 bytes
	Wrappers []string       // likewise, of what starts one and stays its parent
	Accounts []string       // the users that packages make for them
	Units    *regexp.Regexp // the services under which packages start them; nil where nobody asks
	Places   []Place        // where packages and archives put their programs

	Schemes []string // of URLs; a name without any is MySQL's
	Verify  string   // what in a data source name has the server's certificate verified
	Config  string   // the configuration file that everybody knows

	SELinux string // the type of its data in SELinux's policy; "" when nobody knows

	FirstFile string // one that every data directory has since it was made
	Files     []Files
	Tables    *regexp.Regexp // a file of a table, from the directory of its role; its first group names the table. nil: files have no names of tables
	Notation  Notation
	Dialect   *Dialect // nil for those that no load is for

	SharesMemory   bool // its processes share most of their memory: their sizes must not be summed
	SparseLogs     bool // its log is reserved, and not written through, when it is made
	HidesAllocator bool // most builds contain one, which does not show among the libraries
}

// Flavor is one product of a kind.
type Flavor struct {
	Name    string // the value of the fact "flavor", and the engine in an experiment
	Label   string // what its makers call it
	Claim   string // the name in a rule's range; "" for Name
	Unruled bool   // no rule names it
	Private bool   // the lab can make servers of it
}

// Files are the files of one role, by which they are known in a directory that
// holds others' too: patterns as of path.Match, from the role's directory. The
// first that matches tells; of a role without any, all in its directory is its own.
type Files struct {
	Role     string
	Patterns []string
}

// Place is where programs may lie. It and its directories may be patterns.
type Place struct {
	Base string // of an unpacked server; "" for the system's own
	Dirs []string
}

// Notation is how a server's configuration writes numbers and switches.
type Notation int

// Notations.
const (
	Plain  Notation = iota
	Option          // of an option file: 128M, ON
	Units           // with the unit that is meant: 128MB, 30s; on
)

// Servers lists them all, in the order in which they are shown.
func Servers() []Server { return servers }

// Kinds lists the kinds of all servers, in order.
func Kinds() (all []string) {
	for _, s := range servers {
		all = append(all, s.Kind)
	}
	return all
}

// IsServer tells whether things of a kind are servers.
func IsServer(kind string) bool { return Of(kind).Kind != "" }

// Of gives what is known of a kind of servers; the zero value for any other kind.
func Of(kind string) Server { return first(func(s Server) bool { return s.Kind == kind }) }

// OfScheme gives the servers that a URL with a scheme is for.
func OfScheme(scheme string) Server {
	return first(func(s Server) bool { return slices.Contains(s.Schemes, scheme) })
}

// OfProgram gives the servers whose process has a name.
func OfProgram(comm string) Server {
	return first(func(s Server) bool { return slices.Contains(s.Programs, comm) })
}

// OfFlavor gives the servers of which one is a flavour that the lab can make.
func OfFlavor(name string) Server {
	return first(func(s Server) bool { f := s.flavor(name); return f != nil && f.Private })
}

// IsWrapper tells whether processes of a name start servers and stay their parents.
func IsWrapper(comm string) bool {
	return first(func(s Server) bool { return slices.Contains(s.Wrappers, comm) }).Kind != ""
}

func first(is func(Server) bool) Server {
	if i := slices.IndexFunc(servers, is); i >= 0 {
		return servers[i]
	}
	return Server{}
}

// Private lists the names of the flavours that the lab can make servers of.
func Private() (all []string) {
	for _, s := range servers {
		for _, f := range s.Flavors {
			if f.Private {
				all = append(all, f.Name)
			}
		}
	}
	return all
}

func (s Server) flavor(name string) *Flavor {
	if i := slices.IndexFunc(s.Flavors, func(f Flavor) bool { return f.Name == name }); i >= 0 {
		return &s.Flavors[i]
	}
	return nil
}

// Label is what people call a server of a flavour; of "", which is not known,
// what they call the kind.
func (s Server) Label(flavor string) string {
	if f := s.flavor(flavor); f != nil {
		return f.Label
	}
	if f := s.flavor(s.Kind); flavor == "" && f != nil {
		return f.Label
	}
	if flavor == "" && len(s.Flavors) > 0 {
		return s.Flavors[0].Label
	}
	return flavor
}

// Claim is the product that a server of a flavour is in the range of a rule;
// "" when it does not tell.
func (s Server) Claim(flavor string) string {
	if len(s.Flavors) == 1 {
		flavor = s.Flavors[0].Name
	}
	if f := s.flavor(flavor); f != nil && f.Claim != "" {
		return f.Claim
	}
	return flavor
}

// Claims lists the products that rules about a kind of servers can name.
func (s Server) Claims() (all []string) {
	for _, f := range s.Flavors {
		if !f.Unruled {
			all = append(all, s.Claim(f.Name))
		}
	}
	return all
}

// ClaimLabel is what people call a product that rules name; "" for none of ours.
func ClaimLabel(claim string) string {
	for _, s := range servers {
		for _, f := range s.Flavors {
			if s.Claim(f.Name) == claim {
				return f.Label
			}
		}
	}
	return ""
}
