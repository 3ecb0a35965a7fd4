package tape

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Write writes a tape. The entries are written sorted; t is not changed.
func Write(w io.Writer, t *Tape) error {
	entries := slices.Clone(t.Entries)
	slices.SortStableFunc(entries, Entry.Compare)

	out := bufio.NewWriterSize(w, 64<<10)
	hash := sha256.New()
	hashed := io.MultiWriter(out, hash)
	if err := writeLine(hashed, header{Version, t.About}); err != nil {
		return fmt.Errorf("write tape: %w", err)
	}
	for _, e := range entries {
		if err := writeLine(hashed, e); err != nil {
			return fmt.Errorf("write tape: %s %s: %w", e.Op, String(e.Of), err)
		}
	}
	if err := writeLine(out, trailer{Version, len(entries), hex.EncodeToString(hash.Sum(nil))}); err != nil {
		return fmt.Errorf("write tape: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write tape: %w", err)
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf) // ends with a newline
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if buf.Len() > MaxLineBytes {
		return fmt.Errorf("a line of %d bytes is over the limit of %d", buf.Len(), MaxLineBytes)
	}
	_, err := w.Write(buf.Bytes())
	return err
}
