// Package swap brings a MariaDB of Debian's packages under a newer series: the packages of that are fetched first, and tried
// on a copy of a point. Then the server is stopped, its data are copied, the packages are exchanged, and mariadb-upgrade runs
// while nobody else comes in. The copy, and the packages of before, are the way back. It implements provision.Swapper.
package swap

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/system/packages"
	"plumb/internal/units"
)

// Swapper implements provision.Swapper.
type Swapper struct {
	Point *point.Engine // which knows where a server keeps what
}

var _ provision.Swapper = Swapper{}

// Kind implements provision.Swapper.
func (Swapper) Kind() string { return product.MySQL }

// releases is where the packages of both versions are kept. Server's users pass through it, so it is not below that of the journals.
const releases = "/var/lib/plumb-releases"

// odd are characters that a directory of packages must not have: with a colon in its path, apt-get installs nothing and says that all is well.
var odd = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// dirOf is where those of one swap are.
func dirOf(home provision.Home, series string) string {
	return path.Join(releases, odd.ReplaceAllString(home.Server.String(), "-")+"-"+series)
}

// Swap implements provision.Swapper.
func (s Swapper) Swap(ctx context.Context, h host.Reader, w provision.Swap) (course provision.Course, err error) {
	old, err := s.read(ctx, h, w)
	if err != nil {
		return course, err
	}
	kin := product.PackagesOf(product.MariaDB)
	release, err := packages.Newer(ctx, h, kin.Apt, w.To.Version, kin.Kin)
	if err != nil {
		return course, err
	}
	look, shows, err := service.Listening(w.Home.Target.Network, w.Home.Target.Address)
	if err == nil {
		err = service.ComesBack(ctx, h, w.Home.Unit, w.Home.Target)
	}
	if err != nil {
		return course, err
	}
	n := next{server: old, release: release, dir: dirOf(w.Home, seriesOf(w.To.Version)), service: kin.Service, look: look, shows: shows}
	there, err := release.Fetched(ctx, h, n.dir)
	if err != nil {
		return course, fmt.Errorf("see what was fetched before: %w", err)
	}
	if !there {
		course.First.Acts = []change.Act{release.Fetch(n.dir)}
	}
	course.Swap.Acts = n.acts()
	course.Swap.Notes = n.notes()
	course.Swap.Proof = w.Answers("SELECT @@version", func(text string) bool { return seriesOf(text) == seriesOf(w.To.Version) })
	return course, nil
}

// next is a server on its way.
type next struct {
	server
	release packages.Release
	dir     string // of the packages
	service string
	look    change.Inspection
	shows   string
}

func (n next) acts() (all []change.Act) {
	all = append(all, n.stop())
	for _, p := range n.places {
		all = append(all, change.Act{Copy: &change.Copy{From: p.dir, To: p.kept, Unused: true}})
	}
	return append(all, n.shut(), n.release.Replace(n.dir, n.putBack()...), n.upgrade(), n.start())
}

func (n next) notes() []string {
	changes, comes := n.release.Changes()
	notes := []string{
		fmt.Sprintf("the server is stopped while %s are copied, the packages are exchanged and mariadb-upgrade runs", units.Measured(float64(n.size))),
		strings.Join(changes, ", ") + " get another version",
	}
	if comes != nil {
		notes = append(notes, "with it come "+strings.Join(comes, ", "))
	}
	for _, p := range n.places {
		notes = append(notes, fmt.Sprintf("what is in %s at the stop is kept in %s, and takes its room until you remove it", p.dir, p.kept))
	}
	return append(notes, "configuration that somebody changed stays, and what nobody changed becomes that of the new packages")
}

// patience is how long a server may take to stop or to answer, in milliseconds.
const patience = 10 * 60 * 1000

func (n next) control(word string) change.Op {
	return change.Op{Argv: []string{"service", n.service, word}}
}

// who are the first arguments of all scripts.
func (n next) who(more ...string) []string {
	return append([]string{n.dir, strconv.Itoa(n.home.UID), strconv.Itoa(n.home.GID)}, more...)
}

// configured has the new server read the configuration.
func (n next) configured() change.Op { return change.LongScript(configured, n.who(n.loads...)...) }

