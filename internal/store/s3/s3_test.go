package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"plumb/internal/backup/store"
	"plumb/internal/backup/store/storetest"
	"plumb/internal/hint"
)

// open gives a bucket of a server in this process, which keeps objects in memory. A real one is in test/backup.
func open(t *testing.T, between func(http.Handler) http.Handler) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "") // whoever runs the tests may have some
	behind := s3mem.New()
	if err := behind.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(between(gofakes3.New(behind).Server()))
	t.Cleanup(s.Close)
	b, err := Open(Options{Endpoint: s.URL, Region: "us-east-1", Bucket: "backups", Prefix: "some/where", Key: "k", Secret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStore(t *testing.T) {
	storetest.Run(t, open(t, func(h http.Handler) http.Handler { return h }))
}

// A server that takes the conditions of a request and ignores them, as some gateways do, is found out before anything counts on them.
func TestServerIgnoresConditions(t *testing.T) {
	for name, keeps := range map[string]bool{"": true, "If-None-Match": false, "If-Match": false} {
		b := open(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del(name)
				h.ServeHTTP(w, r)
			})
		})
		is, err := store.Conditional(t.Context(), b)
		compares, err2 := store.Compares(t.Context(), b)
		if err := errors.Join(err, err2); err != nil || (is && compares) != keeps || is == (name == "If-None-Match") || compares == (name == "If-Match") {
			t.Errorf("%q is ignored: %t, %t, %v", name, is, compares, err)
		}
	}
}

// What a store answers when it cannot just now is trouble, and what it never will is not.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status     int
		code       string
		again      bool
		slow       bool
		means      error
		afterwards string
	}{
		{status: 503, code: "SlowDown", again: true, slow: true},
		{status: 429, code: "TooManyRequests", again: true, slow: true},
		{status: 502, again: true},
		{status: 500, code: "InternalError", again: true},
		{status: 400, code: "RequestTimeout", again: true},
		{status: 400, code: "BadDigest", again: true},
		{status: 403, code: "AccessDenied", means: store.ErrDenied},
		{status: 403, code: "RequestTimeTooSkewed", afterwards: "clock"},
		{status: 404, code: "NoSuchBucket", afterwards: "no bucket of that name"},
		{status: 501, code: "NotImplemented", afterwards: "does not support the request: m"},
		{status: 501, afterwards: "does not support the request: 501"},
		{status: 412, code: "PreconditionFailed", means: store.ErrExists},
		{status: 409, code: "ConditionalRequestConflict", again: true},
		{status: 409, code: "OperationAborted", again: true},
		{status: 403, code: "QuotaExceeded", means: store.ErrFull},
		{status: 507, code: "XMinioStorageFull", means: store.ErrFull},
	} {
		b := open(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(c.status)
				if c.code != "" {
					_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>"+c.code+"</Code><Message>m</Message></Error>")
				}
			})
		})
		_, err := b.Put(t.Context(), "a", []byte("x"), store.Put{New: true})
		trouble, again := errors.AsType[*store.Trouble](err)
		switch {
		case err == nil || again != c.again || again && trouble.Slow != c.slow:
			t.Errorf("%d %s: %v (again: %t)", c.status, c.code, err, again)
		case c.means != nil && !errors.Is(err, c.means), !strings.Contains(err.Error(), c.afterwards):
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
}

