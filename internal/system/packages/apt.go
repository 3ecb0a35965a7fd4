package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// quiet is what an installation is run with: it asks nothing, keeps
// configuration that is there, and restarts nothing of others.
var quiet = []string{"env", "DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true",
	"APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1", "LC_ALL=C"}

// simulation only computes: it takes no lock and writes no cache.
var simulation = []string{"apt-get", "-s", "-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
	"--no-install-recommends", "--no-upgrade", "install"}

// mostNames is how many packages can be asked for at once, as the list of reading commands has it.
const mostNames = 6

// apt is a system with dpkg.
type apt struct {
	ctx context.Context
	h   host.Reader
}

// recipe installs those of the names that are missing, with what they depend on.
func (a apt) recipe(w Want) (r change.Recipe, err error) {
	there, err := a.listed()
	if err != nil {
		return r, err
	}
	missing := slices.DeleteFunc(slices.Clone(w.Names), func(n string) bool {
		return slices.ContainsFunc(there, func(i installed) bool { return plain(i.name) == n && i.status == isInstalled })
	})
	if len(missing) == 0 {
		return r, nil
	}
	if len(missing) > mostNames {
		return r, fmt.Errorf("install %s: at most %d packages can be asked for at once", strings.Join(missing, ", "), mostNames)
	}
	s, err := a.simulate(missing)
	if err != nil {
		return r, err
	}
	if err := refuse(missing, s, there); err != nil {
		return r, err
	}
	if err := w.ofSeries(s.comes); err != nil {
		return r, err
	}
	left, err := a.absent(w.Server.Leave)
	if err != nil {
		return r, err
	}
	return change.Recipe{Effect: catalog.Now, Lasts: "the system's packages", Notes: w.notes(), Acts: []change.Act{{Switch: install(missing, s.comes, w, left)}}}, nil
}

// listed gives all packages, and refuses to begin where dpkg has not ended.
func (a apt) listed() ([]installed, error) {
	text, err := a.h.Output(a.ctx, listing()...)
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	all := parseListing(text)
	for _, i := range all {
		if i.status != isInstalled && i.status != isGone && i.status != isRemoved {
			return nil, &change.Refusal{Why: fmt.Sprintf("the package %s is %s: dpkg was interrupted here, or is running, for example for unattended-upgrades", plain(i.name), i.status),
				What: "wait until neither apt-get nor dpkg runs; what is like that then, dpkg --configure -a ends"}
		}
	}
	return all, nil
}

