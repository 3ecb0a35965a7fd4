// Package relay lets two sides of a stream work at the same time, and ends both when one of them fails.
package relay

import (
	"context"
	"errors"
	"io"
)

var errEnough = errors.New("enough was read")

// Run has one function read what another writes. Who reads may stop before the end: that ends the other, and is no
// error of his. An error of who reads comes before one of who writes.
func Run(ctx context.Context, write func(ctx context.Context, out io.Writer) error, read func(in io.Reader) error) error {
	in, out := io.Pipe()
	ours, stop := context.WithCancel(ctx)
	defer stop()
	written := make(chan error, 1)
	go func() {
		err := write(ours, out)
		_ = out.CloseWithError(err) // a nil error is the end
		written <- err
	}()
	err := read(in)
	_ = in.CloseWithError(errEnough)
	stop()
	bad := <-written
	if err != nil || errors.Is(bad, errEnough) || errors.Is(bad, context.Canceled) && ctx.Err() == nil {
		return err
	}
	return bad
}
