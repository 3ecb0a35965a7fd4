package zfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxValue is the longest value of a user property, in bytes: ZAP_MAXVALUELEN less its end.
const MaxValue = 8191

// TakeSnapshots makes snapshots of datasets of one pool, in one transaction group, with
// properties written in the same step.
func TakeSnapshots(properties map[string]string, names ...string) []string {
	return slices.Concat([]string{"zfs", "snapshot"}, options("-o", properties), names)
}

// TakeSnapshotsBelow makes snapshots of a dataset and of all below it, as TakeSnapshots does.
func TakeSnapshotsBelow(properties map[string]string, name string) []string {
	return slices.Concat([]string{"zfs", "snapshot", "-r"}, options("-o", properties), []string{name})
}

// SnapshotsBelow prints the names of the snapshots of a dataset and of all below it; see [Names].
func SnapshotsBelow(name string) []string {
	return []string{"zfs", "list", "-H", "-r", "-t", "snapshot", "-o", "name", name}
}

// Origins prints of a dataset, and of all below it, the name and the snapshot of which
// it is a clone, "-" for none; see [ParseRows].
func Origins(name string) []string {
	return []string{"zfs", "list", "-H", "-r", "-t", "filesystem,volume", "-o", "name,origin", name}
}

// SyncPool writes out what waits to be written in a pool; zfs-fuse knows no such command.
func SyncPool(pool string) []string { return []string{"zpool", "sync", pool} }

// Promote makes a clone the origin, and its origin the clone.
func Promote(clone string) []string { return []string{"zfs", "promote", clone} }

// Proof is by what a snapshot is known, and what keeps it from being destroyed.
type Proof struct {
	GUID   string
	Birth  string // transaction group in which it was made
	Holds  int64
	Used   int64    // bytes that only it keeps
	Made   int64    // seconds since 1970
	Clones []string // zfs-fuse does not tell them: see Origins
	User   string   // the user property that was asked for; "" when it is not set
}

// Proofs prints of snapshots what a Proof holds, and one user property; see [ParseProofs].
func (t Tools) Proofs(property string, names ...string) []string {
	columns := "guid,createtxg,creation,userrefs,used,"
	if !t.Fuse {
		columns += "clones,"
	}
	return append([]string{"zfs", "get", "-Hp", "-o", "name,property,value", columns + property}, names...)
}

// Identities prints the GUID and the birth of all snapshots of a pool, from zfs-fuse also of its datasets; see [ParseProofs].
func (t Tools) Identities(pool string) []string {
	argv := []string{"zfs", "get", "-Hp", "-r", "-o", "name,property,value"}
	if !t.Fuse {
		argv = append(argv, "-t", "snapshot")
	}
	return append(argv, "guid,createtxg", pool)
}

// ParseProofs reads what Proofs printed, by name. A removal relies on it, so what is
// not understood, or was cut, is an error.
func ParseProofs(text []byte) (map[string]Proof, error) {
	rows := ParseRows(text, 3)
	if strings.Count(string(text), "\n") != len(rows) || len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, errors.New("what zfs get printed is not understood")
	}
	all := map[string]Proof{}
	for _, row := range rows {
		p, value := all[row[0]], row[2]
		ok := true
		switch row[1] {
		case "guid":
			p.GUID = value
		case "createtxg":
			p.Birth = value
		case "creation":
			p.Made, ok = ParseCount(value)
		case "userrefs":
			p.Holds, ok = ParseCount(value)
		case "used":
			p.Used, ok = ParseCount(value)
		case "clones":
			p.Clones = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
			if value == "-" {
				p.Clones = nil
			}
		default:
			if value != "-" {
				p.User = value
			}
		}
		if !ok {
			return nil, fmt.Errorf("zfs get printed %q as %s of %s", value, row[1], row[0])
		}
		all[row[0]] = p
	}
	for name, p := range all {
		if _, err := signed(p.GUID); err != nil || p.Birth == "" {
			return nil, fmt.Errorf("zfs get tells no identity of %s", name)
		}
	}
	return all, nil
}

// Doomed is a snapshot that is to be destroyed.
type Doomed struct{ Name, GUID, Birth string }

// destroyer checks all snapshots it is told, and destroys all of them or none. A channel
// program runs while nothing else can change the pool. Its numbers are signed.
const destroyer = `args = ...
argv = args["argv"]
wrong = {}
there = {}
for i = 1, #argv, 3 do
	local name = argv[i]
	if zfs.exists(name) then
		local guid = zfs.get_prop(name, "guid")
		local birth = zfs.get_prop(name, "createtxg")
		local holds = zfs.get_prop(name, "userrefs")
		local clones = zfs.get_prop(name, "numclones")
		if "=" .. tostring(guid) ~= argv[i + 1] or "=" .. tostring(birth) ~= argv[i + 2] then
			wrong[name] = "it is another snapshot of that name"
		elseif holds ~= 0 then
			wrong[name] = "it is held"
		elseif clones ~= 0 then
			wrong[name] = "it has clones"
		else
			local err = zfs.check.destroy(name)
			if err == 16 then
				wrong[name] = "it is in use"
			elseif err ~= 0 then
				wrong[name] = "error " .. tostring(err)
			end
			table.insert(there, name)
		end
	end
end
if next(wrong) == nil then
	for _, name in ipairs(there) do
		local err = zfs.sync.destroy(name)
		if err ~= 0 then
			wrong[name] = "error " .. tostring(err)
		end
	end
end
return {wrong = wrong}
`

