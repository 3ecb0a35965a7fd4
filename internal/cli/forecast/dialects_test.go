package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
)

// asked forecasts what a text says.
func asked(t *testing.T, text string) ([]space.Result, error) {
	t.Helper()
	f := spaceFlags{source: source{csv: "-"}, at: "+30d"}
	all, _, err := f.read(t.Context(), strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return f.forecast(all)
}

// written is a file of some days of which the values are given: each in its row, below a header.
func written(header string, values []float64, row func(day time.Time, v float64) string) string {
	text := header + "\n"
	for i, v := range values {
		text += row(time.Date(2024, 3, 1+i, 0, 0, 0, 0, time.UTC), v) + "\n"
	}
	return text
}

// growth is what a store took on some days, in whole KiB: with weekdays, bursts, and a removal.
func growth(days int) (values []float64) {
	r := rand.New(rand.NewPCG(19, 85))
	level := 5e9
	for day := range days {
		level += 3e6 * r.ExpFloat64() * float64(1+day%7/2)
		if day%97 == 50 {
			level -= 2e8
		}
		values = append(values, 1024*math.Floor(level/1024))
	}
	return values
}

func plain(day time.Time, v float64) string {
	return fmt.Sprintf("%s,%.0f", day.Format(time.DateOnly), v)
}

func quantilesOf(t *testing.T, name string, results []space.Result, err error) forecast.Quantiles {
	t.Helper()
	if err != nil || results[0].Refusal != nil {
		t.Fatalf("%s: %v, %+v", name, err, results)
	}
	p := results[0].Points
	return p[len(p)-1].Value
}

// TestTheSameInEveryDialect: however a file writes the same days, the forecast is the same.
func TestTheSameInEveryDialect(t *testing.T) {
	values := growth(200)
	base := written("date,used_bytes", values, plain)
	results, err := asked(t, base)
	want, last := quantilesOf(t, "plain", results, err), results[0].Made
	lines := strings.SplitAfter(strings.TrimSuffix(base, "\n"), "\n")
	shuffled := slices.Clone(lines[1:])
	shuffled[len(shuffled)-1] += "\n"
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	number := func(form string, scale float64) func(time.Time, float64) string {
		return func(day time.Time, v float64) string { return fmt.Sprintf(form, day.Format(time.DateOnly), v/scale) }
	}
	stamp := func(each time.Duration) func(time.Time, float64) string {
		return func(day time.Time, v float64) string { return fmt.Sprintf("%d,%.0f", day.UnixNano()/int64(each), v) }
	}
	for name, text := range map[string]string{
		"with a mark and CRLF":       "\ufeff" + strings.ReplaceAll(base, "\n", "\r\n"),
		"CR alone":                   strings.ReplaceAll(base, "\n", "\r"),
		"blank lines":                strings.ReplaceAll(base, "\n", "\n\n  \n"),
		"unsorted":                   lines[0] + strings.Join(shuffled, ""),
		"each row twice":             base + strings.Join(shuffled, ""),
		"two files":                  base + base,
		"no header":                  strings.TrimPrefix(base, "date,used_bytes\n"),
		"semicolons, decimal commas": strings.ReplaceAll(written("Date;Used (KiB)", values, number("%s;%.1f", 1024)), ".", ","),
		"exponents":                  written("day,value", values, number("%s,%.9e", 1)),
		"units in cells":             written("date,used", values, number("%s,%.0f KiB", 1024)),
		"units in words":             written("Date,Used Kilobytes", values, number("%s,%.3f", 1000)),
		"groups":                     written("date|used", values, func(day time.Time, v float64) string { return day.Format("2006/01/02") + "|" + grouped(v) }),
		"seconds":                    written("epoch,used", values, stamp(time.Second)),
		"milliseconds":               written("timestamp,used", values, stamp(time.Millisecond)),
		"nanoseconds":                written("time,used", values, stamp(time.Nanosecond)),
		"times with a zone": written("timestamp,used", values, func(day time.Time, v float64) string {
			return fmt.Sprintf("%s,%.0f", day.Add(22*time.Hour).In(time.FixedZone("", -18000)).Format(time.RFC3339), v)
		}),
		"midnights in London": written("timestamp,used", values, london),
		"the day first": written("date,used", values, func(day time.Time, v float64) string {
			return fmt.Sprintf("%s,%.0f", day.Format("02.01.2006 15:04"), v)
		}),
		"hourly, the last one counts": written("time,used", values, hourly),
		"among other columns": written("id,host,date,files,used_bytes,inodes,comment", values, func(day time.Time, v float64) string {
			return fmt.Sprintf("7,db1,%s,12,%.0f,9,\"a, b\"", day.Format(time.DateOnly), v)
		}),
		"with rows of unknown":         written("date,used", values, func(day time.Time, v float64) string { return plain(day, v) + "\n" + day.Format(time.DateOnly) + ",NA" }),
		"first of several owners":      written("date,owner,used", values, owners),
		"with what is free of its own": written("date,used,free", values, func(day time.Time, v float64) string { return fmt.Sprintf("%s,%.0f", plain(day, v), 1e12-v) }),
	} {
		results, err := asked(t, text)
		q := quantilesOf(t, name, results, err)
		if made := results[0].Made; !made.Equal(last) {
			t.Errorf("%s: it ends on %s, want %s", name, made, last)
		}
		for i, v := range q {
			if math.Abs(v-want[i]) > 1e-6*want[i] {
				t.Errorf("%s: %.0f, want %.0f", name, v, want[i])
			}
		}
	}
}

func hourly(day time.Time, v float64) string {
	var rows []string
	for hour := range 24 {
		rows = append(rows, fmt.Sprintf("%s,%.0f", day.Add(time.Duration(hour)*time.Hour).Format(time.DateTime), v-1e6*float64(23-hour)))
	}
	return strings.Join(rows, "\n")
}

// london writes the midnight of a day there, which in summer is still of the day before by UTC.
func london(day time.Time, v float64) string {
	offset := "+00:00"
	if month := day.Format("01-02"); month >= "03-31" && month < "10-27" {
		offset = "+01:00"
	}
	return fmt.Sprintf("%sT00:00:00%s,%.0f", day.Format(time.DateOnly), offset, v)
}

func owners(day time.Time, v float64) string {
	date := day.Format(time.DateOnly)
	return fmt.Sprintf("%s,data,%.0f\n%s,binlog,%d", date, v, date, 4<<30)
}

// grouped writes 1234567 as 1,234,567.
func grouped(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestRangesOfEveryShape: quantiles never fall and are never less than nothing; where they have no width, that is doubted.
func TestRangesOfEveryShape(t *testing.T) {
	shape := func(days int, at func(day int) float64) (values []float64) {
		for day := range days {
			values = append(values, at(day))
		}
		return values
	}
	walk := growth(5000)
	for name, values := range map[string][]float64{
		"5000 days":          walk,
		"15 days":            walk[:15],
		"a removal of half":  slices.Concat(walk[:200], shape(200, func(day int) float64 { return walk[200+day] / 2 })),
		"a removal at last":  slices.Concat(walk[:399], []float64{walk[399] / 10}),
		"nothing at first":   slices.Concat(make([]float64, 60), walk[:340]),
		"a reading of 0":     slices.Concat(walk[:100], []float64{0}, walk[100:399]),
		"falling":            shape(400, func(day int) float64 { return walk[399-day] - walk[0] + 1e9 }),
		"never changed":      shape(400, func(int) float64 { return 1e9 }),
		"one step long ago":  shape(400, func(day int) float64 { return 1e9 + float64(min(1, day/20))*1e8 }),
		"a few bytes":        shape(400, func(day int) float64 { return float64(day / 9) }),
		"most there can be":  shape(400, func(day int) float64 { return 8e18 + 1e15*float64(day%50) }),
		"emptied each month": shape(400, func(day int) float64 { return 1e6 + 1e9*float64(day%30) }),
	} {
		results, err := asked(t, written("date,used_bytes", values, plain))
		q := quantilesOf(t, name, results, err)
		for _, p := range results[0].Points {
			if v := p.Value; !slices.IsSorted(v[:]) || !(v[0] >= 0) || math.IsInf(v[4], 0) || math.IsNaN(v[4]) {
				t.Errorf("%s: %v on %s", name, v, p.Date)
			}
		}
		doubted := slices.ContainsFunc(results[0].Assumptions, func(a string) bool { return strings.HasSuffix(a, "the ranges have no width") })
		if narrow := q[4]-q[0] < 1; narrow != doubted {
			t.Errorf("%s: %v; that it has no width is said: %t", name, q, doubted)
		}
	}
}

// TestWhatCannotBeReadSaysWhere: the line, and what to do.
func TestWhatCannotBeReadSaysWhere(t *testing.T) {
	base := written("date,used_bytes", growth(60), plain)
	for row, want := range map[string]string{
		"2027-01-01,-5": `line 62: "-5" is not a number of bytes`, "Total,12345": `line 62: "Total" is not a date`, "2027-02-30,5": `line 62: "2027-02-30" is not a date`,
		"2027-01-01": "line 62: it is too short", "2027-01-01,5,6": "line 62: it has more columns than the header", "2027-01-01,five": `line 62: "five" is not a number of bytes`,
		"2027-01-01,1e400": `line 62: "1e400" is not a number of bytes`, "2027-01-01,\"5": "line 62", "2027-01-01,5 parsecs": `line 62: "5 parsecs" is not a number of bytes`,
	} {
		_, err := asked(t, base+row+"\n")
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", row, err, hint.Of(err))
		}
	}
}
