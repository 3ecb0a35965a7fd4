package edit

// This is a stand-in until the forms are written: replace it whole.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

var ErrDrifted = errors.New("the lines were changed since")

type Splice struct {
	At            int
	Old, New      []byte
	Before, After string
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func Diff(a, b []byte) Splice {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	for p > 0 && a[p-1] != '\n' {
		p--
	}
	ea, eb := len(a), len(b)
	for ea > p && eb > p && a[ea-1] == b[eb-1] {
		ea--
		eb--
	}
	for ea < len(a) && ea > 0 && a[ea-1] != '\n' {
		ea++
	}
	for eb < len(b) && eb > 0 && b[eb-1] != '\n' {
		eb++
	}
	return Splice{p, a[p:ea], b[p:eb], sum(a), sum(b)}
}

func (s Splice) Revert(now []byte) ([]byte, error) {
	h := sum(now)
	if h == s.Before {
		return now, nil
	}
	if h == s.After {
		return append(append(append([]byte{}, now[:s.At]...), s.Old...), now[s.At+len(s.New):]...), nil
	}
	if len(s.New) == 0 || bytes.Count(now, s.New) != 1 {
		return nil, ErrDrifted
	}
	return bytes.Replace(now, s.New, s.Old, 1), nil
}

func Set(f Form, text []byte, key, value string) ([]byte, error) {
	var out []byte
	done := false
	for _, l := range bytes.SplitAfter(text, []byte("\n")) {
		if bytes.HasPrefix(l, []byte(key+" = ")) {
			l = []byte(key + " = " + value + "\n")
			done = true
		}
		out = append(out, l...)
	}
	if !done {
		out = append(out, []byte(key+" = "+value+"\n")...)
	}
	return out, nil
}

func Get(f Form, text []byte, key string) (string, bool, error) {
	for _, l := range bytes.SplitAfter(text, []byte("\n")) {
		if v, ok := bytes.CutPrefix(l, []byte(key+" = ")); ok {
			return string(bytes.TrimSpace(v)), true, nil
		}
	}
	return "", false, nil
}
