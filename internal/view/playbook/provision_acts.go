package playbook

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/product"
)

// call writes a call of a function of the library.
func call(name string, words ...string) string {
	for _, s := range words {
		name += " " + host.ShellQuoted(s)
	}
	return name + "\n"
}

// mark is the word by which what an act makes is known to be its own. It depends on the
// act alone, so that a second run knows what the first one made.
func (w *provisioning) mark(a change.Act) string { return word26(w.Host + "\n" + a.Place()) }

// word26 makes a word of letters and digits that stands for a text.
func word26(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}

// edit writes an edit as what changes in the bytes of the file. Whoever finds the file as a
// later edit leaves it has nothing to do.
func (w *provisioning) edit(e *change.Edit) (string, error) {
	at := w.next[e.File]
	w.next[e.File]++
	all := w.edits[e.File]
	s := all[at]
	var past []string
	before := []string{s.before} // and, for who only shows, the states of which this one comes
	for _, earlier := range all[:at] {
		before = append(before, earlier.before)
	}
	for _, later := range all[at:] {
		past = append(past, later.after)
	}
	apply := ""
	if e.Apply != nil {
		var err error
		if apply, err = operation(*e.Apply); err != nil {
			return "", err
		}
	}
	perm := cmp.Or(e.Perm, 0o644)
	return call("edit", e.File, strings.Join(before, " "), strings.Join(past, " "), strconv.Itoa(s.At), strconv.Itoa(len(s.Old)), fmt.Sprintf("%04o", perm), string(s.New), apply), nil
}

func (w *provisioning) switchText(s *change.Switch) (string, error) {
	look, err := looking(s.Inspect)
	if err != nil {
		return "", err
	}
	do, err := operations(s.Do)
	if err != nil {
		return "", err
	}
	guard := int64(0)
	if s.Guard != nil {
		guard = s.Guard.MemAvailable
	}
	if s.Inspect.Bare != "" { // what is mounted there hides it, and was mounted once it was done
		look = "if mountpoint -q -- " + host.ShellQuoted(s.Inspect.Bare) + "; then printf '%s\\n' " + host.ShellQuoted(s.After) + "; else " + look + "; fi"
	}
	words := []string{oneLineOf(s.On), w.above(s.Inspect), look, s.From, strconv.FormatInt((s.Patience+999)/1000, 10), strconv.FormatInt(guard, 10), do, s.After}
	return call("switch", append(words, s.Beyond...)...), nil
}

// above gives the directory that a look is at and an earlier act makes; "" for none.
func (w *provisioning) above(l change.Inspection) string {
	for _, at := range w.made {
		if slices.Contains(l.Argv, at) {
			return at
		}
	}
	return ""
}

func makeText(m *change.Make, mark string) (string, error) {
	marked := func(s string) string { return strings.ReplaceAll(s, "{mark}", mark) }
	if d := m.Directory; d != nil {
		return call("directory", m.Path, fmt.Sprintf("%04o", d.Perm), strconv.Itoa(d.UID), strconv.Itoa(d.GID)), nil
	}
	do, err := operations(m.Do)
	if err != nil {
		return "", err
	}
	if m.Dataset != "" {
		return call("make_dataset", m.Dataset, mark, marked(do)), nil
	}
	look, err := looking(*m.Inspect)
	if err != nil {
		return "", err
	}
	known := mark
	if m.Moved != nil {
		known = m.Moved.Identity
	}
	return call("make", oneLineOf(m.Name), look, known, marked(do)), nil
}

// operations writes operations so that the first that fails ends them.
func operations(ops []change.Op) (string, error) {
	var lines []string
	for _, op := range ops {
		line, err := operation(op)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " &&\n"), nil
}

func operation(op change.Op) (string, error) {
	switch {
	case op.Write != nil:
		return "printf '%s\\n' " + host.ShellQuoted(op.Write.Text) + " >" + host.ShellQuoted(op.Write.File), nil
	case op.Statement != "":
		client, err := clientOf(op.Target)
		if err != nil {
			return "", err
		}
		return "printf '%s\\n' " + host.ShellQuoted(op.Statement+";") + " | " + client, nil
	}
	return argv(op.Argv), nil
}

func argv(words []string) string {
	quoted := make([]string, len(words))
	for i, s := range words {
		quoted[i] = host.ShellQuoted(s)
	}
	return strings.Join(quoted, " ")
}

// clientOf is the client that sends statements to a server as root or, where
// that has no login, as the account that the server runs as.
func clientOf(t *host.Target) (string, error) {
	switch {
	case t.Engine == product.MySQL && t.Network == "unix":
		return "mysql_client --socket=" + host.ShellQuoted(t.Address), nil
	case t.Engine == product.Postgres && t.Network == "unix":
		dir, port, _ := strings.Cut(t.Address, "/.s.PGSQL.")
		return "psql_client -h " + host.ShellQuoted(dir) + " -p " + host.ShellQuoted(port), nil
	}
	return "", fmt.Errorf("%s cannot be asked from a script: it has no socket of this host", t.Name)
}

// looking writes how a state is read: a text for the shell that prints it.
func looking(l change.Inspection) (text string, err error) {
	switch {
	case l.Mounted != "":
		text = "mounted " + host.ShellQuoted(edit.Octal(l.Mounted))
	case l.File != "":
		text = "{ [ ! -e " + host.ShellQuoted(l.File) + " ] || cat " + host.ShellQuoted(l.File) + "; }"
	case l.Argv != nil:
		text = argv(l.Argv)
	case l.Target != nil:
		client, err := clientOf(l.Target)
		if err != nil {
			return "", err
		}
		text = "printf '%s\\n' " + host.ShellQuoted(l.Query+";") + " | " + client
	default:
		return "", errors.New("a script cannot read its state")
	}
	// A pipe would hide how the command ended.
	text = "out=$(" + text + ") && printf '%s\\n' \"$out\""
	if l.Among != nil {
		text += " | among " + argv(l.Among)
	}
	switch {
	case l.Match != "":
		if _, err := regexp.CompilePOSIX(l.Match); err != nil {
			return "", fmt.Errorf("sed reads %q as something else: %w", l.Match, err)
		}
		separator, err := unused(l.Match)
		if err != nil {
			return "", err
		}
		text += " | sed -nE " + host.ShellQuoted("s"+separator+l.Match+separator+`\1`+separator+"p") + " | tail -n 1"
	case l.Choice:
		text += ` | sed 's/.*\[\(.*\)\].*/\1/'`
	}
	return text, nil
}

// unused gives a character that is not in an expression.
func unused(expression string) (string, error) {
	for _, c := range "|#,@!~;%" {
		if !strings.ContainsRune(expression, c) {
			return string(c), nil
		}
	}
	return "", fmt.Errorf("no sign is left to write %q for sed", expression)
}
