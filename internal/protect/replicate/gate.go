package replicate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"plumb/internal/hint"
	"plumb/internal/zfs"
)

// meant tells of the beginning of a stream whether it may go to the target. By what a stream is resumed, the target says: a token of its
// making could ask for a snapshot that it was never sent, or for an encrypted one in the clear.
func meant(source dataset, sent *Sent) func(zfs.Head) error {
	return func(h zfs.Head) error {
		_, ours := source.of(h.To)
		switch {
		case !ours:
			return hint.With(fmt.Errorf("the target asks to continue a stream of another dataset than %s", source.name), wayOut(sent))
		case h.Raw != (sent.Way == wayRaw):
			return hint.With(errors.New("the target asks to continue a stream that is not "+sent.Way), wayOut(sent))
		}
		return nil
	}
}

func wayOut(sent *Sent) string {
	return "nothing of it was sent; find out who started to receive into " + sent.Dataset + " there; zfs receive -A discards it"
}

// received gives a stream once its beginning shows that it is of one snapshot of a filesystem, and stops any other. What zfs send -R
// makes can also rename and promote what is there, and set properties of it, without -F; and a volume would be a device, on which
// this host looks for filesystems, arrays and volume groups.
type received struct {
	in   io.Reader
	open bool
}

// Read implements io.Reader.
func (r *received) Read(into []byte) (int, error) {
	if r.open {
		return r.in.Read(into)
	}
	begin := make([]byte, zfs.HeadBytes)
	if n, err := io.ReadFull(r.in, begin); n == 0 {
		return 0, err
	} else if head, err := zfs.ParseHead(begin[:n]); err != nil || !head.Files {
		return 0, hint.With(cmp.Or(err, errors.New("it is of a volume")), "this key is for streams of plumb replicate alone")
	}
	r.in, r.open = io.MultiReader(bytes.NewReader(begin), r.in), true
	return r.in.Read(into)
}
