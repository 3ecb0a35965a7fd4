// Package edit changes configuration files byte-exactly: a value is replaced
// where it stands, and every other byte (comments, order, blanks, line ends)
// stays. It knows how each kind of file is read by the program it is for; it
// does no I/O.
//
// Libraries that parse and print again lose comments or blanks, so the forms
// here parse for positions and splice bytes.
package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Form is a kind of configuration file. The comment gives what a key is.
type Form string

// The forms.
const (
	Sysctl     Form = "sysctl"     // sysctl.d(5): vm.swappiness
	OptionFile Form = "my.cnf"     // of MySQL and MariaDB: mysqld/sync_binlog (group/option)
	Postgresql Form = "postgresql" // postgresql.conf and its conf.d: shared_buffers
	Mongod     Form = "mongod"     // mongod.conf, YAML: storage.wiredTiger.engineConfig.cacheSizeGB
	Fstab      Form = "fstab"      // fstab(5): the mount point; the value is its options
	Mount      Form = "mount"      // fstab(5) too: the mount point; the value is its whole line, six fields with a blank between
	Modprobe   Form = "modprobe"   // modprobe.d(5): zfs/zfs_arc_max (module/parameter)
	Tmpfiles   Form = "tmpfiles"   // tmpfiles.d(5): the path a w line writes to
	Limits     Form = "limits"     // limits.conf(5): mysql/-/nofile (domain/type/item)
	Unit       Form = "unit"       // a drop-in of a systemd unit: Service/LimitNOFILE (section/name)
	Rules      Form = "rules"      // of AppArmor and of apt's lists: the first word of a line; the value is the rest
	Udev       Form = "udev"       // udev(7): the matches, one blank, and the attribute: KERNEL=="sda" ATTR{queue/scheduler}
)

// maxText bounds a file, in bytes: a larger one is no configuration.
const maxText = 8 << 20

// assignment is one place of a file where a key gets a value.
type assignment struct {
	key      string
	value    string // as the program understands it
	from, to int    // the bytes that stand for the value
	write    func(raw string) string
	line     int // 1-based
}

// grammar is what a form must know.
type grammar struct {
	scan   func(text []byte) ([]assignment, error)
	first  bool                                               // of several assignments the first one counts, not the last
	same   func(key string) string                            // the form in which keys are compared; nil: as they are
	raw    func(value string) (string, error)                 // the value as it stands in the file
	insert func(text []byte, key, raw string) ([]byte, error) // for a key that has no assignment yet
	hollow func(text []byte) []span                           // the lines of keys that wait for settings; nil: there is no such thing
}

func (f Form) grammar() (grammar, error) {
	switch f {
	case Sysctl:
		return sysctl(), nil
	case OptionFile:
		return optionFile(), nil
	case Postgresql:
		return postgresql(), nil
	case Mongod:
		return mongod(), nil
	case Fstab:
		return fstab(), nil
	case Mount:
		return mount(), nil
	case Modprobe:
		return modprobe(), nil
	case Tmpfiles:
		return tmpfiles(), nil
	case Limits:
		return limits(), nil
	case Unit:
		return unit(), nil
	case Rules:
		return rules(), nil
	case Udev:
		return udev(), nil
	}
	return grammar{}, fmt.Errorf("%q is not a format of a configuration file", string(f))
}

func (g grammar) key(key string) string {
	if g.same == nil {
		return key
	}
	return g.same(key)
}

// read scans a text that is sane.
func (g grammar) read(text []byte) ([]assignment, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("larger than %d MiB", maxText>>20)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("line %d: a zero byte: this is not text", 1+bytes.Count(text[:i], []byte("\n")))
	}
	return g.scan(text)
}

// inForce gives the place in a list of the assignment that counts, -1 for none.
func (g grammar) inForce(all []assignment, key string) int {
	at := -1
	for i, a := range all {
		if a.key == g.key(key) && (at < 0 || !g.first) {
			at = i
		}
	}
	return at
}

func (g grammar) find(all []assignment, key string) (assignment, bool) {
	i := g.inForce(all, key)
	if i < 0 {
		return assignment{}, false
	}
	return all[i], true
}

// Get gives the value of a key that is in force in a text: of several
// assignments the one that the program heeds, which is the last one in all
// forms but Tmpfiles.
func Get(f Form, text []byte, key string) (value string, ok bool, err error) {
	g, err := f.grammar()
	if err != nil {
		return "", false, err
	}
	all, err := g.read(text)
	if err != nil {
		return "", false, err
	}
	a, ok := g.find(all, key)
	return a.value, ok, nil
}

// Set gives the text with a key set to a value: replaced where it stands,
// otherwise added at the place where the program will read it. It fails rather
// than write what would be understood otherwise.
func Set(f Form, text []byte, key, value string) ([]byte, error) {
	g, err := f.grammar()
	if err != nil {
		return nil, err
	}
	return g.set(text, key, value)
}

func (g grammar) set(text []byte, key, value string) ([]byte, error) {
	before, err := g.read(text)
	if err != nil {
		return nil, err
	}
	a, have := g.find(before, key)
	if have && a.value == value {
		return text, nil
	}
	raw, err := g.raw(value)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	var out []byte
	if have {
		if a.from < 0 {
			return nil, fmt.Errorf("set %s: line %d: its value is not plainly written, so it is not edited", key, a.line)
		}
		if a.write != nil {
			raw = a.write(raw)
		}
		out = slices.Concat(text[:a.from], []byte(raw), text[a.to:])
	} else if out, err = g.insert(text, key, raw); err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	if err := g.proved(out, before, key, value); err != nil {
		return nil, err
	}
	return out, nil
}

// proved reads a text again: the key has its value, and nothing else has changed.
func (g grammar) proved(out []byte, before []assignment, key, value string) error {
	after, err := g.read(out)
	if err != nil {
		return fmt.Errorf("set %s: the file could not be read again: %w", key, err)
	}
	if a, ok := g.find(after, key); !ok || a.value != value {
		return fmt.Errorf("set %s: %q would be read as %q: this value cannot be written in such a file", key, value, a.value)
	}
	if g.others(after, key) != g.others(before, key) {
		return fmt.Errorf("set %s: other settings of the file would change with it", key)
	}
	return nil
}

// others lists what a text assigns beside the one assignment of a key that
// counts.
func (g grammar) others(all []assignment, key string) string {
	skip := g.inForce(all, key)
	var b strings.Builder
	for i, a := range all {
		if i != skip {
			fmt.Fprintf(&b, "%q %q\n", a.key, a.value)
		}
	}
	return b.String()
}

// Keys lists what a text assigns, each as "key value" in the order of the
// file: two texts with the same list mean the same.
func Keys(f Form, text []byte) ([]string, error) {
	g, err := f.grammar()
	if err != nil {
		return nil, err
	}
	all, err := g.read(text)
	var out []string
	for _, a := range all {
		out = append(out, a.key+" "+a.value)
	}
	return out, err
}
