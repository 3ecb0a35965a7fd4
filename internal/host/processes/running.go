package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
)

// Running names a process of root's or ours that runs one of some commands; "" for none. A command is known by all its words but the
// first: where a script stands in for a program, that is another.
func Running(ctx context.Context, d host.Doer, commands ...[]string) (by string, err error) {
	is := func(line string) bool {
		return slices.ContainsFunc(commands, func(argv []string) bool { return strings.HasSuffix(line, "\x00"+strings.Join(argv[1:], "\x00")+"\x00") })
	}
	lines, err := d.Glob(ctx, "/proc/[0-9]*/cmdline")
	if err != nil {
		return "", err
	}
	for _, line := range lines {
		text, err := d.Raw(ctx, line)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, host.ErrTooLarge): // it has ended, is not ours, or says more
			continue
		case err != nil:
			return "", fmt.Errorf("see which commands run: %w", err)
		case !is(string(text)):
			continue
		}
		if st, err := d.Stat(ctx, path.Dir(line)); err == nil && (st.UID == 0 || int(st.UID) == os.Geteuid()) {
			return named(ctx, d, line), nil
		}
	}
	return "", nil
}
