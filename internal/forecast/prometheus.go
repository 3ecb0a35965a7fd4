package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
)

const (
	mostSeries = 500 // of one answer
	mostLabels = 200 // characters that a series is called by
)

// Answer is one series of an answer of Prometheus.
type Answer struct {
	Of   string // its labels without the name: "db1:9100 /var/lib/mysql"
	Days []Day
}

// ParseMatrix reads what the HTTP API answers to query_range.
func ParseMatrix(text []byte) ([]Answer, error) {
	var doc struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Values [][2]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, hint.With(errors.New("this is not an answer of Prometheus"), "use the address of its HTTP API, without /api/v1")
	}
	if doc.Status != "success" {
		return nil, fmt.Errorf("it answers: %s", Clip(doc.Error))
	}
	if doc.Data.ResultType != "matrix" {
		return nil, hint.With(fmt.Errorf("the query gives a %s", Clip(doc.Data.ResultType)), "use an instant vector, such as node_filesystem_size_bytes - node_filesystem_free_bytes")
	}
	if n := len(doc.Data.Result); n > mostSeries {
		return nil, hint.With(fmt.Errorf("the query returns %d series, and the maximum is %d", n, mostSeries), "ask for fewer: node_filesystem_…{instance=\"db1:9100\"}")
	}
	var all []Answer
	alike := map[string]int{}
	for _, r := range doc.Data.Result {
		alike[called(r.Metric, false)]++
	}
	for _, r := range doc.Data.Result {
		a := Answer{Of: called(r.Metric, false)}
		if alike[a.Of] > 1 {
			a.Of = called(r.Metric, true)
		}
		for _, pair := range r.Values {
			d, err := sampleOf(pair)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.Of, err)
			}
			a.Days = append(a.Days, d)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Answer) int { return strings.Compare(a.Of, b.Of) })
	return all, nil
}

// ParseRetention reads from what the HTTP API tells of the process for how long, or
// how many bytes, it keeps what it scraped: "15d", "30d or 10GiB". It is "" where
// that is not told, as other engines that answer the same queries do not.
func ParseRetention(text []byte) string {
	var doc struct {
		Status string
		Data   struct {
			StorageRetention string
		}
	}
	if json.Unmarshal(text, &doc) != nil || doc.Status != "success" {
		return ""
	}
	return Clip(doc.Data.StorageRetention)
}

func sampleOf(pair [2]json.RawMessage) (Day, error) {
	var at float64
	var text string
	if json.Unmarshal(pair[0], &at) != nil || json.Unmarshal(pair[1], &text) != nil {
		return Day{}, errors.New("a sample is not a time and a value")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(at >= 0 && at < 7e9) {
		return Day{}, fmt.Errorf("%q is not a value, or its time is not one", Clip(text))
	}
	if v < 0 { // a difference of two series that were not read at the same moment
		v = math.NaN()
	}
	return Day{time.Unix(int64(at), 0).UTC(), v}, nil
}

// called names a series by the labels that tell it from others: the instance
// and the mount point first, as people do. Where two would be called alike, all labels are told.
func called(labels map[string]string, whole bool) string {
	var words []string
	for _, k := range []string{"instance", "mountpoint"} {
		if v := labels[k]; v != "" {
			words = append(words, v)
		}
	}
	told := []string{"__name__", "instance", "mountpoint"}
	if !whole {
		told = append(told, "job")
	}
	if len(words) < 2 || whole {
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			if !slices.Contains(told, k) {
				words = append(words, k+"="+labels[k])
			}
		}
	}
	name := strings.Join(words, " ")
	if name == "" {
		name = "the series"
	}
	if len(name) > mostLabels {
		name = name[:mostLabels]
	}
	return strings.ToValidUTF8(name, "?")
}
