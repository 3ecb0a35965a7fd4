package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// Release is another version of the packages of a server that is here, and what it would change.
type Release struct {
	Name    string // of the server's package
	Version string // of it, as dpkg writes one: 1:11.8.3-0+deb13u1
	was, is []installed
	comes   []installed
	now     string // how the listing has all of them
}

// Newer finds the packages of a series that the system's sources have for a server: the newest of it. It refuses what could not be taken
// back: packages of others may neither change nor go.
func Newer(ctx context.Context, h host.Reader, name, series string, kin []string) (r Release, err error) {
	switch is, err := host.Exists(ctx, h, aptGet); {
	case err != nil:
		return r, err
	case !is:
		return r, &change.Refusal{Why: "this system has no apt-get", What: "replace the packages yourself"}
	}
	a := apt{ctx, h}
	there, err := a.listed()
	if err != nil {
		return r, err
	}
	if !slices.ContainsFunc(there, func(i installed) bool { return plain(i.name) == name && i.status == isInstalled }) {
		return r, &change.Refusal{Why: fmt.Sprintf("the package %s is not installed: the server was installed in another way", name), What: "replace its programs in the same way"}
	}
	r.Name = name
	if r.Version, err = a.newest(name, series); err != nil {
		return r, err
	}
	text, err := a.h.Output(ctx, slices.Concat(exchange, []string{name + "=" + r.Version})...)
	if errors.Is(err, context.DeadlineExceeded) {
		return r, fmt.Errorf("see what comes in with %s %s: %w", name, r.Version, err)
	}
	if err != nil {
		return r, &change.Refusal{Why: fmt.Sprintf("apt-get cannot install %s %s: %v", name, r.Version, err), What: "apt-get -s install " + name + "=" + r.Version + " says what is missing"}
	}
	s, err := parseSimulation(text)
	if err != nil {
		return r, err
	}
	r.is, r.comes = s.changes, s.comes
	if r.was, err = among(there, r.is); err != nil {
		return r, err
	}
	if err := a.held(r.was); err != nil {
		return r, err
	}
	r.now = r.listed(there)
	return r, a.alone(s, r, kin)
}

// names are those of all packages that it changes or brings.
func (r Release) names() (names []string) {
	for _, i := range slices.Concat(r.is, r.comes) {
		names = append(names, i.name)
	}
	return names
}

// listed gives the lines that the listing has of them.
func (r Release) listed(all []installed) string {
	var lines []string
	for _, i := range all {
		if slices.Contains(r.names(), i.name) {
			lines = append(lines, i.name+" "+i.version+" "+i.status)
		}
	}
	slices.Sort(lines)
	return cmp.Or(strings.Join(lines, "\n"), change.None)
}

// Same fails once the packages are no longer those of which the plan was made: the way back brings those.
func (r Release) Same() change.Op {
	var lines []string
	for _, i := range r.was {
		lines = append(lines, i.line())
	}
	return change.Op{Argv: append([]string{"sh", "-euc", `all=$(dpkg-query -W -f='` + queryFormat + `')
for line; do
	printf '%s\n' "$all" | grep -qxF -e "$line" || { echo "the package ${line%% *} was of version $(set -- $line; echo "$2") when the swap was planned, and is not any more: plan it again" >&2; exit 1; }
done`, "sh"}, lines...)}
}

// isHeld finds those of some packages that somebody holds at their version, which apt-get does not give another while it asks nobody.
func isHeld(names []string) change.Inspection {
	return change.Inspection{Argv: []string{"dpkg-query", "-W", `-f=${Package}:${Architecture} ${db:Status-Want}\n`}, Among: names, Match: `^([^ ]+) hold$`}
}

// held refuses packages that are held: that is found out while the server still runs.
func (a apt) held(all []installed) error {
	text, err := a.h.Output(a.ctx, isHeld(nil).Argv...)
	if err != nil {
		return fmt.Errorf("see which packages are held: %w", err)
	}
	var names []string
	for _, i := range all {
		if slices.Contains(strings.Split(string(text), "\n"), i.name+" hold") {
			names = append(names, plain(i.name))
		}
	}
	if names == nil {
		return nil
	}
	return &change.Refusal{Why: strings.Join(names, ", ") + " is held at its version (apt-mark hold)", What: "apt-mark unhold " + strings.Join(names, " ") + ", if that is over"}
}

