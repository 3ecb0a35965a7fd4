package archive

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
)

// MaxEntry is how large an entry can be, in bytes.
const MaxEntry = 1 << 20

const (
	mostChunks = 4000 // of a piece: 62 GiB
	mostChunk  = 64 << 20
)

// sign writes an entry.
func sign(e Entry, key note.Signer) ([]byte, error) {
	e.Form = Form
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("sign the entry of %s: %w", e.File, err)
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return nil, fmt.Errorf("sign the entry of %s: %w", e.File, err)
	}
	signed, err := note.Sign(&note.Note{Text: string(text) + "\n"}, key)
	if err != nil {
		return nil, fmt.Errorf("sign the entry of %s: %w", e.File, err)
	}
	return signed, nil
}

// open reads an entry, if somebody signed it who is trusted.
func open(text []byte, trusted ...note.Verifier) (e Entry, err error) {
	n, err := note.Open(text, note.VerifierList(trusted...))
	if _, stranger := errors.AsType[*note.UnverifiedNoteError](err); stranger {
		return e, hint.With(manifest.ErrStranger, "give the key of the host that archived it with --trust")
	}
	if err != nil {
		return e, err
	}
	err = manifest.Decode([]byte(n.Text), "it is an entry", Form, &e)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}

func (e *Entry) check() error {
	if err := e.Piece.check(); err != nil {
		return err
	}
	if len(e.Chunks) > mostChunks || e.Mark == "" {
		return fmt.Errorf("it has %d chunks and the mark %q", len(e.Chunks), e.Mark)
	}
	if e.Tail != nil && (e.Tail.At < 0 || e.Tail.At >= e.To || e.Tail.Mark == "") {
		return fmt.Errorf("its last record is at %d", e.Tail.At)
	}
	left := e.To - e.From
	for i, c := range e.Chunks {
		if c.Plain < 1 || c.Plain > min(left, chunk.Max) || c.Size < 1 || c.Size > mostChunk || len(c.SHA256) != 64 {
			return fmt.Errorf("chunk %d holds %d bytes in an object of %d with the hash %q", i, c.Plain, c.Size, c.SHA256)
		}
		left -= c.Plain
	}
	if left != 0 {
		return fmt.Errorf("its chunks do not hold %d bytes", e.To-e.From)
	}
	return nil
}
