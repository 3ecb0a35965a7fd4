package host

import "context"

// RemoveTree removes a directory and everything below it on the same filesystem. It follows no links. A tree of millions of files takes
// longer than Run lets a command take, and so there is no limit as long as files are being removed.
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