// exchange computes what another version of a package changes; what follows are packages. It takes no lock and writes no cache.
var exchange = []string{"apt-get", "-s", "-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "--no-install-recommends", "install", "--"}

// newest gives the newest version of a series that there is of a package.
func (a apt) newest(name, series string) (string, error) {
	text, err := a.h.Output(a.ctx, "apt-cache", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "madison", "--", name)
	if err != nil {
		return "", fmt.Errorf("see which versions there are of %s: %w", name, err)
	}
	all := parseVersions(text)
	for _, v := range all { // the newest is first
		if isOf(v, series) {
			return v, nil
		}
	}
	has := "none"
	if len(all) > 0 {
		has = strings.Join(all, ", ")
	}
	return "", &change.Refusal{Why: fmt.Sprintf("the package sources have no %s of %s: they have %s", name, series, has),
		What: "enter the system's next release, or the makers' repository, in /etc/apt/sources.list.d, and apt-get update"}
}

// parseVersions reads the versions of a package as apt-cache madison prints them, each once:
//
//	mariadb-server | 1:11.8.3-0+deb13u1 | http://deb.debian.org/debian trixie/main amd64 Packages
func parseVersions(text []byte) (all []string) {
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, "|")
		if len(f) < 3 {
			continue
		}
		if v := strings.TrimSpace(f[1]); isVersion(v) && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// upstream gives the version that the makers gave: 1:11.8.3-0+deb13u1 is 11.8.3.
func upstream(version string) string {
	if _, after, ok := strings.Cut(version, ":"); ok {
		version = after
	}
	return catalog.Numbers(version)
}

// isOf tells whether a version is of a series.
func isOf(version, series string) bool {
	of := upstream(version)
	return of == series || strings.HasPrefix(of, series+".")
}

// among finds packages in the list of those that are installed.
func among(there, want []installed) (found []installed, err error) {
	for _, w := range want {
		at := slices.IndexFunc(there, func(i installed) bool { return plain(i.name) == plain(w.name) && i.status == isInstalled })
		if at < 0 || !isPackage(there[at].name) || !isVersion(there[at].version) {
			return nil, fmt.Errorf("apt-get would give %s another version, and dpkg does not list it as installed", plain(w.name))
		}
		found = append(found, there[at])
	}
	return found, nil
}

// alone refuses what changes or removes packages that are not the server's: those of its source, or of its kin.
func (a apt) alone(s simulated, r Release, kin []string) error {
	text, err := a.h.Output(a.ctx, "dpkg-query", "-W", `-f=${Package} ${source:Package}\n`)
	if err != nil {
		return fmt.Errorf("list the packages' sources: %w", err)
	}
	source := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			source[f[0]] = f[1]
		}
	}
	own := append([]string{source[r.Name]}, kin...)
	var others, first []string
	for _, c := range r.is {
		if !slices.Contains(own, source[plain(c.name)]) {
			others, first = append(others, plain(c.name)), append(first, c.name+"="+c.version)
		}
	}
	if len(s.goes) > 0 { // what comes may be what takes their place
		for _, c := range r.comes {
			first = append(first, c.name+"="+c.version)
		}
	}
	if len(others)+len(s.goes) == 0 {
		return nil
	}
	why := fmt.Sprintf("with %s %s, apt-get would", r.Name, r.Version)
	if len(others) > 0 {
		why += " give " + strings.Join(others, ", ") + " another version"
	}
	if len(s.goes) > 0 {
		if len(others) > 0 {
			why += " and"
		}
		why += " remove " + strings.Join(s.goes, ", ")
	}
	return &change.Refusal{Why: why + ", which others on this host need too: that could not be undone", What: "install those first, if they suit the others: apt-get install " + strings.Join(first, " ")}
}

// Is tells the makers' version of the server.
func (r Release) Is() string { return upstream(r.Version) }

// Changes lists, for people, the packages that get another version, and those that come.
func (r Release) Changes() (changes, comes []string) {
	return plains(r.is), plains(r.comes)
}

// Programs is where the new version's files lie below the directory of Fetch, as they will below the root.
const Programs = "programs"

// fetched is the file that says that all was fetched.
const fetched = "whole"

// whole says what was fetched: the version, and those that the way back brings.
func (r Release) whole() string {
	var was []string
	for _, i := range r.was {
		was = append(was, i.version)
	}
	slices.Sort(was)
	return r.Version + " in place of " + strings.Join(slices.Compact(was), " and ")
}

// Fetched tells whether a directory holds all of the release, and of what it takes the place.
func (r Release) Fetched(ctx context.Context, h host.Reader, dir string) (bool, error) {
	text, err := h.ReadFile(ctx, path.Join(dir, fetched))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(text)) == r.whole(), err
}

// Kept is what must be so for the packages of before to come back.
func (r Release) Kept(dir string) *change.Still {
	return &change.Still{Inspect: change.Inspection{File: path.Join(dir, fetched), Match: `^([0-9].*)$`}, State: r.whole(),
		Hint: "the old packages, which were kept in " + dir + ", are gone: put them there again, or stay with the newer server"}
}

