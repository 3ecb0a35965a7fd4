package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// answering gives a bucket of which somebody answers all requests.
func answering(t *testing.T, answer http.HandlerFunc) *Bucket {
	t.Helper()
	return open(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			answer(w, r)
		})
	})
}

// asked is what came of each kind of request.
func asked(ctx context.Context, b *Bucket) map[string]error {
	_, put := b.Put(ctx, "a", []byte("x"), store.Put{New: true})
	_, _, get := b.Get(ctx, "a", make([]byte, 1000))
	list := b.List(ctx, "", func(store.Info) error { return nil })
	return map[string]error{"put": put, "get": get, "list": list}
}

// A page that a proxy gives with a 200 is no answer of the store's: neither an object, nor that one was kept, nor an empty list. It is
// tried again, for the proxy may go away.
func TestPageInPlaceOfAnAnswer(t *testing.T) {
	for name, kind := range map[string]string{"html": "text/html; charset=utf-8", "xhtml": "application/xhtml+xml", "with a date": "text/html"} {
		b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			if name == "with a date" {
				w.Header().Set("Last-Modified", "Wed, 25 Nov 2026 10:00:00 GMT")
			}
			_, _ = io.WriteString(w, "<html><head><title>Guest network</title></head><body>Log in</body></html>")
		})
		for what, err := range asked(t.Context(), b) {
			if _, again := errors.AsType[*store.Trouble](err); !again || !strings.Contains(err.Error(), "web page") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if err := b.Delete(t.Context(), "a"); err == nil {
			t.Errorf("%s: what nobody removed is gone", name)
		}
	}
}

// An object without a tag could not be replaced on the condition that it is still the same one.
func TestWithoutETag(t *testing.T) {
	b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Wed, 25 Nov 2026 10:00:00 GMT")
		_, _ = io.WriteString(w, "text")
	})
	all := asked(t.Context(), b)
	for _, what := range []string{"put", "get"} {
		if err := all[what]; err == nil || !strings.Contains(err.Error(), "no ETag") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Nothing follows to where a store, or somebody in its place, says that the bucket is: the login would go along, and what it signs.
func TestElsewhere(t *testing.T) {
	followed := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed++ }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := answering(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+r.URL.Path)
			w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
			w.WriteHeader(status)
			if status == 301 {
				_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>PermanentRedirect</Code><Message>address it by another endpoint</Message><Endpoint>"+other.URL+"</Endpoint></Error>")
			}
		})
		for what, err := range asked(t.Context(), b) {
			if _, again := errors.AsType[*store.Trouble](err); err == nil || again || !strings.Contains(err.Error(), fmt.Sprint(status)) || !strings.Contains(hint.Of(err), "--endpoint") {
				t.Errorf("%d, %s: %v, hint: %s", status, what, err, hint.Of(err))
			}
		}
	}
	if followed > 0 {
		t.Errorf("%d requests went elsewhere", followed)
	}
}

// contents is a page of a list.
func contents(more string, keys ...string) string {
	text := "<?xml version=\"1.0\"?><ListBucketResult><Name>backups</Name><IsTruncated>" + fmt.Sprint(more != "") + "</IsTruncated><NextContinuationToken>" + more + "</NextContinuationToken>"
	for _, k := range keys {
		text += "<Contents><Key>" + k + "</Key><Size>1</Size><LastModified>2026-11-25T10:00:00.000Z</LastModified></Contents>"
	}
	return text + "</ListBucketResult>"
}

// A list that does not end, or is none, is an error: whoever asks would wait for ever, or take it for a short one.
func TestListsThatAreNone(t *testing.T) {
	for name, page := range map[string]string{
		"repeats ours":                 contents("same", "some/where/a"),
		"repeats what is not ours":     contents("same", "some/where/.hidden"),
		"has nothing, and goes on":     contents("same"),
		"goes on, and does not say at": strings.Replace(contents("x", "some/where/a"), ">x<", "><", 1),
		"an entity of its own":         "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>" + contents("", "some/where/&b;"),
		"an entity from a file":        "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>" + contents("", "some/where/&a;"),
		"empty":                        "",
		"cut":                          contents("", "some/where/a")[:200],
	} {
		b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, page)
		})
		b.quiet = 500 * time.Millisecond
		ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
		n := 0
		err := b.List(ctx, "", func(store.Info) error { n++; return nil })
		if err == nil || ctx.Err() != nil || n > 1 {
			t.Errorf("%s: %d objects, %v, %v", name, n, err, ctx.Err())
		}
		end()
	}
}

