package change

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"slices"

	"plumb/internal/host/tree"
)

// roomBytes are kept for taking a change back that stops a server: what fills the disk meanwhile must not keep it stopped, as nothing is
// done that is not written down. The file of the lock holds them, which is there anyhow.
const roomBytes = 1 << 20

// takesBack tells whether a record is written when what was done is taken back.
func takesBack(kind string) bool {
	return slices.Contains([]string{kindFailed, kindUndoing, kindReturning, kindUndone, kindLeft, kindEnd}, kind)
}

func (k *Executor) lockFile() string { return path.Join(k.Dir, "lock") }

// reserve keeps room for what is yet to be written down, and gives what frees it.
func (k *Executor) reserve(ctx context.Context) (free func(), err error) {
	bytes := make([]byte, roomBytes)
	_, _ = rand.Read(bytes)            // never fails; what can be compressed would keep less
	if err = k.free(ctx); err == nil { // of one that was killed
		err = k.Doer.Append(ctx, k.lockFile(), bytes)
	}
	if err != nil {
		return nil, k.unwritten(errors.Join(err, k.free(ctx)))
	}
	return func() { _ = k.free(context.WithoutCancel(ctx)) }, nil // of one that stays, the next makes it anew
}

func (k *Executor) free(ctx context.Context) error { return k.Doer.Write(ctx, k.lockFile(), nil) }

// makesRoom frees it for what did not fit, and tells whether there was any.
func (k *Executor) makesRoom(ctx context.Context, full error) bool {
	if !tree.Full(full) {
		return false
	}
	st, err := k.Doer.Stat(ctx, k.lockFile())
	return err == nil && st.Size > 0 && k.free(ctx) == nil
}

// ofData tells whether a draft moves or replaces all data of a server.
func (d Draft) ofData() bool {
	return slices.ContainsFunc(d.Steps, func(s Prepared) bool {
		return s.Data || slices.ContainsFunc(s.Recipe.Acts, func(a Act) bool { return a.Move != nil })
	})
}
