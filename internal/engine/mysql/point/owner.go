package point

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// owner changes files with the rights of the server's user. Whatever he links
// where, nobody's files but his own can be reached.
type owner struct {
	d    host.Streamer
	argv []string
}

func ownerOf(d host.Streamer, sv protect.Server) owner {
	return owner{d: d, argv: sv.As(d.About().Root)}
}

func (o owner) run(ctx context.Context, argv ...string) ([]byte, error) {
	return o.d.Run(ctx, append(o.argv[:len(o.argv):len(o.argv)], argv...)...)
}

// read gives what reads a file.
func (o owner) read(name string) func(context.Context, io.Writer) error {
	return func(ctx context.Context, out io.Writer) error {
		_, err := o.d.Pipe(ctx, host.Pipe{Argv: append(o.argv[:len(o.argv):len(o.argv)], "cat", "--", name), Out: out})
		return err
	}
}

// write writes a file anew. It goes through no link: what has the name is replaced.
func (o owner) write(ctx context.Context, name, text string) error {
	fresh := path.Join(path.Dir(name), "."+path.Base(name)+".plumb-new")
	if _, err := o.run(ctx, "rm", "-f", "--", fresh); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	argv := append(o.argv[:len(o.argv):len(o.argv)], "dd", "status=none", "conv=excl,fsync", "of="+fresh)
	if _, err := o.d.Pipe(ctx, host.Pipe{Argv: argv, In: strings.NewReader(text)}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := o.run(ctx, "mv", "-f", "-T", "--", fresh, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// batch is how many names are given to one command.
const batch = 500

// remove removes files by name.
func (o owner) remove(ctx context.Context, names []string) error {
	for len(names) > 0 {
		n := min(len(names), batch)
		if _, err := o.run(ctx, append([]string{"rm", "-f", "--"}, names[:n]...)...); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// entry is a file that find saw.
type entry struct{ kind, path, link string }

// find lists files below directories, without following a link.
func (o owner) find(ctx context.Context, dirs []string, tests ...string) ([]entry, error) {
	argv := append([]string{"find", "-P"}, dirs...)
	out, err := o.run(ctx, append(append(argv, tests...), "-printf", `%y\0%p\0%l\0`)...)
	if err != nil {
		return nil, err
	}
	var all []entry
	f := strings.Split(string(out), "\x00")
	for ; len(f) > 3; f = f[3:] {
		all = append(all, entry{f[0], f[1], f[2]})
	}
	return all, nil
}