// A list that never ends is an error which nobody waits for, and tries no second time, also where each page names another as the next.
func TestListWithoutEnd(t *testing.T) {
	long := strings.Repeat("<Contents><Key>some/where/a</Key><Size>1</Size></Contents>", 1000)
	for name, c := range map[string]struct {
		page func(n int64) string
		most int64 // requests
		want string
	}{
		"one page again and again": {func(int64) string { return contents("same") }, 2, "as its own successor"},
		"two pages in turns":       {func(n int64) string { return contents(fmt.Sprint("page-", n%2)) }, mostEmpty, "pages without a name"},
		"always another page":      {func(n int64) string { return contents(fmt.Sprint("page-", n)) }, mostEmpty, "pages without a name"},
		"two names in turns":       {func(n int64) string { return contents(fmt.Sprint("page-", n), fmt.Sprint("some/where/", n%2)) }, 3, "such a list cannot be relied on"},
		"a page without end":       {func(int64) string { return contents("", "some/where/a") + strings.Repeat(long, 300) }, 1, "more than 16M"},
	} {
		var asked atomic.Int64
		b := answering(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			text := c.page(asked.Add(1))
			if strings.HasSuffix(text, "</Contents>") {
				text = strings.Replace(text, "</ListBucketResult>", "", 1)
			}
			_, _ = io.WriteString(w, text)
		})
		s := store.Patiently(b, store.Patience{For: time.Hour, First: time.Millisecond, Most: time.Millisecond}, 2, nil)
		ctx, end := context.WithTimeout(t.Context(), 5*time.Minute) // a list that never ends; 16 MB of it take their time with the race detector
		err := s.List(ctx, "", func(store.Info) error { return nil })
		end()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "http") || asked.Load() > c.most {
			t.Errorf("%s: asked %d times: %v", name, asked.Load(), err)
		}
	}
}

// Where much was removed a store gives pages without a name, and takes its time: the list is whole all the same, although it takes longer
// than nothing may move.
func TestListWithPagesWithoutAName(t *testing.T) {
	var asked atomic.Int64
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		time.Sleep(120 * time.Millisecond)
		w.Header().Set("Content-Type", "application/xml")
		switch {
		case n < 50:
			_, _ = io.WriteString(w, contents(fmt.Sprint("page-", n)))
		default:
			_, _ = io.WriteString(w, contents("", "some/where/a"))
		}
	})
	b.quiet = 5 * time.Second // of which a busy machine may need some for a page
	began, n := time.Now(), 0
	if err := b.List(t.Context(), "", func(store.Info) error { n++; return nil }); err != nil || n != 1 || time.Since(began) < b.quiet {
		t.Errorf("%d after %s, %v", n, time.Since(began), err)
	}
}

// A page of a list that comes slowly, on a slow line or to a busy machine, is read to its end.
func TestListThatComesSlowly(t *testing.T) {
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		text := contents("")
		_, _ = io.WriteString(w, strings.TrimSuffix(text, "</ListBucketResult>"))
		for n := range 50 {
			_, _ = fmt.Fprintf(w, "<Contents><Key>some/where/%03d</Key><Size>1</Size></Contents>", n)
			w.(http.Flusher).Flush()
			time.Sleep(120 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "</ListBucketResult>")
	})
	b.quiet = 5 * time.Second
	began, n := time.Now(), 0
	if err := b.List(t.Context(), "", func(store.Info) error { n++; return nil }); err != nil || n != 50 || time.Since(began) < b.quiet {
		t.Errorf("%d after %s, %v", n, time.Since(began), err)
	}
}
