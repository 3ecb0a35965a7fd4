package s3

import (
	"errors"
	"net/http"
	"strings"

	"plumb/internal/backup/store"
)

// answers passes on what a store answers, and not what somebody else does in its place: a proxy that wants a login, or says that the
// line is down, gives a page with a 200. As a list that page would be an empty one.
type answers struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	l, isList := r.Context().Value(listing{}).(*listing)
	if isList {
		if err := l.next(r); err != nil {
			return nil, err
		}
	}
	resp, err := a.RoundTripper.RoundTrip(r)
	if err == nil && isList {
		resp.Body = &page{&watched{resp.Body, l.still}, resp.Body, mostPage}
	}
	if err != nil || resp.StatusCode != http.StatusOK || resp.ContentLength == 0 || resp.Header.Get("ETag") != "" { // an object may be a page
		return resp, err
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(kind, "application/xhtml") {
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, &store.Trouble{Err: errors.New("a web page was returned instead of the store's answer, probably by a proxy")}
}

// tagged refuses an answer about an object without the tag that each has: it is no store's. What is written on the condition that an
// object is still the one of its tag would be written on none.
func tagged(tag string) error {
	if tag != "" {
		return nil
	}
	return &store.Trouble{Err: errors.New("the answer has no ETag, so it does not come from a store")}
}
