package fetch

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/units"
)

// offline says what to do without the repository.
const offline = "run where Maven Central can be reached, or unpack a server and name it with basedir"

// errNotThere is an answer of 404.
var errNotThere = errors.New("the repository has no such file")

// download writes a file of the repository, and compares it with the checksum
// that is known of it. Of a file without one it is the sum that lies beside it
// there, which tells damage from no damage, and not who changed both.
func (s Store) download(ctx context.Context, url, known, to string) error {
	sum, algorithm, says, err := strings.ToLower(known), hash.Hash(nil), "this Plumb knows it as", error(nil)
	switch len(known) {
	case 2 * sha256.Size:
		algorithm = sha256.New()
	case 2 * sha1.Size:
		algorithm = sha1.New()
	default:
		says = "the repository says"
		if sum, algorithm, err = s.checksum(ctx, url); err != nil {
			return err
		}
	}
	body, err := s.get(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(w, algorithm), io.LimitReader(body, jarMost+1))
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("download %s: %w", url, err)
	}
	if n > jarMost {
		return fmt.Errorf("download %s: larger than %s", url, units.Bytes(jarMost))
	}
	if have := hex.EncodeToString(algorithm.Sum(nil)); have != sum {
		return hint.With(fmt.Errorf("download %s: its checksum is %s, and %s %s", url, have, says, sum), "try again; something on the way changed the file")
	}
	return nil
}

// checksum asks for the sum of a file, and gives what computes it.
func (s Store) checksum(ctx context.Context, url string) (sum string, algorithm hash.Hash, err error) {
	for _, kind := range []struct {
		suffix string
		hash   hash.Hash
	}{{".sha256", sha256.New()}, {".sha1", sha1.New()}} {
		body, err := s.get(ctx, url+kind.suffix)
		if errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		text, err := io.ReadAll(io.LimitReader(body, 1024))
		if err = errors.Join(err, body.Close()); err != nil {
			return "", nil, fmt.Errorf("download %s: %w", url+kind.suffix, err)
		}
		sum, ok := parseSum(text, kind.hash.Size())
		if !ok {
			return "", nil, fmt.Errorf("download %s: it holds no checksum", url+kind.suffix)
		}
		return sum, kind.hash, nil
	}
	return "", nil, fmt.Errorf("download %s: the repository has no checksum of it", url)
}

// parseSum reads a checksum of size bytes: the first word of a file.
func parseSum(text []byte, size int) (string, bool) {
	words := strings.Fields(string(text[:min(len(text), 1024)]))
	if len(words) == 0 {
		return "", false
	}
	raw, err := hex.DecodeString(words[0])
	return strings.ToLower(words[0]), err == nil && len(raw) == size
}

func (s Store) get(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, hint.With(err, offline)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	resp.Body.Close()
	err = fmt.Errorf("get %s: %s", url, resp.Status)
	if resp.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("get %s: %w", url, errNotThere)
	}
	return nil, hint.With(err, offline)
}
