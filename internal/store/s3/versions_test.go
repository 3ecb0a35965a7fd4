package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plumb/internal/backup/store"
)

// versioned answers as a bucket that keeps versions: of one object, newest first. It keeps one of them locked, and notes which it was
// asked to remove.
type versioned struct {
	locked  string
	removed []string
}

func (v *versioned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/xml")
	switch {
	case r.Method == http.MethodDelete && q.Get("versionId") == v.locked:
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>locked</Message></Error>")
	case r.Method == http.MethodDelete:
		v.removed = append(v.removed, q.Get("versionId"))
		w.WriteHeader(http.StatusNoContent)
	case q.Has("versioning"):
		_, _ = io.WriteString(w, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
	case q.Has("versions"):
		text := ""
		for _, of := range []string{"Version stone true", "Version manifest false", "DeleteMarker marker false", "Version first false"} {
			word := strings.Fields(of)
			text += fmt.Sprintf("<%[1]s><Key>some/where/a</Key><VersionId>%[2]s</VersionId><IsLatest>%[3]s</IsLatest><LastModified>2026-11-26T03:00:00Z</LastModified><Size>1</Size></%[1]s>", word[0], word[1], word[2])
		}
		text += "<Version><Key>some/where/ab</Key><VersionId>other</VersionId><IsLatest>true</IsLatest><LastModified>2026-11-26T03:00:00Z</LastModified><Size>1</Size></Version>"
		_, _ = io.WriteString(w, "<ListVersionsResult><Name>backups</Name><IsTruncated>false</IsTruncated>"+text+"</ListVersionsResult>")
	}
}

// Where a bucket keeps versions the newest goes last. Where an older one is locked, it stays in its place: a manifest under the stone of a
// prune would count again.
func TestNewestVersionGoesLast(t *testing.T) {
	for locked, want := range map[string][]string{"none": {"first", "marker", "manifest", "stone"}, "first": nil, "manifest": {"first", "marker"}} {
		v := &versioned{locked: locked}
		b := open(t, func(http.Handler) http.Handler { return v })
		err := b.Delete(t.Context(), "a")
		if !slices.Equal(v.removed, want) || (err == nil) != (locked == "none") || err != nil && !errors.Is(err, store.ErrDenied) {
			t.Errorf("%s is locked: %q were removed, %v", locked, v.removed, err)
		}
	}
}
