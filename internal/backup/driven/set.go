package driven

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// form of the files in which sets are written down. A newer one is refused.
const form = 1

// Set is what the backups of one server are made with.
type Set struct {
	Form     int            `json:"form"`
	Tool     string         `json:"tool"`
	Name     string         `json:"name"`   // as the tool calls it
	Server   protect.Server `json:"server"` // as it was when it was last backed up
	URL      string         `json:"url"`
	Endpoint string         `json:"endpoint,omitempty"`
	Region   string         `json:"region,omitempty"`
	CA       string         `json:"ca,omitempty"` // a file of certificates that the endpoint is known by
	Config   string         `json:"config"`       // the tool's file
	Private  string         `json:"private"`      // a directory of what is secret
	Run      string         `json:"run"`          // a directory of the server's user for the tool's locks
	Keep     int            `json:"keep,omitempty"`
	Segment  int64          `json:"segment,omitempty"` // size of the log's files, in bytes; 0: not known
	Port     string         `json:"port,omitempty"`
	Socket   string         `json:"socket,omitempty"` // the directory of it
}

// The files of what is secret.
const (
	keyFile   = "key.conf"
	loginFile = "login.conf"
)

// KeyFile is where the key is that opens the backups. It is worth as much as they are.
func (s Set) KeyFile() string { return path.Join(s.Private, keyFile) }

// At puts the files of a set below a directory.
func (s *Set) At(dir string) {
	s.Config, s.Private, s.Run = path.Join(dir, s.Name+".conf"), path.Join(dir, s.Name+".private"), path.Join(dir, s.Name+".run")
}

// Sets is where the sets of this host are written down.
type Sets struct {
	Do  host.Doer
	Dir string
}

// Directory is that of the sets, below that of the host's key.
func Directory(state string) string { return path.Join(state, "driven") }

func (b Sets) file(tool, name string) string { return path.Join(b.Dir, tool+"-"+name+".json") }

// Put writes one down.
func (b Sets) Put(ctx context.Context, s Set) error {
	s.Form = form
	if err := protect.WriteKept(ctx, b.Do, b.file(s.Tool, s.Name), s, 0o600); err != nil {
		return fmt.Errorf("write down how %s is backed up: %w", s.Server.Ref, err)
	}
	return nil
}

// Of lists those of a tool, by name.
func (b Sets) Of(ctx context.Context, tool string) (all []Set, err error) {
	files, err := b.Do.Glob(ctx, path.Join(host.Verbatim(b.Dir), tool+"-*.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		var s Set
		if err := protect.ReadKept(ctx, b.Do, file, "how a server is backed up", form, &s); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if file != b.file(s.Tool, s.Name) || !IsName(s.Name) {
			return nil, hint.With(fmt.Errorf("read %s: it is of %s %q", file, s.Tool, s.Name), "remove it")
		}
		all = append(all, s)
	}
	return all, nil
}

// Find gives the one that is meant: by its name, by its server, or the only one.
func Find(all []Set, tool, name string) (Set, error) {
	var names []string
	var meant []Set
	for _, s := range all {
		if name == "" || s.Name == name || s.Server.Ref.String() == name || s.Server.Ref.Kind == name {
			meant = append(meant, s)
		}
		names = append(names, s.Server.Ref.String())
	}
	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(all) == 0:
		return Set{}, hint.With(fmt.Errorf("no server of this host was set up with Plumb to be backed up with %s", tool), "plumb backup SERVER --with "+tool+" --to URL begins it")
	case len(meant) == 0:
		return Set{}, hint.Usage(fmt.Sprintf("%s is not backed up with %s", name, tool), "these are: "+strings.Join(names, ", "))
	}
	return Set{}, hint.Usage("several servers are backed up with "+tool+", and none was named", "name one of "+strings.Join(names, ", "))
}

// IsName tells whether a set can be called so: it is a part of names of files, and of a command line.
func IsName(name string) bool {
	return name != "" && len(name) <= 60 && name[0] != '-' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
