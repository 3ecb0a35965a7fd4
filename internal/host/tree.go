package host

import "context"

// RemoveTree removes a directory and what is below it on its filesystem, for as
// long as names go: a tree of millions of files takes longer than any command may
// that shows nothing. It follows no links.
func RemoveTree(ctx context.Context, d Doer, dir string) error {
	argv := []string{"rm", "-rfv", "--one-file-system", "--", dir}
	s, ok := d.(Streamer)
	if !ok {
		_, err := d.Run(ctx, argv...)
		return err
	}
	_, err := s.Pipe(ctx, Pipe{Argv: argv, Works: true})
	return err
}
