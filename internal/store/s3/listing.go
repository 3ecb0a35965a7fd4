package s3

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/minio/minio-go/v7"

	"plumb/internal/units"
)

// A list of S3 comes in pages of at most 1000 names, and each page tells by which token the next is asked for. A server that gives
// a token twice, or never ends, would be asked for ever. S3 itself gives pages without a name where many were removed, so that these
// alone are no fault.
const (
	mostEmpty = 1000     // pages without a name in a row
	mostPage  = 16 << 20 // bytes of a page: ten times what 1000 of the longest names take
)

// badList is the error of a list that does not become better when it is asked for again.
type badList struct{ why string }

// Error implements error.
func (b *badList) Error() string { return b.why + ": such a list cannot be relied on" }

// listing is a list that is being read. It goes with the requests for its pages, in their context.
type listing struct {
	*still
	page  string // the query by which the last was asked for
	empty int    // pages since the last name
}

// listed gives the entries of a list, or why it ends before its end. Each page of it has to begin in time, and to go on; what is done
// with an entry takes as long as it takes.
func (b *Bucket) listed(ctx context.Context, of minio.ListObjectsOptions) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		limited, request, end := b.moving(ctx)
		defer end()
		l := &listing{still: request}
		limited = context.WithValue(limited, listing{}, l)
		for o := range b.core.Client.ListObjectsIter(limited, b.bucket, of) {
			l.timer.Stop()
			l.empty = 0
			if o.Err != nil {
				yield(o, cause(limited, o.Err))
				return
			}
			if !yield(o, nil) {
				return
			}
			l.moved()
		}
		if limited.Err() != nil { // a list that was ended is no end of the list
			yield(minio.ObjectInfo{}, context.Cause(limited))
		}
	}
}

// next is told of the request for a page.
func (l *listing) next(r *http.Request) error {
	if r.URL.RawQuery == l.page {
		return &badList{"the store names a page of a list as its own successor"}
	}
	l.page = r.URL.RawQuery
	if l.empty++; l.empty > mostEmpty {
		return &badList{fmt.Sprintf("the store says that a list continues, but returned %d pages without a name", mostEmpty)}
	}
	l.moved()
	return nil
}

// page is the body of an answer to a list, which has a length, and may take its time as long as it goes on.
type page struct {
	io.Reader
	io.Closer
	left int64
}

// Read implements io.Reader.
func (p *page) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, &badList{"a page of a list has more than " + units.Bytes(mostPage)}
	}
	n, err := p.Reader.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	return n, err
}
