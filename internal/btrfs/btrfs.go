// Package btrfs knows what is typed to btrfs and how its answers are read, without
// running anything.
package btrfs

import (
	"fmt"
	"strconv"
	"strings"
)

// Top is the number of the subvolume that holds all others.
const Top = 5

// Subvolume is one line of a list.
type Subvolume struct {
	ID     int64  // never given to another
	Born   int64  // generation in which it was made
	UUID   string //
	Parent string // UUID of the one it is a snapshot of; ""
	Path   string // from the top, without a slash before it
}

// List lists the subvolumes of the filesystem whose top is mounted on a directory: only
// there are the paths whole.
func List(top string) []string {
	return []string{"btrfs", "subvolume", "list", "-c", "-q", "-u", "--", top}
}

// ListReadOnly lists those to which nobody can write: only such can be sent, or be what another is sent from.
func ListReadOnly(top string) []string {
	return []string{"btrfs", "subvolume", "list", "-r", "-c", "-q", "-u", "--", top}
}

// Send sends a snapshot, or with a parent what is other in it. What a kernel can do beyond version 1 of the stream is not
// asked for: what is sent here is to be received by any.
func Send(snapshot, parent string) []string {
	argv := []string{"btrfs", "send"}
	if parent != "" {
		argv = append(argv, "-p", parent)
	}
	return append(argv, "--", snapshot)
}

// Receive makes of a stream a subvolume in a directory, in which the process is confined: no link that the stream
// makes leads it out.
func Receive(dir string) []string { return []string{"btrfs", "receive", "-C", "--", dir} }

// Remove deletes a subvolume by its path, and is done when that is on the disk.
func Remove(name string) []string {
	return []string{"btrfs", "subvolume", "delete", "--commit-after", "--", name}
}

// Sync writes out what a filesystem has not written yet.
func Sync(dir string) []string { return []string{"btrfs", "filesystem", "sync", "--", dir} }

// Snapshot takes a snapshot that nobody can write to.
func Snapshot(of, to string) []string {
	return []string{"btrfs", "subvolume", "snapshot", "-r", "--", of, to}
}

// Clone makes a snapshot that can be written to.
func Clone(of, to string) []string {
	return []string{"btrfs", "subvolume", "snapshot", "--", of, to}
}

// Delete deletes one subvolume, by its number, and is done when that is on the disk.
func Delete(id int64, top string) []string {
	return []string{"btrfs", "subvolume", "delete", "--commit-after", "--subvolid", strconv.FormatInt(id, 10), "--", top}
}

// Parse reads what List gives. Names are whatever users who may make subvolumes chose, line
// breaks included: what is there twice, or is no line of a list, is an error, so that nobody
// can pass one subvolume off as another.
func Parse(out []byte) ([]Subvolume, error) {
	var all []Subvolume
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		v, ok := parse(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("btrfs lists a subvolume that cannot be read: %.200q", line)
		}
		for _, key := range []string{"id " + strconv.FormatInt(v.ID, 10), "uuid " + v.UUID, "path " + v.Path} {
			if seen[key] && key != "uuid " {
				return nil, fmt.Errorf("btrfs lists two subvolumes of one %s", key)
			}
			seen[key] = true
		}
		all = append(all, v)
	}
	return all, nil
}

// parse reads "ID 257 gen 9 cgen 7 top level 5 parent_uuid - uuid ba36… path a b".
func parse(line string) (v Subvolume, ok bool) {
	head, name, ok := strings.Cut(line, " path ")
	f := strings.Fields(head)
	if !ok || len(f) != 13 || f[0] != "ID" || f[4] != "cgen" || f[9] != "parent_uuid" || f[11] != "uuid" {
		return v, false
	}
	id, err := strconv.ParseInt(f[1], 10, 64)
	born, err2 := strconv.ParseInt(f[5], 10, 64)
	v = Subvolume{ID: id, Born: born, Parent: none(f[10]), UUID: none(f[12]), Path: name}
	return v, err == nil && err2 == nil && name != ""
}

func none(s string) string { return strings.TrimPrefix(s, "-") }

// Show asks for one subvolume; of the top, whose line is in no list, too.
func Show(dir string) []string { return []string{"btrfs", "subvolume", "show", "--", dir} }

// ParseUUID finds the UUID in what Show gives.
func ParseUUID(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "UUID:" {
			return none(f[1])
		}
	}
	return ""
}
