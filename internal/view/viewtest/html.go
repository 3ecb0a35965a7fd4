package viewtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"testing"
)

const HostileText = `</style><script>alert(1)</script><img src=x onerror=alert(1)>"' onload="x`

// AloneAndWhole checks that a page refers to nothing outside, that its tags
// nest, and that no number in it is none.
func AloneAndWhole(t *testing.T, page []byte) {
	t.Helper()
	for _, bad := range []string{"<script", "http://", "https://", "@import", "url(", "<link", "<img", "<iframe", "NaN", "Inf", "ZgotmplZ", "%!"} {
		if i := bytes.Index(page, []byte(bad)); i >= 0 {
			t.Errorf("the page has %q: %.120s", bad, page[max(0, i-60):])
		}
	}
	body := regexp.MustCompile(`(?s)<body>.*</body>`).Find(page)
	d := xml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(body, []byte("<br>"), []byte("<br/>"))))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
	}
}