// stop stops the server, once the new one has read its configuration. A server that was killed in place of stopped leaves a log
// that a newer one does not read.
func (n next) stop() change.Act {
	t := n.home.Target
	return change.Act{Switch: &change.Switch{On: n.home.Server.String() + " of " + n.home.Version, Inspect: n.look, After: change.None, Exact: true, Patience: patience, Home: n.home.Data,
		Do: []change.Op{n.release.Same(), n.configured(), {Target: &t, Statement: "SET GLOBAL innodb_fast_shutdown = LEAST(@@GLOBAL.innodb_fast_shutdown, 1)"},
			n.control("stop"), {Argv: service.UntilEnded(n.home.PID)}},
		Undo: []change.Op{n.control("start")}}}
}

// shut keeps whoever would start the server out of its data until the new one is ready for them, and on the way back until the packages of
// before are there again. Once the data can be entered, their mode is their owner's affair.
func (n next) shut() change.Act {
	data := n.home.Data
	var pairs []string
	for _, p := range n.places {
		pairs = append(pairs, p.dir, p.kept)
	}
	return change.Act{Switch: &change.Switch{On: "the mode of " + data + ", that no server starts in it", After: "0", Later: "[0-7]+", Exact: true,
		Inspect: change.Inspection{Argv: []string{"stat", "-c", "%a", data}},
		Do:      []change.Op{change.LongScript(shut, n.who(pairs...)...)},
		Undo:    []change.Op{change.LongScript(names+`as chmod "$1" "$2"`, n.who("{before}", data)...)}}}
}

// putBack puts the data of before in their place, and keeps those of the new server under another name.
func (n next) putBack() (ops []change.Op) {
	for _, p := range n.places {
		ops = append(ops, change.LongScript(putBack, n.who(p.dir, p.kept, p.aside)...))
	}
	return ops
}

// upgrade runs mariadb-upgrade on a server to which nobody else can come, and notes where its log stood before that. Once it was begun,
// the data of before come back whatever is read: somebody may have exchanged the packages by hand, and removed the mark.
func (n next) upgrade() change.Act {
	mark := path.Join(n.dir, mark)
	return change.Act{Switch: &change.Switch{On: "the data of " + n.home.Server.String() + " under " + n.release.Is(), From: change.None, After: n.home.Version, Always: true,
		Inspect: change.Inspection{File: mark, Match: `^from ([0-9.]+)$`},
		Do:      []change.Op{change.LongScript(upgrade, n.who(append([]string{n.home.Data, n.home.Version, n.places[0].kept}, n.loads...)...)...)},
		Undo:    append(n.putBack(), change.Op{Argv: []string{"rm", "-f", "--", mark}})}}
}

// keeps is what must be so for the data of before to come back: a person may have removed them, to make room, or unmounted them.
func (n next) keeps() *change.Still {
	var above, is []string
	kept := []string{"-maxdepth", "1", "-false"}
	for _, p := range n.places {
		if dir := path.Dir(p.kept); !slices.Contains(above, dir) {
			above = append(above, dir)
		}
		kept = append(kept, "-o", "-path", host.Verbatim(p.kept), "-printf", "kept ")
		is = append(is, "kept")
	}
	return &change.Still{Inspect: change.Inspection{Argv: slices.Concat([]string{"find"}, above, kept)}, State: strings.Join(is, " "),
		Hint: "the old data, in " + n.where() + ", are gone: mount their filesystem, or stay with the newer server"}
}

// where names the directories that are kept.
func (n next) where() string {
	var all []string
	for _, p := range n.places {
		all = append(all, p.kept)
	}
	return strings.Join(all, ", ")
}

// start starts the new server. The way back stops it also when it does not listen: its unit starts one that crashed again, which would
// find the data of before in its place while its packages are still there.
func (n next) start() change.Act {
	stop, sure := service.Surely(n.control("stop").Argv)
	still := n.release.Kept(n.dir)
	still.And = n.keeps()
	return change.Act{Switch: &change.Switch{On: n.home.Server.String() + " of " + n.release.Is(), Inspect: n.look, After: n.shows, Exact: true, Patience: patience, Home: n.home.Data,
		Do: []change.Op{n.control("start")}, Undo: change.Commands(stop), Always: sure, Still: still}}
}
