package btrfs

import (
	"strconv"
	"strings"
)

// Shown is what Show tells of a subvolume.
type Shown struct {
	UUID     string
	Parent   string // UUID of the one it is a snapshot of; ""
	Received string // UUID of the snapshot that it was received from; ""
	ReadOnly bool
	Sent     uint64 // generation of that snapshot; 0 when it is not said
}

// ParseShow reads what Show gives: of each name the first line, because snapshots come after.
func ParseShow(out []byte) (s Shown) {
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		if !ok || seen[name] || !strings.HasPrefix(line, "\t") {
			continue
		}
		seen[name] = true
		switch name {
		case "UUID":
			s.UUID = none(value)
		case "Parent UUID":
			s.Parent = none(value)
		case "Received UUID":
			s.Received = none(value)
		case "Flags":
			s.ReadOnly = value == "readonly"
		case "Send transid":
			s.Sent, _ = strconv.ParseUint(value, 10, 64) // what is no number says nothing
		}
	}
	return s
}
