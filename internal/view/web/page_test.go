package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/view/viewtest"
	view "plumb/internal/view/watch"
	"plumb/internal/view/web"
	"plumb/internal/watch"
	"plumb/test/sandbox"
)

const token = "0123456789abcdef0123456789abcdef"

// shown serves a made feed, one moment each 100 ms.
func shown(t *testing.T) (host string, stop func()) {
	t.Helper()
	cat := hosttest.Windows(t)
	l, host := freePort(t)
	s := web.New(token, host)
	s.Answer(func(_ context.Context, server, id string) series.Plan {
		return series.Plan{Statement: id, By: "a sample of it", Steps: []series.PlanStep{{Does: "reads all rows of " + viewtest.Hostile + " for " + server + " " + id, Mark: true}}}
	})
	server := s.HTTP()
	go server.Serve(l)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 5; ctx.Err() == nil; n++ {
			if err := s.Show(view.MakeBoard(viewtest.Unlike(n), cat)); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	stop = func() { cancel(); <-done; s.End(); server.Close() }
	t.Cleanup(stop)
	return host, stop
}

func logIn(b *browser, with string) {
	b.js("document.getElementById('token').value = " + strconv.Quote(with) + "; document.getElementById('login').requestSubmit(); 1")
}

// TestThePageSortsByTheWordsOfTheFlag: what a person chooses there is what --sort takes.
func TestThePageSortsByTheWordsOfTheFlag(t *testing.T) {
	ask, answer := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	web.New(token, ask.Host).ServeHTTP(answer, ask)
	if want := "<option>" + strings.Join(watch.Orders(), "</option><option>") + "</option></select>"; !strings.Contains(answer.Body.String(), want) {
		t.Errorf("the page has no %s", want)
	}
}

// TestInABrowser looks at the page in a real Chromium: who logs in sees the
// moments, in any width and light, and no string of a stranger does anything.
func TestInABrowser(t *testing.T) {
	sandbox.NeedTime(t, "it starts Chromium: make test-real")
	host, stop := shown(t)
	b := startBrowser(t)
	b.look(1280, 900, false)
	b.open("http://" + host + "/")
	b.until("document.readyState === 'complete' && document.activeElement === document.getElementById('token')")
	b.shoot("login")
	logIn(b, "wrong")
	b.until("document.getElementById('login-error').textContent.includes('not right')")
	if !strings.Contains(strings.Join(b.problems, ""), "401") {
		t.Errorf("the browser does not tell of the 401: its complaints are not heard: %v", b.problems)
	}
	b.problems = nil // the 401 is one
	logIn(b, token)
	b.until("document.querySelectorAll('#now article').length === 3 && document.querySelectorAll('canvas').length === 2")
	b.until("document.querySelector('#now').textContent.includes('sda is saturated') && document.querySelector('#sessions').textContent.includes('owned')")
	time.Sleep(3 * time.Second) // a chart has some points
	harmless(t, b, host)
	b.js("document.querySelector('#now details').open = true; 1")
	b.shoot("light")
	b.until("document.querySelector('#now details').open") // and moments later, still
	b.js("[...document.querySelectorAll('#statements td.press button')].find(e => !e.hidden).click(); 1")
	b.until("document.getElementById('plan-steps').textContent.includes('! reads all rows of') && !document.getElementById('plan').hidden")
	harmless(t, b, host)
	for by, first := range map[string]string{"growth": "sbtest3 ", "rows": "sbtest2 ", "bytes": "sbtest4 ", "time": "sbtest1 "} {
		b.js("document.getElementById('sort').value = " + strconv.Quote(by) + "; document.getElementById('sort').dispatchEvent(new Event('change')); 1")
		b.until("document.querySelector('#statements tbody tr').textContent.includes(" + strconv.Quote(first) + ")") // and moments later, still:
		b.until("shown.at !== " + strconv.Quote(b.js("shown.at")))
		if row := b.js("document.querySelector('#statements tbody tr').textContent"); !strings.Contains(row, first) {
			t.Errorf("by %s the next moment begins with %s", by, row)
		}
	}
	if got := b.js(`past.set("a", [[100, 101, 160], [1, 2, 3]]); remember({ at: new Date(130000).toISOString(), servers: [{ ref: "a", active: 4 }] }); JSON.stringify(past.get("a"))`); got != "[[100,101,102,130],[1,2,null,4]]" {
		t.Errorf("after the clock was set back the chart has %s", got)
	}
	if got := b.js(`(() => { const first = document.getElementById("timeline").firstElementChild; shown = structuredClone(shown);
		for (const s of shown.timeline) s.when = "23 Nov " + s.when;
		draw(); const now = document.getElementById("timeline").firstElementChild;
		return (now === first) + " " + now.textContent.includes("23 Nov"); })()`); got != "true true" {
		t.Errorf("after midnight a verdict is in the element that it was in, and names the day: %s", got)
	}
	b.js("document.getElementById('plan').scrollIntoView(); 1")
	b.shoot("plan")
	b.look(1280, 900, true)
	b.shoot("dark")
	for _, width := range []int{320, 390, 768} {
		b.look(width, 844, width == 390)
		if got := b.js("document.documentElement.scrollWidth - document.documentElement.clientWidth"); got != "0" {
			t.Errorf("at %d columns the page is %s px too wide: %s", width, got, b.js("[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + e.className + '#' + e.id).join(' ')"))
		}
		b.shoot("width-" + strconv.Itoa(width))
	}
	b.open("http://" + host + "/")
	b.until("document.querySelectorAll('#now article').length === 3") // the tab still has its token
	stop()
	b.until("document.getElementById('age').textContent.includes('LOST')")
	b.look(1280, 900, false)
	b.shoot("lost")
	b.js("document.getElementById('forget').click(); 1")
	if got := b.js("sessionStorage.length + ' ' + document.getElementById('main').hidden"); got != "0 true" {
		t.Errorf("after forgetting: %s", got)
	}
}

// harmless fails if a string of a stranger became more than text, if the token
// is where it can be found later, or if the page breaks its own policy.
func harmless(t *testing.T, b *browser, host string) {
	t.Helper()
	for expression, want := range map[string]string{
		"document.title":          "plumb watch",
		"document.images.length":  "0",
		"document.scripts.length": "2",
		"document.querySelectorAll('[style*=expression], iframe, object, embed').length": "0",
		"location.href":       "http://" + host + "/",
		"localStorage.length": "0",
		"document.cookie":     "",
		"document.documentElement.outerHTML.includes('" + token + "')":                         "false",
		"performance.getEntriesByType('resource').some(e => e.name.includes('" + token + "'))": "false",
	} {
		if got := b.js(expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	for _, p := range b.problems {
		t.Errorf("the browser complains: %s", p)
	}
}