// DestroyProven destroys snapshots of one pool in one step, all or none, each only if it is the
// one that is meant, not held and without clones. Those that are gone are passed over. The command
// reads the program from its input, and only root may run it (OpenZFS 0.8). See [ParseDestroyed].
func DestroyProven(pool string, all ...Doomed) (argv []string, program string, err error) {
	argv = []string{"zfs", "program", "-j", pool, "-"}
	for _, s := range all {
		guid, err := signed(s.GUID)
		birth, err2 := signed(s.Birth)
		if err := errors.Join(err, err2); err != nil || PoolOf(s.Name) != pool {
			return nil, "", fmt.Errorf("destroy %s of pool %s with GUID %q and birth %q: not to be told from others", s.Name, pool, s.GUID, s.Birth)
		}
		argv = append(argv, s.Name, "="+guid, "="+birth) // a minus sign would make it an option
	}
	return argv, destroyer, nil
}

// ParseDestroyed reads what DestroyProven printed: of each snapshot that stood in the way, why.
func ParseDestroyed(text []byte) (wrong map[string]string, err error) {
	var answer struct {
		Return *struct {
			Wrong map[string]string `json:"wrong"`
		} `json:"return"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Return == nil {
		return nil, errors.Join(errors.New("what zfs program printed is not understood"), err)
	}
	return answer.Return.Wrong, nil
}

// signed writes an unsigned number as a channel program does.
func signed(s string) (string, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	return strconv.FormatInt(int64(n), 10), err
}

// Columns prints properties of a dataset and of all filesystems and volumes below it, one
// dataset a line, divided by tabs; "-" for what is not set.
func Columns(columns, name string) []string {
	return []string{"zfs", "list", "-H", "-r", "-t", "filesystem,volume", "-o", columns, name}
}

// Granted prints which rights who is not root has on a dataset, and on those above it; see [OwnRights]. zfs-fuse knows
// no such command.
func Granted(name string) []string { return []string{"zfs", "allow", name} }

// OwnRights tells by what Granted printed whether some of the rights are given on the dataset itself.
func OwnRights(text []byte, name string) bool {
	return strings.Contains("\n"+string(text), "\n---- Permissions on "+name+" ")
}

// BookmarksOf prints the names of the bookmarks of a dataset; see [Names].
func BookmarksOf(name string) []string {
	return []string{"zfs", "list", "-H", "-d", "1", "-t", "bookmark", "-o", "name", name}
}

// Properties prints all properties of one dataset; see [ParseProperties].
func Properties(name string) []string {
	return []string{"zfs", "get", "-Hp", "-o", "name,property,value,source", "all", name}
}

// GUIDs prints the names and GUIDs of a dataset and of all below it, exactly; from zfs-fuse
// also of snapshots.
func (t Tools) GUIDs(name string) []string {
	argv := []string{"zfs", "get", "-Hp", "-r", "-o", "name,value"}
	if !t.Fuse {
		argv = append(argv, "-t", "filesystem,volume")
	}
	return append(argv, "guid", name)
}

// Moments prints the names and GUIDs of a dataset, its snapshots and its bookmarks; see [ParseMoments].
func Moments(name string) []string {
	return []string{"zfs", "get", "-Hp", "-d", "1", "-o", "name,value", "guid", name}
}

// ParseMoments gives the snapshots of a dataset and, where a snapshot is gone, its bookmarks, by their GUIDs.
func ParseMoments(text []byte, name string) map[string]string {
	of := map[string]string{}
	for _, row := range ParseRows(text, 2) {
		moment, guid := row[0], row[1]
		if _, err := signed(guid); err != nil {
			continue // nothing is found again by it
		}
		if strings.HasPrefix(moment, name+"@") || strings.HasPrefix(moment, name+"#") && of[guid] == "" {
			of[guid] = moment
		}
	}
	return of
}

// IsFuse tells by all properties of a dataset whether it is one of zfs-fuse, which has a GUID of each
// too, but not among all.
func IsFuse(all []Property) bool {
	return Named(all, "guid").Name == ""
}

// AsStored are the flags by which OpenZFS sends blocks as they lie on the disk; raw also those that
// are encrypted, and then whoever receives them needs no key. Embedded blocks (-e) are not among them: no OpenZFS
// receives those below an encrypted dataset (dmu_recv.c), and they are small.
func AsStored(raw bool) []string {
	if raw {
		return []string{"-L", "-c", "-w"}
	}
	return []string{"-L", "-c"}
}

// Estimate is the command by which OpenZFS says how much one that sends will give. It sends nothing.
func Estimate(send []string) []string { return slices.Insert(slices.Clone(send), 2, "-nvP") }

// ParseEstimate reads how many bytes a stream will have, about: a line says the size of all.
func ParseEstimate(text []byte) (bytes int64, known bool) {
	for line := range strings.Lines(string(text)) {
		if size, is := strings.CutPrefix(strings.TrimSpace(line), "size\t"); is {
			n, is := ParseCount(size)
			return n, is && n >= 0
		}
	}
	return 0, false
}

// unsent are properties that say how a dataset lies on the disk and is cached, but for those by which data are lost. No stream has them.
var unsent = []string{"recordsize", "compression", "copies", "logbias", "primarycache", "secondarycache", "dnodesize", "xattr", "acltype", "atime", "relatime"}

// Unsent gives those of a dataset that are not the default, here or above it, as `zfs set` takes them: recordsize=16384.
func Unsent(all []Property) (words []string) {
	for _, p := range all {
		if slices.Contains(unsent, p.Name) && p.Source != "default" && p.Source != "-" {
			words = append(words, p.Name+"="+p.Value)
		}
	}
	return words
}

// IsUnsent tells whether a word is one that Unsent gives.
func IsUnsent(word string) bool {
	name, value, _ := strings.Cut(word, "=")
	return slices.Contains(unsent, name) && value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
