package spec

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"plumb/internal/strictyaml"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Least values, in bytes.
const (
	leastMemory = 128 << 20
	leastDisk   = 64 << 20 // below it ZFS makes no pool
	leastChunk  = 4 << 10
)

const mostSize = 1 << 60 // bytes

const btrfs = "btrfs"

// Filesystems lists those that can be made.
func Filesystems() []string { return []string{"ext4", "xfs", btrfs} }

var (
	poolName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	datasetName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*$`)
	versionWord = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,4}){0,3}$`)
	// kernelName is what the kernel calls disks in the order in which it finds them:
	// after the next start another disk may have the name.
	kernelName = regexp.MustCompile(`^/dev/((sd|vd|hd|xvd|dasd)[a-z]+[0-9]*|(nvme[0-9]+n|mmcblk|dm-|md|nbd|rbd|zd|sr|ram|zram)[0-9]+(p[0-9]+)?)$`)
)

// disk reads a disk: its path alone, or what must be true of it too.
func (r *reader) disk(n *strictyaml.Node, what string) (d Disk) {
	at := map[string]*strictyaml.Node{"path": n}
	if strictyaml.IsMap(n) {
		text := func(key string, into *string, read func(*strictyaml.Node, string) string) func(*strictyaml.Node) {
			return func(n *strictyaml.Node) { at[key] = n; *into = read(n, what+": "+key) }
		}
		r.doc.Object(n, "a disk", strictyaml.Fields{
			"path":   text("path", &d.Path, r.path),
			"serial": text("serial", &d.Serial, r.word),
			"erase":  text("erase", &d.Erase, r.word),
			"size":   func(n *strictyaml.Node) { at["size"] = n; d.Size = r.size(n, what+": size", leastDisk) },
		}, "path")
	} else {
		d.Path = r.path(n, what)
	}
	if d.Path != "" {
		r.sound(d, at)
	}
	if d.Erase != "" && d.Serial == "" {
		d.Serial = d.Erase
	}
	return d
}

// sound checks what is said of a disk against each other, and that it is named once.
func (r *reader) sound(d Disk, at map[string]*strictyaml.Node) {
	switch {
	case d.IsFile() && d.Size == 0 && at["size"] == nil:
		r.doc.Errorf(at["path"], "a file needs a size, because Plumb creates it: {path: %s, size: 1G}", d.Path)
	case d.IsFile() && d.Erase != "":
		r.doc.Errorf(at["erase"], "a file is always a new one: leave erase out")
	case d.IsFile() && d.Serial != "":
		r.doc.Errorf(at["serial"], "a file has no serial number")
	case kernelName.MatchString(d.Path):
		r.doc.Errorf(at["path"], "%s may be another disk after the next boot: name it by /dev/disk/by-id (ls -l /dev/disk/by-id lists them)", d.Path)
	case d.Erase != "" && d.Serial != "" && d.Erase != d.Serial:
		r.doc.Errorf(at["erase"], "erase must repeat the serial number of the disk, %q, not %q", d.Serial, d.Erase)
	}
	for _, once := range []string{d.Path, d.Serial} {
		if once == "" {
			continue
		}
		if first := r.disks[once]; first != nil {
			r.doc.Errorf(at["path"], "%s is listed twice, first in line %d", once, first.Line)
			continue
		}
		r.disks[once] = at["path"]
	}
}

// IsFile tells whether it is a file for trials, and no device.
func (d Disk) IsFile() bool { return !strings.HasPrefix(d.Path, "/dev/") }

// path reads an absolute path without detours.
func (r *reader) path(n *strictyaml.Node, what string) string {
	name := r.doc.Text(n, what)
	switch {
	case name == "":
		return ""
	case strings.ContainsFunc(name, unclear):
		r.doc.Errorf(n, "%s has no blanks, commas, quotes or control characters in its path, not %.80q", what, name)
	case !path.IsAbs(name) || path.Clean(name) != name || name == "/" || len(name) > longest:
		r.doc.Errorf(n, "%s is an absolute path without . and .., at most %d bytes, not %.80q", what, longest, name)
	default:
		return name
	}
	return ""
}

// unclear tells characters that some command or file on the way would take for something else.
func unclear(c rune) bool {
	return c > unicode.MaxASCII || c <= ' ' || c == 0x7f || strings.ContainsRune("\"'`\\$&;|<>()*?[]{}!#%,", c)
}

// place reads a path at which something is mounted or kept: none that the system needs.
func (r *reader) place(n *strictyaml.Node, what string) string {
	name := r.path(n, what)
	first, rest, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	switch first {
	case "bin", "boot", "dev", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys":
		r.doc.Errorf(n, "%s cannot be below /%s, which belongs to the system", what, first)
		return ""
	case "etc", "home", "root", "tmp", "usr", "var":
		if rest == "" || name == "/var/lib" || name == "/var/log" {
			r.doc.Errorf(n, "%s cannot be %s, which belongs to the system", what, name)
			return ""
		}
	}
	return name
}

// word reads one word, as a serial number or a name is.
func (r *reader) word(n *strictyaml.Node, what string) string {
	text := r.doc.Text(n, what)
	if text != "" && (len(text) > longest || strings.ContainsFunc(text, unclear)) {
		r.doc.Errorf(n, "%s is one word of at most %d characters, not %.80q", what, longest, text)
		return ""
	}
	return text
}

func (r *reader) version(n *strictyaml.Node, what string) string {
	text := r.doc.Text(n, what)
	if text != "" && !versionWord.MatchString(text) {
		r.doc.Errorf(n, "%s is a number such as 17, 10.11 or 8.0.36, not %.40q", what, text)
		return ""
	}
	return text
}

func (r *reader) dataset(n *strictyaml.Node, what string) string {
	name := r.doc.Text(n, what)
	if name != "" && (!datasetName.MatchString(name) || !zfs.IsDataset(name) || len(name) > longest) {
		r.doc.Errorf(n, "%s is the name of a pool or dataset such as tank or tank/db, not %.80q", what, name)
		return ""
	}
	return name
}

// count reads a whole number of low to high.
func (r *reader) count(n *strictyaml.Node, what string, low, high int) int {
	text := r.doc.Text(n, what)
	if text == "" {
		return 0
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		r.doc.Errorf(n, "%s is a whole number from %d to %d, not %.40q", what, low, high, text)
		return 0
	}
	return v
}

// size reads bytes. Units are powers of 1024, as everywhere in Plumb; the GB that disks are sold by
// are not, so they are refused and not guessed at.
func (r *reader) size(n *strictyaml.Node, what string, low int64) int64 {
	text := r.doc.Text(n, what)
	if text == "" {
		return 0
	}
	bytes, ok := units.ParseBytes(text)
	switch {
	case !ok:
		r.doc.Errorf(n, "%s: %.40q is not a size: write bytes, or a number with K, M, G, T or P (powers of 1024), such as 64G", what, text)
	case bytes < low || bytes > mostSize:
		r.doc.Errorf(n, "%s is %s: %s to %s are possible", what, units.Bytes(bytes), units.Bytes(low), units.Bytes(mostSize))
	default:
		return bytes
	}
	return 0
}
