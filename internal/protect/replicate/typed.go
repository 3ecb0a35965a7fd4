package replicate

import (
	"regexp"
	"slices"
	"strings"

	"plumb/internal/zfs"
)

// What is typed at a target. Every word is of characters that no shell changes, and these are all the
// commands that Receive lets through.

const (
	ourMark     = "org.plumb:replica" // of the dataset that holds replicas: "1"
	lastMark    = "org.plumb:last"    // there: the last point that came whole
	chainPrefix = "org.plumb:chain-"  // there: and the GUID of the dataset that is sent: in which way
)

// Ways in which a dataset is sent.
const (
	wayPlain      = "plain"      // as any ZFS reads it
	wayCompressed = "compressed" // blocks as they are on the disk, but decrypted
	wayRaw        = "raw"        // and encrypted: the target needs no key
)

// flags of zfs send for each way.
func flags(way string) []string {
	return map[string][]string{wayCompressed: zfs.AsStored(false), wayRaw: zfs.AsStored(true)}[way]
}

func isWay(way string) bool { return way == wayPlain || flags(way) != nil }

// identities prints the GUID and birth of a dataset, its snapshots and bookmarks.
func identities(dataset string) []string {
	return []string{"zfs", "get", "-Hp", "-d", "1", "-o", "name,property,value", "guid,createtxg", dataset}
}

// holder makes the dataset that holds replicas.
func holder(dataset string) []string {
	return zfs.Create(dataset, ourMark+"=1", "mountpoint=none", "canmount=off", "readonly=on", "com.sun:auto-snapshot=false")
}

func setChain(dataset, guid, way string) []string { return zfs.Set(chainPrefix+guid, way, dataset) }

func setLast(dataset, point string) []string { return zfs.Set(lastMark, point, dataset) }

// receive takes a stream. Without -F nothing that is there can be lost. OpenZFS keeps what
// came of a stream that ends too early.
func receive(fuse bool, dataset string) []string {
	if fuse {
		return []string{"zfs", "receive", dataset}
	}
	return []string{"zfs", "receive", "-s", "-u", "-x", "mountpoint", "-o", "canmount=noauto", "-o", "readonly=on", dataset}
}

// abort throws away what came of a stream that can never be completed.
func abort(dataset string) []string { return []string{"zfs", "receive", "-A", dataset} }

var (
	number  = regexp.MustCompile(`^[0-9]{1,20}$`)
	pointID = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}$`)
)

// allowed gives the words of a command line that Replicator types for a dataset that is only, or below it, and
// nil for any other. The words are made anew of what was understood, and then must be the line.
func allowed(only, line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 30 || len(line) > 2000 || strings.Join(words, " ") != line {
		return nil
	}
	last := words[len(words)-1]
	var known [][]string
	if isOurs(last) && isOurs(only) && zfs.Within(last, only) {
		known = append(known, zfs.Properties(last), identities(last), holder(last))
		if last == only && pointID.MatchString(words[min(2, len(words)-1)]) {
			known = append(known, verify(last, words[2]))
		}
		if last != only {
			known = append(known, receive(true, last), receive(false, last), abort(last))
		}
		if property, value, ok := strings.Cut(words[min(2, len(words)-1)], "="); ok {
			guid, chain := strings.CutPrefix(property, chainPrefix)
			switch {
			case chain && number.MatchString(guid) && isWay(value):
				known = append(known, setChain(last, guid, value))
			case property == lastMark && pointID.MatchString(value):
				known = append(known, setLast(last, value))
			}
		}
	}
	for _, k := range known {
		if slices.Equal(k, words) {
			return k
		}
	}
	return nil
}
