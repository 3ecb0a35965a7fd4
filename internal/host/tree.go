package host

import "context"

// RemoveTree removes a directory and what is below it on its filesystem, for as long as names go: a tree of millions of
// files takes longer than any command may that shows nothing. It follows no links.
func RemoveTree(ctx context.Context, d Doer, dir string) error {
	return removing(ctx, d, "rm", "-rfv", "--one-file-system", "--", dir)
}

// EmptyTree removes what is in a directory in the same way, but for one name.
func EmptyTree(ctx context.Context, d Doer, dir, but string) error {
	return removing(ctx, d, "find", dir, "-mindepth", "1", "-maxdepth", "1", "!", "-name", but, "-exec", "rm", "-rfv", "--one-file-system", "--", "{}", "+")
}

func removing(ctx context.Context, d Doer, argv ...string) (err error) {
	if s, ok := d.(Streamer); ok {
		_, err = s.Pipe(ctx, Pipe{Argv: argv, Works: true})
		return err
	}
	_, err = d.Run(ctx, argv...)
	return err
}
