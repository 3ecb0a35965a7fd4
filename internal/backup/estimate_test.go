package backup

import (
	"testing"

	"plumb/internal/backup/manifest"
)

// A run says how much there will be, about, where all that it starts say so. Once more has come, what is left is not known.
func TestEstimated(t *testing.T) {
	const told = "of the point"
	for line, total := range map[string]int64{
		`printf 'full\ttank/db@p\t1\nsize\t400000\n'`:    400_000,
		`printf 'incremental\ta\tb\t1\nsize\t100000\n'`:  100_000,
		`printf 'size\t100000\n'; exit 1`:                0,
		`echo 'total estimated size is 390K'`:            0,
		`printf 'size\t-5\n'`:                            0,
		`printf 'size\t99999999999999999999999999999\n'`: 0,
		`echo "it does not know -P" >&2; exit 2`:         0,
		`printf 'full\ttank/db@p\t400000\nsize\tmany\n'`: 0,
	} {
		w := newWorld(t)
		w.Workers = 1
		var heard heard
		w.Doing = heard.hear
		j := command("seq 60000") // 348,894 bytes
		j.Sources[0].Estimate = []string{"sh", "-c", line}
		j.Sources = append(j.Sources, Source{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: []byte(told)})
		res, err := w.Run(t.Context(), j)
		if err != nil || res.Streams[0].Bytes != 348_894 {
			t.Fatalf("%q: %+v, %v", line, res, err)
		}
		if total > 0 {
			total += int64(len(told))
		}
		for _, p := range heard {
			want := total
			if p.Bytes >= total {
				want = 0
			}
			if p.Total != want || p.About != (want > 0) {
				t.Errorf("%q: %+v, and the total should be %d", line, p, want)
			}
		}
		if len(heard) != 7 {
			t.Errorf("%q: %d times", line, len(heard))
		}
	}
}
