package outlet

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"strings"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// leastToken is how many bytes a token must have at least, so that nobody can guess it.
const leastToken = 16

// secretOf reads the first line of a file, such as a token or user:password. It is an
// error if users other than its owner and group can read the file.
func secretOf(flag, name string) (string, error) {
	f, err := shell.Open(name)
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", name, flag, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", name, flag, hint.Cause(err))
	}
	if st.Mode().IsRegular() && st.Mode().Perm()&0o007 != 0 {
		return "", hint.With(fmt.Errorf("read %s of %s: every user of the machine may read it", name, flag), "chmod o= "+name)
	}
	text, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", name, flag, hint.Cause(err))
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fmt.Errorf("read %s of %s: its first line is empty, or not plain text", name, flag)
	}
	return line, nil
}

// tokenOf reads a token. It is an error if it is too short.
func tokenOf(flag, name string) (string, error) {
	token, err := secretOf(flag, name)
	if err == nil && len(token) < leastToken {
		err = hint.With(fmt.Errorf("read %s of %s: a token of %s can be guessed", name, flag, units.Count(len(token), "character")), "openssl rand -hex 32 > "+name)
	}
	return token, err
}

// keyPair reads a certificate with its key.
func keyPair(cert, key string) (*tls.Certificate, error) {
	if cert == "" || key == "" {
		return nil, fmt.Errorf("read %s: a certificate and its key go together", cmp.Or(cert, key))
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s and its key %s: %w", cert, key, hint.Cause(err))
	}
	return &pair, nil
}
