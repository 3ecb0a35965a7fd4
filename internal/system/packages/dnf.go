package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// dnf is a system with RPM. What a package depends on cannot be told there without
// dnf writing its caches and logs, so those stay when the package goes.
type dnf struct {
	ctx context.Context
	h   host.Reader
}

// rpmListing asks for all packages.
func rpmListing() []string { return []string{"rpm", "-qa", "--qf", `%{NAME} installed\n`} }

func (d dnf) recipe(w Want) (r change.Recipe, err error) {
	text, err := d.h.Output(d.ctx, rpmListing()...)
	if err != nil {
		return r, fmt.Errorf("list the packages: %w", err)
	}
	var missing, lines []string
	for _, n := range w.rpms() {
		if !isRPM(n) {
			return r, fmt.Errorf("%q is not a package name", n)
		}
		if line := n + " " + isInstalled; !slices.Contains(strings.Split(string(text), "\n"), line) {
			missing, lines = append(missing, n), append(lines, line)
		}
	}
	if missing == nil {
		return r, nil
	}
	slices.Sort(lines)
	return change.Recipe{Effect: catalog.Now, Lasts: "the system's packages", Notes: append(w.notes(), "what the packages depend on stays when they are taken away"),
		Acts: []change.Act{{Switch: &change.Switch{On: "the packages " + strings.Join(missing, ", "), From: change.None, Exact: true, Still: w.still(),
			Inspect: change.Inspection{Argv: rpmListing(), Among: missing}, After: strings.Join(lines, "\n"),
			Do: []change.Op{{Long: true, Argv: slices.Concat([]string{"env", "LC_ALL=C", "dnf", "-y", "--setopt=install_weak_deps=False", "install"}, missing)}},
			UndoNone: []change.Op{ // rpm refuses while another package needs one of them; dnf would remove that too
				{Argv: append([]string{"rpm", "-e", "--test"}, missing...)},
				{Long: true, Argv: append([]string{"rpm", "-e"}, missing...)}}}}}}, nil
}

// isRPM tells whether a text is the name of a package.
func isRPM(name string) bool {
	return name != "" && name[0] != '-' && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-._") == ""
}
