package relay

import (
	"context"
	"errors"
	"io"
	"testing"
)

// Who reads may stop when he likes; what went wrong with who writes is told unless he was stopped.
func TestRun(t *testing.T) {
	gone, strange := errors.New("gone"), errors.New("strange")
	forever := func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context, io.Writer) error { return gone }
	writes := func(_ context.Context, out io.Writer) error {
		_, err := out.Write([]byte("text"))
		return err
	}
	none := func(io.Reader) error { return nil }
	all := func(in io.Reader) error { _, err := io.ReadAll(in); return err }
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx   context.Context
		write func(context.Context, io.Writer) error
		read  func(io.Reader) error
		want  error
	}{
		"all of it":            {t.Context(), writes, all, nil},
		"none of it":           {t.Context(), writes, none, nil},
		"stopped":              {t.Context(), forever, none, nil},
		"gone":                 {t.Context(), fails, all, gone},
		"gone, and not seen":   {t.Context(), fails, none, gone},
		"strange":              {t.Context(), fails, func(io.Reader) error { return strange }, strange},
		"stopped from without": {ended, forever, none, context.Canceled},
	} {
		if err := Run(c.ctx, c.write, c.read); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
