package tape

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is bytes, usually readable ones. In JSON it is a string, or
// {"base64":"…"} where a string could not hold the bytes exactly.
type Text string

// manyControls is from where on text with control characters, six bytes each
// in JSON, is better kept as base64. Short text (a command line, with its NUL
// bytes) stays readable.
const manyControls = 1 << 20

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	s := string(t)
	if !utf8.ValidString(s) || (len(s) > manyControls && controls(s) > len(s)/16) {
		return []byte(`{"base64":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}`), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func controls(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\n' && s[i] != '\t' && s[i] != '\r' {
			n++
		}
	}
	return n
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 1 && data[0] == '"' && bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) {
		*t = Text(data[1 : len(data)-1]) // nothing to translate: the usual case, and quick
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*t = Text(s)
		return nil
	}
	var b struct {
		Base64 *string `json:"base64"`
	}
	if err := json.Unmarshal(data, &b); err != nil || b.Base64 == nil {
		return fmt.Errorf("want a string or {\"base64\":…}, have %.20q", data)
	}
	raw, err := base64.StdEncoding.DecodeString(*b.Base64)
	if err != nil {
		return fmt.Errorf("base64: %w", err)
	}
	*t = Text(raw)
	return nil
}

// Texts makes arguments of strings.
func Texts(s ...string) []Text {
	texts := make([]Text, len(s))
	for i := range s {
		texts[i] = Text(s[i])
	}
	return texts
}

// String joins texts for a person: in quotes where a word holds more than one.
func String(of []Text) string {
	words := make([]string, len(of))
	for i, t := range of {
		words[i] = string(t)
		if !utf8.ValidString(words[i]) || strings.ContainsAny(words[i], "\n\r\t\x00") {
			words[i] = strconv.Quote(words[i])
		}
	}
	return strings.Join(words, " ")
}

func itoa(n int) string { return strconv.Itoa(n) }
