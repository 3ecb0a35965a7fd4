package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// What node_exporter tells of filesystems: as df counts, what root keeps back
// is not there to be used.
const (
	places  = `{fstype!~"tmpfs|ramfs|overlay|squashfs|iso9660|fuse.lxcfs"}`
	usedBy  = `node_filesystem_size_bytes` + places + ` - node_filesystem_free_bytes` + places
	able    = usedBy + ` + node_filesystem_avail_bytes` + places
	ago     = 730 * 24 * time.Hour
	patient = 60 * time.Second
	mostAPI = 64 << 20
)

func (f source) fromPrometheus(ctx context.Context, now time.Time) ([]known, error) {
	query := f.query
	if query == "" {
		query = usedBy
	}
	used, err := f.ask(ctx, query, now)
	if err != nil {
		return nil, err
	}
	limits := map[string][]forecast.Day{}
	if f.query == "" {
		able, err := f.ask(ctx, able, now)
		if err != nil {
			return nil, err
		}
		for _, a := range able {
			limits[a.Of] = forecast.Daily(forecast.Quantity{}, a.Days).Days
		}
	} else if err := areBytes(used); err != nil {
		return nil, err
	}
	keeps := ""
	if kept := f.keeps(ctx); kept != "" {
		keeps = "this Prometheus keeps " + kept + " of the past (--storage.tsdb.retention.time and .size): it has nothing from before"
	}
	var all []known
	for _, a := range used {
		k := known{keeps: keeps, series: forecast.Daily(forecast.Quantity{Of: a.Of, Name: "used", Unit: "bytes"}, a.Days)}
		k.noNumbers(a.Days)
		k.within(limits[a.Of])
		all = append(all, k)
	}
	return all, nil
}

// areBytes is an error if no value is more than a hundred: those are ratios or percentages, not bytes.
func areBytes(all []forecast.Answer) error {
	most := 0.0
	for _, a := range all {
		for _, d := range a.Days {
			if d.Value > most { // false for NaN
				most = d.Value
			}
		}
	}
	if most == 0 || most > 100 {
		return nil
	}
	return hint.With(fmt.Errorf("the query returns at most %g, which cannot be bytes used on a disk", most), "use bytes, such as node_filesystem_size_bytes - node_filesystem_free_bytes, not a ratio or a percentage")
}

// noNumbers notes how many samples are not a number of bytes. If all are not, nothing is forecast.
func (k *known) noNumbers(samples []forecast.Day) {
	n := 0
	for _, d := range samples {
		if math.IsNaN(d.Value) || math.IsInf(d.Value, 0) {
			n++
		}
	}
	switch {
	case n == 0:
	case n == len(samples):
		k.nothing = &forecast.Refusal{Why: fmt.Sprintf("Prometheus has %s for it, but none is a number of bytes: they are NaN, infinite or less than 0", units.Count(n, "sample")),
			Measure: "look at the query in Prometheus itself, and fix what exports it; a forecast takes 14 days"}
	default:
		k.read = append(k.read, fmt.Sprintf("NaN, infinite or less than 0, which counts as unknown: %d of %s", n, units.Count(len(samples), "sample")))
	}
}

// within notes the last limit, and the days on which the limit was reached.
func (k *known) within(sizes []forecast.Day) {
	of := map[time.Time]float64{}
	for _, d := range sizes {
		if of[d.Date] = d.Value; d.Value == 0 {
			continue
		}
		k.limit = &space.Limit{Bytes: d.Value, Why: "what is in use and available; what root keeps back is not"}
	}
	for _, d := range k.series.Days {
		if forecast.IsFull(d.Value, of[d.Date]) {
			k.full = append(k.full, d.Date)
		}
	}
}

// ask asks for a value a day. The address may hold a password, and no message
// repeats it.
func (f source) ask(ctx context.Context, query string, now time.Time) ([]forecast.Answer, error) {
	u, err := f.api("query_range")
	if err != nil {
		return nil, err
	}
	where := u.Host
	u.RawQuery = url.Values{"query": {query}, "step": {"86400"}, "start": {strconv.FormatInt(now.Add(-ago).Unix(), 10)}, "end": {strconv.FormatInt(now.Unix(), 10)}}.Encode()
	text, err := get(ctx, u)
	if err != nil {
		return nil, hint.With(fmt.Errorf("ask Prometheus at %s: %w", where, err), cmp.Or(hint.Of(err), "is it running, and may this machine query it?"))
	}
	all, err := forecast.ParseMatrix(text)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus at %s: %w", where, err)
	}
	return all, nil
}

// api returns the URL of a part of the HTTP API.
func (f source) api(part string) (*url.URL, error) {
	u, err := url.Parse(f.prometheus)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Usage("--prometheus is not an address", "use one such as http://127.0.0.1:9090")
	}
	return u.JoinPath("api/v1", part), nil
}

// keeps says how much of the past the server keeps; "" if it does not say.
func (f source) keeps(ctx context.Context) string {
	u, err := f.api("status/runtimeinfo")
	if err != nil {
		return ""
	}
	text, err := get(ctx, u)
	if err != nil {
		return "" // a server that does not answer this can still answer queries
	}
	return forecast.ParseRetention(text)
}

func get(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the address cannot be queried")
	}
	// A redirection could send the password to another address.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may have a password
		}
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAPI+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > mostAPI:
		return nil, hint.With(fmt.Errorf("the answer has more than %s", units.Bytes(mostAPI)), "ask for fewer series: --query 'node_filesystem_…{instance=\"db1:9100\"}'")
	case resp.StatusCode >= 300 && !strings.HasPrefix(string(text), "{"):
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	return text, nil
}
