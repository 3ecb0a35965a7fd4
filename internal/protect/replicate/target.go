package replicate

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/zfs"
)

// Target is where points are sent: a dataset of this host, or of another by SSH.
type Target struct {
	User, Host string // "" for this host
	Port       int    // 0 for SSH's own
	Dataset    string
}

var (
	plain    = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,200}$`) // needs no quotes in any shell
	hostname = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$`)
	username = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// ParseTarget reads pool/dataset or ssh://[user@]host[:port]/pool/dataset.
func ParseTarget(text string) (Target, error) {
	t := Target{Dataset: text}
	wrong := func(why string) (Target, error) {
		return Target{}, hint.Usage("the target "+strconv.Quote(text)+" "+why, "use pool/dataset or ssh://[user@]host[:port]/pool/dataset")
	}
	if strings.HasPrefix(text, "ssh:") {
		u, err := url.Parse(text)
		if err != nil || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
			return wrong("cannot be read")
		}
		t = Target{User: u.User.Username(), Host: u.Hostname(), Dataset: strings.TrimPrefix(u.Path, "/")}
		if _, secret := u.User.Password(); secret {
			return wrong("holds a password, which others see on the command line")
		}
		if u.Port() != "" {
			if t.Port, err = strconv.Atoi(u.Port()); err != nil || t.Port < 1 || t.Port > 65535 {
				return wrong("has no such port")
			}
		}
		if !hostname.MatchString(t.Host) || t.User != "" && !username.MatchString(t.User) {
			return wrong("names no host or user")
		}
	}
	if !isOurs(t.Dataset) {
		return wrong("names no dataset below a pool")
	}
	return t, nil
}

// isOurs tells whether a name can be that of a dataset of replicas.
func isOurs(name string) bool {
	return plain.MatchString(name) && zfs.IsDataset(name) && strings.Contains(name, "/") && !strings.Contains(name, "//") && !strings.Contains(name, "..")
}

// String gives a target as it is typed.
func (t Target) String() string {
	if t.Host == "" {
		return t.Dataset
	}
	u := url.URL{Scheme: "ssh", Host: t.Host, Path: "/" + t.Dataset}
	if t.User != "" {
		u.User = url.User(t.User)
	}
	if strings.Contains(t.Host, ":") {
		u.Host = "[" + t.Host + "]"
	}
	if t.Port != 0 {
		u.Host += ":" + strconv.Itoa(t.Port)
	}
	return u.String()
}

// Owner is who holds a point for a target.
func (t Target) Owner() string { return "replicate " + t.String() }

// reach gives what is typed here so that words are run at the target.
func (t Target) reach(options, words []string) []string {
	if t.Host == "" {
		return words
	}
	// Nobody is there to type a password, a banner would hide what went wrong, and a dead connection is to end.
	argv := []string{"ssh", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"}
	argv = append(argv, options...)
	if t.Port != 0 {
		argv = append(argv, "-p", strconv.Itoa(t.Port))
	}
	if t.User != "" {
		argv = append(argv, "-l", t.User)
	}
	return append(argv, t.Host, strings.Join(words, " "))
}
