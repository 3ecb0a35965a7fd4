package point

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// bind mounts a directory of a clone where it is to be seen. No program in it gains
// rights, and no device in it is one.
func bind(ctx context.Context, d host.Doer, from, source string, at protect.CloneAt) error {
	if err := realDirectory(ctx, d, from, from); err != nil {
		return err
	}
	return at.Mount(ctx, source, func() error { return bound(ctx, d, from, at.Dir) })
}

// realDirectory is an error where a link that was in a snapshot leads elsewhere.
func realDirectory(ctx context.Context, d host.Doer, name, is string) error {
	st, err := d.Stat(ctx, name)
	if err == nil && (st.Resolved != is || !st.Mode.IsDir()) {
		err = fmt.Errorf("%s is not a directory but leads to %s", name, st.Resolved)
	}
	return err
}

func bound(ctx context.Context, d host.Doer, from, dir string) error {
	if _, err := d.Run(ctx, "mount", "--bind", "--", from, dir); err != nil {
		return err
	}
	_, err := d.Run(ctx, powerless(dir)...)
	return err
}

// powerless takes from what is mounted on a directory that programs gain rights and files are devices.
func powerless(dir string) []string {
	return []string{"mount", "-o", "remount,bind,nosuid,nodev", "--", dir}
}