// Fetch brings the packages into a directory, those of before too: the way back must not depend on what
// the archive has by then. apt-get proves each against its signed lists.
func (r Release) Fetch(dir string) change.Act {
	return change.Act{Switch: &change.Switch{On: "the packages of " + r.Name + " in " + dir, From: change.None, After: r.whole(), Exact: true,
		Inspect:  change.Inspection{File: path.Join(dir, fetched), Match: `^([0-9].*)$`},
		Do:       []change.Op{{Long: true, Argv: slices.Concat(quiet, []string{"sh", "-euc", fetch, "sh", dir, r.whole(), exactly(slices.Concat(r.is, r.comes)), exactly(r.was)})}},
		UndoNone: []change.Op{{Argv: []string{"rm", "-rf", "--one-file-system", "--", dir}}, {Argv: []string{"sh", "-c", `rmdir -- "$1" 2>/dev/null || :`, "sh", path.Dir(dir)}}}}}
}

// fetch downloads and unpacks. Names and versions hold no blanks.
const fetch = `umask 022
dir=$1 whole=$2 new=$3 old=$4
mkdir -p -- "${dir%/*}"
exec 9<"${dir%/*}" # one of a Plumb that was killed goes on without it
flock 9
[ "$(cat "$dir/` + fetched + `" 2>/dev/null)" != "$whole" ] || exit 0
rm -rf --one-file-system -- "$dir"
mkdir -p -- "$dir/new" "$dir/old" "$dir/` + Programs + `"
cd "$dir/new" && apt-get -q -o Acquire::Retries=1 download $new
cd "$dir/old" && apt-get -q -o Acquire::Retries=1 download $old
for f in "$dir"/new/*.deb; do dpkg -x "$f" "$dir/` + Programs + `"; done
sync -f "$dir"
printf '%s\n' "$whole" >"$dir/` + fetched + `.new"
mv -T "$dir/` + fetched + `.new" "$dir/` + fetched + `"`

func exactly(all []installed) string {
	var words []string
	for _, i := range all {
		words = append(words, i.name+"="+i.version)
	}
	return strings.Join(words, " ")
}

// silent runs a command in which packages' scripts neither start nor stop a server: who changes the packages decides
// about that. It has mounts of its own, so that whatever happens nothing of it is left; what is unmounted on the host while it runs is
// not kept busy here (slave).
var silent = []string{"unshare", "--mount", "--propagation", "slave", "sh", "-euc", `mount -t tmpfs -o size=64k,mode=755 plumb /mnt
printf '#!/bin/sh\nexit 0\n' >/mnt/nothing
chmod 755 /mnt/nothing
for f in /usr/sbin/invoke-rc.d /usr/bin/deb-systemd-invoke; do [ ! -e "$f" ] || mount --bind /mnt/nothing "$f"; done
umount -l /mnt
exec "$@"`, "sh"}

// these installs the packages of a directory, and no others: apt-get is told of no source that had some.
func these(dir string) change.Op {
	get := slices.Concat(quiet, []string{"apt-get", "-y", "-q", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
		"-o", "DPkg::Lock::Timeout=120", "-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=/dev/null", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
		"--no-install-recommends", "--no-remove", "--allow-downgrades", "install", "--"})
	return change.Op{Long: true, Argv: slices.Concat(silent, goOn, []string{"sh", "-c", `dir=$1; shift; exec "$@" "$dir"/*.deb`, "sh", dir}, get)}
}

// Replace installs what Fetch brought, while the server stands still. before is what an undo does first, while the new packages are
// still there: the scripts of the old ones put data aside that a newer server has written.
func (r Release) Replace(dir string, before ...change.Op) change.Act {
	names := r.names()
	var lines, later, came []string
	for _, i := range slices.Concat(r.is, r.comes) {
		lines = append(lines, i.line())
	}
	for _, i := range r.comes {
		came = append(came, i.name)
	}
	slices.Sort(lines)
	for _, line := range lines { // of any version
		name, _, _ := strings.Cut(line, " ")
		later = append(later, regexp.QuoteMeta(name)+" [^ \n]+ "+isInstalled)
	}
	s := &change.Switch{On: "the packages of " + r.Name, From: r.now, After: strings.Join(lines, "\n"), Later: strings.Join(later, "\n"), Exact: true,
		Inspect: change.Inspection{Argv: listing(), Among: names},
		Still:   &change.Still{Inspect: isHeld(names), State: change.None, Hint: "apt-mark showhold lists what is held at its version: apt-mark unhold it, and run --undo again"},
		Do:      []change.Op{these(path.Join(dir, "new"))},
		Undo:    append(before, these(path.Join(dir, "old")))}
	if came != nil {
		s.Do = append(s.Do, change.Op{Argv: append([]string{"apt-mark", "auto"}, came...)})
		s.Undo = append(s.Undo, purge(came, nil, nil)...)
	}
	return change.Act{Switch: s}
}
