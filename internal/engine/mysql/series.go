package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// suffixVariables are those of the environment that give option groups a suffix, the first that is set before the others.
// (get_defaults_options in mysys/my_default.c; MariaDB has its own word since 12.0, MDEV-21375.)
func suffixVariables(flavor, version string) []string {
	if flavor == flavorMariaDB && AtLeast(version, "12.0") {
		return []string{"MARIADB_GROUP_SUFFIX", "MYSQL_GROUP_SUFFIX"}
	}
	return []string{"MYSQL_GROUP_SUFFIX"}
}

// Suffixed names what gives the option groups of a server a suffix, be it only once it is of a later version; "" for nothing.
func Suffixed(environ map[string]string) string {
	for _, name := range []string{"MARIADB_GROUP_SUFFIX", "MYSQL_GROUP_SUFFIX"} {
		if environ[name] != "" {
			return name
		}
	}
	return ""
}

// Environment reads the variables of a process that say where option files are, and which groups of them are read.
func Environment(ctx context.Context, h host.Reader, pid int) (map[string]string, error) {
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, err
	}
	return variables(text), nil
}

// OfSeries lists the lines of option files that MariaDB of one version reads and another version does not, because their group
// names a series, and that no group of the other says.
func OfSeries(ctx context.Context, h host.Reader, seen *stack.Stack, pid int, from, to string) ([]string, error) {
	for _, l := range observe.Locals(seen, "mysql") {
		if l.PID != pid {
			continue
		}
		in := instanceOf(ctx, h, l)
		if gaps := slices.Concat(in.options.errors, in.options.gaps); len(gaps) > 0 {
			return nil, fmt.Errorf("see which option groups it reads: %s", gaps[0])
		}
		return in.ofSeries(from, to), nil
	}
	return nil, fmt.Errorf("the option files of process %d are not known", pid)
}

func (in *instance) ofSeries(from, to string) (lines []string) {
	now, then := groups(flavorMariaDB, from, in.suffix), groups(flavorMariaDB, to, in.suffix)
	without := func(all, some []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(g string) bool { return slices.Contains(some, g) })
	}
	wins := last(in.options.settings(then, knownBeforeLogin))
	again := in.options.settings(without(then, now), knownBeforeLogin)
	for _, a := range in.options.settings(without(now, then), knownBeforeLogin) {
		same := func(b assigned) bool { return b.name == a.name && b.value == a.value && b.limit == a.limit }
		if at := a.origin.File + ":" + strconv.Itoa(a.origin.Line) + " " + a.name; !same(wins[a.name]) && !slices.ContainsFunc(again, same) && !slices.Contains(lines, at) {
			lines = append(lines, at)
		}
	}
	return lines
}
