package boost

import (
	"fmt"
	"hash/fnv"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/stack"
)

// Unit is what gives back at the next boot what this boot did not: a service, and a file that
// has the usual target want it. Both are acts of the change, and go when it is taken back.
type Unit struct {
	Dir     string   // where units are: /etc/systemd/system
	Command []string // gives back the loans of earlier boots
	State   string   // the directory of the journal
	Before  []string // units of the servers that must not start before
	Alone   bool     // nobody has a drop-in for the target yet: the directory of them is made, and goes again
}

const target = "multi-user.target"

// acts make it for a loan of one thing.
func (u Unit) acts(of stack.Ref) ([]change.Act, error) {
	line, err := execLine(u.Command)
	if err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	hash.Write([]byte(of.String()))
	name := fmt.Sprintf("plumb-loan-%08x.service", hash.Sum32())
	set := [][2]string{
		{"Unit/Description", "Restore what plumb boost set for " + of.String()},
		{"Unit/RequiresMountsFor", u.State},
		{"Unit/After", "zfs-import.target zfs-mount.service"},
		{"Unit/Before", strings.Join(u.Before, " ")},
		{"Service/Type", "oneshot"},
		{"Service/ExecStart", line},
		{"Service/TimeoutStartSec", "5min"},
	}
	acts, wants := []change.Act{}, path.Join(u.Dir, target+".d")
	if u.Alone {
		acts = append(acts, change.Act{Make: &change.Make{Thing: change.Thing{Path: wants}, Directory: &change.Dir{Perm: 0o755, UID: -1, GID: -1}}})
	}
	for _, s := range set {
		if s[1] != "" {
			acts = append(acts, u.edit(name, s[0], s[1]))
		}
	}
	return append(acts, u.edit(path.Join(target+".d", strings.TrimSuffix(name, ".service")+".conf"), "Unit/Wants", name)), nil
}

func (u Unit) edit(file, key, value string) change.Act {
	return change.Act{Edit: &change.Edit{File: path.Join(u.Dir, file), Form: edit.Unit, Key: key, Value: value, Ours: true,
		Note: "It is removed when the settings are restored."}}
}

// execLine is a command as units have it.
func execLine(argv []string) (string, error) {
	words := make([]string, len(argv))
	for i, w := range argv {
		if strings.ContainsAny(w, "\n\"'\\ ") {
			return "", fmt.Errorf("a unit cannot name %q", w)
		}
		words[i] = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
	}
	return strings.Join(words, " "), nil
}
