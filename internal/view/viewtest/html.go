package viewtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const HostileText = `</style><script>alert(1)</script><img src=x onerror=alert(1)>"' onload="x`

// AloneAndWhole checks that a page refers to nothing outside, that its tags
// nest, and that no number in it is none. An address may be told in a
// sentence; nothing leads there.
func AloneAndWhole(t *testing.T, page []byte) {
	t.Helper()
	for _, bad := range []string{"<script", "@import", "url(", "<link", "<img", "<iframe", "<form", "<base", "<object", "<embed", "ZgotmplZ", "%!"} {
		if i := bytes.Index(page, []byte(bad)); i >= 0 {
			t.Errorf("the page has %q: %.120s", bad, page[max(0, i-60):])
		}
	}
	if none := regexp.MustCompile(`\b(NaN|Inf)\b`).Find(page); none != nil {
		t.Errorf("the page has the number %s", none)
	}
	at := bytes.Index(page, []byte("<body>"))
	if at < 0 {
		t.Fatal("the page has no body")
	}
	if head := page[:at]; bytes.Contains(head, []byte("://")) {
		t.Error("the head of the page names an address")
	}
	body := regexp.MustCompile(`(?s)<body>.*</body>`).Find(page)
	d := xml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(body, []byte("<br>"), []byte("<br/>"))))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if tag, is := token.(xml.StartElement); is {
			staysHere(t, tag)
		}
	}
}

// staysHere checks that a tag runs nothing, and leads nowhere outside the page.
func staysHere(t *testing.T, tag xml.StartElement) {
	t.Helper()
	for _, a := range tag.Attr {
		name := strings.ToLower(a.Name.Local)
		leads := slices.Contains([]string{"href", "src", "srcset", "action", "formaction", "data", "poster", "background"}, name)
		switch {
		case strings.HasPrefix(name, "on"):
			t.Errorf("<%s> runs %s", tag.Name.Local, name)
		case leads && !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, "data:text/csv;base64,"):
			t.Errorf("<%s> leads to %s", tag.Name.Local, a.Value)
		case strings.Contains(a.Value, "://") && name != "aria-label":
			t.Errorf("<%s> has an address in %s: %s", tag.Name.Local, name, a.Value)
		}
	}
}
