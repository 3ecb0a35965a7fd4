package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// The form of a part of a recording that travels: one line of JSON for each
// item, after one that says what it is.

type firstLine struct {
	Form int    `json:"plumb_recording"`
	Host string `json:"host"`
}

type line struct {
	At      *time.Time       `json:"at,omitempty"` // of a picture
	Picture *stack.Stack     `json:"picture,omitempty"`
	Batch   *series.Batch    `json:"batch,omitempty"`
	Least   []series.Reading `json:"least,omitempty"`
	Most    []series.Reading `json:"most,omitempty"`
	Lost    *Lost            `json:"lost,omitempty"`
}

// WriteLines writes items in that form.
func WriteLines(to io.Writer, host string, each func(do func(Item) error) error) error {
	w := bufio.NewWriterSize(to, 1<<16)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(firstLine{Form, host}); err != nil {
		return err
	}
	err := each(func(i Item) error {
		l := line{Picture: i.Picture, Batch: i.Batch, Least: i.Least, Most: i.Most, Lost: i.Lost}
		if i.Picture != nil {
			l.At = &i.At
		}
		return enc.Encode(l)
	})
	return errors.Join(err, w.Flush())
}

const cutOff = "the file is cut off: copy or export it again"

// mostLine is how long a line may be: bytes. A picture of a large host is below.
const mostLine = 64 << 20

// ReadLines reads what WriteLines wrote, also compressed with gzip.
func ReadLines(from io.Reader, do func(Item) error) error {
	in := bufio.NewReaderSize(from, 1<<16)
	if magic, err := in.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return readLines(in, do)
	}
	plain, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("decompress it: %w", err)
	}
	return readLines(plain, do)
}

func readLines(from io.Reader, do func(Item) error) error {
	lines, n := bufio.NewScanner(from), 0
	lines.Buffer(make([]byte, 1<<16), mostLine)
	for lines.Scan() {
		if n++; n == 1 {
			if err := readFirst(lines.Bytes()); err != nil {
				return err
			}
			continue
		}
		item, err := readLine(lines.Bytes())
		if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset == int64(len(lines.Bytes())) {
			err = hint.With(err, cutOff)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := do(item); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: %w", n+1, hint.With(err, cutOff))
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d is longer than %s", n+1, units.Bytes(mostLine))
	case err != nil:
		return fmt.Errorf("line %d: %w", n+1, err)
	case n == 0:
		return readFirst(nil)
	}
	return nil
}

func readFirst(text []byte) error {
	var first firstLine
	if err := json.Unmarshal(text, &first); err != nil || first.Form == 0 {
		return hint.With(errors.New("it is not a part of a recording"), "plumb watch export --format jsonl writes one")
	}
	if first.Form > Form {
		return hint.With(fmt.Errorf("it has format %d, but this Plumb knows format %d: %w", first.Form, Form, ErrNewer), "read it with that plumb")
	}
	return nil
}

func readLine(text []byte) (Item, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Item{}, err
	}
	i := Item{Picture: l.Picture, Batch: l.Batch, Least: l.Least, Most: l.Most, Lost: l.Lost}
	switch {
	case l.Picture != nil && l.At != nil:
		i.At = l.At.UTC()
	case l.Batch != nil && l.Batch.At.IsZero(): // of the year 1: all windows since then would be judged
		return Item{}, errors.New("it holds a batch without its time")
	case l.Batch != nil:
		l.Batch.At = l.Batch.At.UTC()
		i.At = l.Batch.At
	case l.Lost != nil:
		i.At = l.Lost.Since.UTC()
	default:
		return Item{}, errors.New("it holds neither a picture nor a batch nor a gap")
	}
	return i, nil
}
