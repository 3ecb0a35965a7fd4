package edit

import (
	"errors"
	"path"
	"strings"
)

// fstab is the form of fstab(5). A key is a mount point, its value the
// options. Lines are never added: what is mounted there is not ours to say.
func fstab() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				if a, ok := fstabLine(l); ok {
					all = append(all, a)
				}
			}
			return all, nil
		},
		same: path.Clean,
		raw: func(value string) (string, error) {
			if value == "" || strings.ContainsAny(value, "\r\v\f") {
				return "", errBlank
			}
			return Octal(value), nil
		},
		insert: func([]byte, string, string) ([]byte, error) {
			return nil, errors.New("there is no line for this mount point")
		},
	}
}

func fstabLine(l line) (assignment, bool) {
	f := l.fields()
	if len(f) < 2 || strings.HasPrefix(f[0].text, "#") {
		return assignment{}, false
	}
	a := assignment{key: path.Clean(Unoctal(f[1].text)), line: l.number}
	if len(f) > 3 {
		a.value, a.from, a.to = Unoctal(f[3].text), f[3].at, f[3].at+len(f[3].text)
		return a, true
	}
	last := f[len(f)-1]
	a.value, a.from, a.to = "defaults", last.at+len(last.text), last.at+len(last.text)
	lead := " "
	if len(f) == 2 {
		lead = " auto "
	}
	a.write = func(raw string) string { return lead + raw }
	return a, true
}

var (
	octal   = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	unoctal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
)

// Octal writes a field with the escapes of fstab(5), which the kernel's tables
// of mounts and of swaps have too.
func Octal(s string) string { return octal.Replace(s) }

// Unoctal undoes Octal.
func Unoctal(s string) string { return unoctal.Replace(s) }