// A bucket that locks all that is written refuses what comes without an MD5, as Amazon says it. From then on it gets one.
func TestBucketThatLocks(t *testing.T) {
	refused := 0
	b := open(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && r.Header.Get("Content-MD5") == "" {
				refused++
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters</Message></Error>")
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	for _, text := range []string{"first", "second"} {
		if _, err := b.Put(t.Context(), text, []byte(text), store.Put{}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := b.Get(t.Context(), text, make([]byte, 100)); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if refused != 1 {
		t.Errorf("it refused %d times", refused)
	}
}

// An answer that is cut, or longer than it says, is no object.
func TestTornAnswers(t *testing.T) {
	b := open(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Length", "100")
			w.Header().Set("ETag", `"x"`)
			w.Header().Set("Last-Modified", "Wed, 25 Nov 2026 10:00:00 GMT")
			_, _ = io.WriteString(w, "short")
		})
	})
	_, _, err := b.Get(t.Context(), "a", make([]byte, 1000))
	if _, again := errors.AsType[*store.Trouble](err); !again {
		t.Errorf("%v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	b, err := Open(Options{Endpoint: "http://127.0.0.1:1", Region: "us-east-1", Bucket: "backups", Key: "k", Secret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Put(t.Context(), "a", nil, store.Put{})
	if _, again := errors.AsType[*store.Trouble](err); !again {
		t.Errorf("%v", err)
	}
	if _, err := Open(Options{Bucket: "b"}); err == nil {
		t.Error("a bucket of one letter")
	}
	for _, endpoint := range []string{"host", "ftp://host", "https://", "https://host/path", "://", "https://k:s3cret@host", "https://k:s3cret@host/path", "k:s3cret@host"} {
		if _, err := Open(Options{Endpoint: endpoint, Bucket: "backups"}); err == nil || strings.Contains(err.Error()+hint.Of(err), "s3cret") {
			t.Errorf("%q is an endpoint, or is shown: %v", endpoint, err)
		}
	}
}

// A profile that is not there is told at once.
func TestProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	for _, text := range []string{"", "[other]\naws_access_key_id = k\naws_secret_access_key = s\n"} {
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(Options{Endpoint: "http://127.0.0.1:1", Bucket: "backups", Profile: "mine"}); err == nil || !strings.Contains(err.Error(), `"mine"`) || hint.Of(err) == "" {
			t.Errorf("with %q: %v", text, err)
		}
	}
	if _, err := Open(Options{Endpoint: "http://127.0.0.1:1", Bucket: "backups", Profile: "other"}); err != nil {
		t.Error(err)
	}
}

// A server that is not who it should be, or speaks no TLS, is not tried for hours.
func TestMisled(t *testing.T) {
	behind := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	stranger, plain := httptest.NewTLSServer(behind), httptest.NewServer(behind)
	t.Cleanup(stranger.Close)
	t.Cleanup(plain.Close)
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	for endpoint, want := range map[string]string{stranger.URL: "certificate", strings.Replace(plain.URL, "http:", "https:", 1): "not use TLS"} {
		b, err := Open(Options{Endpoint: endpoint, Region: "us-east-1", Bucket: "backups", Key: "k", Secret: "s"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Put(t.Context(), "a", []byte("x"), store.Put{})
		if _, again := errors.AsType[*store.Trouble](err); again || err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// A certificate that is good at another hour is told as one: it may be our clock that is wrong.
func TestCertificateOfAnotherHour(t *testing.T) {
	err := means(&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is before"}})
	if _, again := errors.AsType[*store.Trouble](err); again || !strings.Contains(err.Error(), "current time is before") || !strings.Contains(hint.Of(err), "clock") {
		t.Errorf("%v, hint: %s", err, hint.Of(err))
	}
}

// A list that stands still in its midst is trouble, and never taken for the end of one.
func TestListStandsStill(t *testing.T) {
	stands := make(chan struct{})
	b := open(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><ListBucketResult><Name>backups</Name><IsTruncated>false</IsTruncated><Contents><Key>some/where/a</Key><Size>1</Size></Contents>")
			w.(http.Flusher).Flush()
			select {
			case <-stands:
			case <-r.Context().Done():
			}
		})
	})
	defer close(stands)
	b.quiet = 100 * time.Millisecond
	err := b.List(t.Context(), "", func(store.Info) error { return nil })
	if _, again := errors.AsType[*store.Trouble](err); !again {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := b.List(ended, "", func(store.Info) error { return nil }); err == nil {
		t.Error("a list that was ended is taken for one")
	}
}

// A directory bucket of Amazon lists in no order: it is refused before anything is asked of it. What another store calls so may be any bucket.
func TestDirectoryBucket(t *testing.T) {
	for endpoint, refused := range map[string]bool{"": true, "https://s3express-use1-az4.us-east-1.amazonaws.com": true, "https://amazonaws.com.example.org": false, "http://127.0.0.1:7070": false} {
		_, err := Open(Options{Endpoint: endpoint, Bucket: "backups--use1-az4--x-s3"})
		if (err != nil) != refused || refused && (!strings.Contains(err.Error(), "directory bucket") || hint.Of(err) == "") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
