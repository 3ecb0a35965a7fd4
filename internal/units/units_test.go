package units

import (
	"math"
	"testing"
	"time"

	"plumb/internal/stats"
)

func TestSize(t *testing.T) {
	for n, want := range map[float64]string{0: "0 bytes", 16384.9: "16K", 1 << 62: "4E", 7 << 60: "7E", 1 << 64: "16.0E", 1.8e19: "15.6E"} {
		if got := Size(n); got != want {
			t.Errorf("%g: %s, want %s", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for want, n := range map[string]int64{
		"0 bytes": 0, "512 bytes": 512, "16K": 16 << 10, "16385 bytes": 16385, "1.5G": 3 << 29, "1100M": 1100 << 20, "1G": 1 << 30, "-16K": -16 << 10, "8E": math.MaxInt64, "-8E": math.MinInt64,
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for want, n := range map[string]float64{"0 bytes": 0, "512 bytes": 512, "0.98K": 1000, "12.3K": 12600, "1.00M": 1 << 20, "150M": 150 << 20} {
		if got := Measured(n); got != want {
			t.Errorf("%g is about %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 16384: "16K", 16385: "16385", 1 << 50: "1024T"} {
		if got := Typed(n, "", "K", "M", "G", "T"); got != want {
			t.Errorf("%d is typed %s, want %s", n, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{20 * time.Minute: "20m", 10 * time.Second: "10s", time.Hour: "1h", 90 * time.Second: "1m30s", 0: "0s"} {
		if got := Short(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0ns", 850: "850ns", 12345: "12.3µs", 999499: "999µs", 999500: "1.00ms", 4560 * time.Microsecond: "4.56ms", 95 * time.Second: "95.0s", 725 * time.Second: "12m5s", 20 * time.Minute: "20m"} {
		if got := Latency(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	for got, want := range map[string]string{
		Span(2 * time.Second): "2 s", Span(350 * time.Millisecond): "0.35 s", Span(1200 * time.Microsecond): "1.20 ms", Span(150 * time.Second): "2m30s", Span(20 * time.Minute): "20m",
		Planned(40*time.Second + 1): "40s", Planned(12*time.Minute + time.Second): "12m", Planned(200 * time.Minute): "3h20m",
		Time(5e6): "5 s", Time(600e6): "10 min", Time(250e3): "250 ms", Time(500): "500 µs", Time(0): "0 s", Age(119): "119 s", Age(67 * 60): "67 min", Age(18 * 3600): "18 h", Age(3 * 86400): "3 days",
		Spaced(1.234): "1.23 ms", Spaced(725e3): "12m5s", Spaced(math.NaN()): "–", Milliseconds(0.5): "500µs", Tick(10_000): "10 s", Tick(0.5): "500 µs",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestMoments(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 12, 5, 250e6, time.FixedZone("", 3600))
	for got, want := range map[string]string{Moment(at): "2026-11-25 03:12:05 UTC", Minute(at): "2026-11-25 03:12 UTC", Instant(at): "2026-11-25 03:12:05.250 UTC"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestParts(t *testing.T) {
	for got, want := range map[string]string{
		Percent(0.005): "0.5 %", Percent(0.12): "12 %", Percent(0): "0 %", PercentDigits(0): "0", PercentDigits(-0.0052): "0.52", PercentDigits(0.31): "31",
		RoundPercent(0.025): "2.5 %", Signed(-0.31): "−31 %", Signed(11): "×12.0", Signed(0): "0 %",
		Differs(stats.Estimate{Value: -0.31, Low: -0.40, High: -0.22, N: 8}):    "−31 % (−40 to −22 %)",
		Differs(stats.Estimate{Value: 0.002, Low: -0.0031, High: 0.0071, N: 8}): "+0.20 % (−0.31 to +0.71 %)",
		Differs(stats.Estimate{}):                   "–",
		Differs(stats.Estimate{Value: 0.052, N: 1}): "+5.2 %",
		PerSecond(12345.6):                          "12,346", PerSecond(3e25): "3e+25", PerSecond(1e14): "100,000,000,000,000", PerSecond(12.34): "12.3", Grouped(-1234567): "-1,234,567", Count(1, "step"): "1 step", Count(2, "step"): "2 steps",
		Some([]string{"a", "b", "c"}, 2): "a, b, c", Some([]string{"a", "b", "c", "d"}, 2): "a, b and 2 others", Some(nil, 2): "",
		Start("größer", 3): "grö…", Start("größer", 6): "größer", Start("", 0): "", Start("x", 0): "…",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "16384": 16384, "16K": 16 << 10, "16k": 16 << 10, "1.5G": 3 << 29, "2P": 2 << 50,
		"9007199254740993":    9007199254740993, // which no float64 holds
		"9223372036854775807": math.MaxInt64, "99999999999999999999": math.MaxInt64, "8E": math.MaxInt64, "7E": 7 << 60,
	} {
		if got, ok := ParseBytes(text); !ok || got != want {
			t.Errorf("%q is %d, %v: want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "K", ".", "1.2.3", "-1", "+1", "1e3", "0x10", "NaN", "Inf", "1GB", "1GiB", "1 G", "1_000"} {
		if got, ok := ParseBytes(text); ok {
			t.Errorf("%q is %d, and not refused", text, got)
		}
	}
	for _, n := range []int64{1, 4096, 16 << 10, 1100 << 20, 3 << 40} {
		if got, ok := ParseBytes(Typed(n, "", "K", "M", "G", "T")); !ok || got != n {
			t.Errorf("%d is typed, and read as %d, %v", n, got, ok)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"16384", "16K", "1.5g", "8E", "1GB", "9e99", ".", "99999999999999999999T"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := ParseBytes(text); n < 0 || !ok && n != 0 {
			t.Errorf("%q is %d, %v", text, n, ok)
		}
	})
}

func TestEnds(t *testing.T) {
	for most, want := range map[int][2]string{0: {"…", "…"}, 2: {"aä…", "…€z"}, 3: {"aä€…", "…ä€z"}, 4: {"aä€z", "aä€z"}, 9: {"aä€z", "aä€z"}} {
		if start, end := Start("aä€z", most), End("aä€z", most); start != want[0] || end != want[1] {
			t.Errorf("%d: %q, %q", most, start, end)
		}
	}
}
