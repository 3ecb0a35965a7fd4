package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/osrelease"
	"plumb/internal/product"
)

// Where apt has its sources, and the keys that are good for one of them alone.
const (
	sourcesDir  = "/etc/apt/sources.list.d"
	keyringsDir = "/etc/apt/keyrings"
	listsDir    = "/var/lib/apt/lists"
)

// pinned proves that the key of a vendor is the pinned one, and alone.
func pinned(v product.Vendor) error {
	found, err := fingerprints(v.Armor)
	if err != nil {
		return fmt.Errorf("read the key of %s: %w", v.Name, err)
	}
	if !slices.Equal(found, []string{v.Key}) {
		return fmt.Errorf("the key of %s is %s, and not the pinned one, %s", v.Name, strings.Join(found, ", "), v.Key)
	}
	return nil
}

// Source says what enters a vendor's repository among the system's: its key, which apt takes for this source alone, the
// source, and its lists. No acts: it is there. It only reads.
func Source(ctx context.Context, h host.Reader, v product.Vendor, series string) (r change.Recipe, err error) {
	switch is, err := host.Exists(ctx, h, aptGet); {
	case err != nil:
		return r, err
	case !is:
		return r, &change.Refusal{Why: "this system has no apt-get, and Plumb knows the repositories of " + v.Name + " only for apt-get", What: "add it yourself, and leave packages.from out"}
	}
	system, codename, err := release(ctx, h)
	if err != nil {
		return r, err
	}
	uri, suite := v.At(series, system, codename)
	keyFile, sourceFile := path.Join(keyringsDir, "plumb-"+v.Name+".asc"), path.Join(sourcesDir, "plumb-"+v.Name+".sources")
	if there, err := entered(ctx, h, uri); err != nil || there != "" {
		if there != "" && there != sourceFile {
			r.Notes = []string{"the repository of " + v.Name + " is a source of packages already, in " + there + ": which key is good for it is said there"}
		}
		return r, err
	}
	if err := pinned(v); err != nil {
		return r, err
	}
	switch _, err := h.Stat(ctx, keyringsDir); {
	case errors.Is(err, fs.ErrNotExist):
		r.Acts = append(r.Acts, change.Act{Make: &change.Make{Thing: change.Thing{Path: keyringsDir}, Directory: &change.Dir{Perm: 0o755, UID: 0, GID: 0}}})
	case err != nil:
		return r, err
	}
	marked := strings.Replace(v.Armor, armorBegins+"\n", armorBegins+"\nComment: plumb {mark}\n", 1)
	source := "# plumb {mark}\nTypes: deb\nURIs: " + uri + "\nSuites: " + suite + "\nComponents: main\nSigned-By: " + keyFile + "\n"
	r.Acts = append(r.Acts, made{keyFile, "the key " + v.Key + " of " + v.Name, `^Comment: plumb ([a-z0-9]+)$`, `^=(.{4})$`, marked}.act(),
		made{sourceFile, "the source of packages " + uri + " " + suite, `^# plumb ([a-z0-9]+)$`, "", source}.act(), lists(v, sourceFile, uri, suite))
	r.Lasts = sourceFile
	r.Notes = []string{"packages of " + v.Name + " are taken that the key " + v.Key + " has signed (" + v.Source + "); apt believes it for no other source",
		"as any source of packages, it can offer other versions of what is installed: apt-get upgrade takes the newest"}
	return r, nil
}

// codenames are what a codename can be: it becomes a part of an address and of a file.
var codenames = regexp.MustCompile(`^[a-z0-9.-]+$`)

// release tells which system it is.
func release(ctx context.Context, h host.Reader) (system, codename string, err error) {
	values, _, err := osrelease.Read(ctx, h)
	if err != nil {
		return "", "", fmt.Errorf("see which system this is: %w", err)
	}
	system, codename = values["ID"], values["VERSION_CODENAME"]
	if system != "debian" && system != "ubuntu" || !codenames.MatchString(codename) {
		return "", "", &change.Refusal{Why: "this system is neither Debian nor Ubuntu, or does not say which release", What: "add the repository yourself, and leave packages.from out"}
	}
	return system, codename, nil
}

// entered tells which file has a repository among the sources already; "" for none.
func entered(ctx context.Context, h host.Reader, uri string) (string, error) {
	files, err := h.Glob(ctx, sourcesDir+"/*")
	if err != nil {
		return "", err
	}
	for _, f := range append(files, "/etc/apt/sources.list") {
		if !slices.Contains([]string{".list", ".sources"}, path.Ext(f)) {
			continue
		}
		text, err := h.ReadFile(ctx, f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("see which sources of packages there are: %w", err)
		}
		if names(string(text), uri) {
			return f, nil
		}
	}
	return "", nil
}

// names tells whether a line that counts names a repository, by whichever way it is reached.
func names(text, uri string) bool {
	_, where, _ := strings.Cut(uri, "://")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if _, at, ok := strings.Cut(word, "://"); ok && strings.TrimSuffix(at, "/") == where {
				return true
			}
		}
	}
	return false
}

// made is a file of ours.
type made struct {
	name, what string
	mark       string // a pattern that finds the mark of its act in it, by which it is known
	kept       string // one for what tells whether somebody changed it since; "": all of it
	text       string
}

// act makes the file. One that is there is nobody's to overwrite.
func (m made) act() change.Act {
	return change.Act{Make: &change.Make{Thing: change.Thing{Name: m.what + " in " + m.name, Inspect: &change.Inspection{File: m.name, Match: m.mark}},
		Unchanged: &change.Inspection{File: m.name, Match: m.kept},
		Do:        []change.Op{{Argv: []string{"sh", "-euc", write, "sh", m.name, m.text}}},
		Undo:      []change.Op{{Argv: []string{"rm", "-f", "--", m.name}}}}}
}

// write makes a file whole, or not at all: one of the name is an error. apt does not read names that end so.
const write = `umask 022
rm -f -- "$1.plumb-new"
printf '%s' "$2" >"$1.plumb-new"
sync -- "$1.plumb-new"
ln -T -- "$1.plumb-new" "$1"
rm -f -- "$1.plumb-new"`

// lists reads what the source has, and no other.
func lists(v product.Vendor, sourceFile, uri, suite string) change.Act {
	_, where, _ := strings.Cut(uri, "://")
	begin := strings.ReplaceAll(where, "/", "_") + "_dists_" + suite + "_"
	return change.Act{Switch: &change.Switch{On: "the lists of packages of " + v.Name, From: change.None, After: begin + "InRelease", Exact: true,
		Inspect: change.Inspection{Argv: []string{"find", listsDir, "-maxdepth", "1", "-name", begin + "InRelease", "-printf", "%f"}},
		Do: []change.Op{{Long: true, Argv: slices.Concat(quiet, []string{"apt-get", "-q", "-o", "Dir::Etc::SourceList=" + sourceFile, "-o", "Dir::Etc::SourceParts=/dev/null",
			"-o", "APT::Get::List-Cleanup=0", "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Retries=1", "update"})}},
		UndoNone: []change.Op{{Argv: []string{"find", listsDir, "-maxdepth", "1", "-name", begin + "*", "-delete"}}}}}
}