// absent gives those users and groups that are not there now.
func (a apt) absent(accounts []string) (left []string, err error) {
	var known []string
	for _, file := range []string{"/etc/passwd", "/etc/group"} {
		text, err := a.h.ReadFile(a.ctx, file)
		if err != nil {
			return nil, fmt.Errorf("see which users there are: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, ":")
			known = append(known, name)
		}
	}
	for _, n := range accounts {
		if !slices.Contains(known, n) {
			left = append(left, n)
		}
	}
	return left, nil
}

func (a apt) simulate(missing []string) (s simulated, err error) {
	for _, n := range missing {
		if !isPackage(n) {
			return s, fmt.Errorf("%q is not a package name", n)
		}
	}
	text, err := a.h.Output(a.ctx, slices.Concat(simulation, missing)...)
	if errors.Is(err, context.DeadlineExceeded) {
		return s, fmt.Errorf("see what comes in with %s: %w", strings.Join(missing, ", "), err)
	}
	if err != nil {
		return s, &change.Refusal{Why: fmt.Sprintf("the system's packages do not provide %s: %v", strings.Join(missing, ", "), err),
			What: "apt-get update reads what there is; ZFS is in Debian's component contrib, and other versions of servers are in their makers' repositories"}
	}
	return parseSimulation(text)
}

// refuse says why what apt-get would do cannot all be taken back.
func refuse(missing []string, s simulated, there []installed) error {
	what := strings.Join(missing, ", ")
	switch {
	case len(s.goes) > 0:
		return &change.Refusal{Why: fmt.Sprintf("to install %s, apt-get would remove %s", what, strings.Join(s.goes, ", ")), What: "remove them yourself, if that is what you want"}
	case len(s.changes) > 0:
		return &change.Refusal{Why: fmt.Sprintf("to install %s, apt-get would install another version of %s, which cannot be undone", what, strings.Join(plains(s.changes), ", ")),
			What: "apt-get upgrade first"}
	case len(s.comes) == 0:
		return &change.Refusal{Why: fmt.Sprintf("apt-get would install nothing for %s", what), What: "apt-cache policy shows whether they are held back"}
	}
	for _, i := range there {
		if i.status == isRemoved && slices.ContainsFunc(s.comes, func(c installed) bool { return c.name == i.name }) {
			return &change.Refusal{Why: fmt.Sprintf("%s was removed here but left its configuration, which removing the package would delete too", plain(i.name)),
				What: "apt-get purge " + plain(i.name) + " removes it, or install the package yourself"}
		}
	}
	return nil
}

// ofSeries refuses a server of another series than is wanted.
func (w Want) ofSeries(comes []installed) error {
	for _, c := range comes {
		if w.Series != "" && plain(c.name) == w.Names[0] && !isOf(c.version, w.Series) {
			return &change.Refusal{Why: fmt.Sprintf("the package sources have %s %s, but %s is required", plain(c.name), c.version, w.Series), What: "apt-cache policy " + w.Names[0] + " shows which there are, and why that one is preferred"}
		}
	}
	return nil
}

// install is the act. What comes is named to its version, so that what has
// changed in the archive since the plan is an error and no surprise.
func install(missing []string, comes []installed, w Want, left []string) *change.Switch {
	var names, exact, auto, lines []string
	for _, c := range comes {
		names = append(names, c.name)
		exact = append(exact, c.name+"="+c.version)
		lines = append(lines, c.line())
		if !slices.Contains(missing, plain(c.name)) {
			auto = append(auto, c.name)
		}
	}
	slices.Sort(lines)
	get := slices.Concat(quiet, []string{"apt-get", "-y", "-q", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
		"-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=1", "--no-install-recommends", "--no-remove", "install"}, exact)
	do := []change.Op{{Long: true, Argv: slices.Concat(goOn, get)}}
	if auto != nil {
		do = append(do, change.Op{Argv: append([]string{"apt-mark", "auto"}, auto...)})
	}
	return &change.Switch{On: "the packages " + strings.Join(missing, ", "), From: change.None, Exact: true, Still: w.still(),
		Inspect: change.Inspection{Argv: listing(), Among: names}, After: strings.Join(lines, "\n"), Do: do,
		UndoNone: slices.Concat(w.alone(), []change.Op{{Long: true, Argv: slices.Concat(whole, get)}}, purge(names, w.Server.Answers, left))}
}

// goOn ends what dpkg began before it was killed, as far as that can be, and
// goes on with the command that follows. Scripts of packages write where they like why they fail, and only the standard error gets into an error.
var goOn = []string{"sh", "-c", `dpkg --force-confdef --force-confold --configure -a >/dev/null 2>&1; exec "$@" >&2`, "sh"}

// whole ends an installation that was killed amid a package: of one that is half there, dpkg does
// not know all files, and removing it would leave them.
var whole = []string{"sh", "-c", `dpkg --force-confdef --force-confold --configure -a >/dev/null 2>&1
! dpkg-query -W -f='${db:Status-Status}\n' | grep -qx half-installed || exec "$@" >&2`, "sh"}

// purge takes packages away: all of them, or none while another package needs
// one. Then go the users that they have left.
func purge(names, answers, left []string) (ops []change.Op) {
	dpkg := slices.Concat(quiet, []string{"dpkg"})
	ops = append(ops, change.Op{Argv: slices.Concat(dpkg, []string{"--no-act", "--purge"}, names)})
	if answers != nil {
		ops = append(ops, change.Op{Argv: slices.Concat([]string{"sh", "-c", `printf '%s\n' "$@" | debconf-set-selections`, "sh"}, answers)})
	}
	ops = append(ops, change.Op{Long: true, Argv: slices.Concat(dpkg, []string{"--purge"}, names)})
	if left != nil {
		ops = append(ops, change.Op{Argv: slices.Concat([]string{"sh", "-c", removeAccounts, "sh"}, left)})
	}
	return ops
}

// removeAccounts removes users and groups that are there.
const removeAccounts = `for n; do
	! getent passwd "$n" >/dev/null || userdel "$n" || exit
	! getent group "$n" >/dev/null || groupdel "$n" || exit
done`
