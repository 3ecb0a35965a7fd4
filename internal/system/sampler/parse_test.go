package sampler

import (
	"maps"
	"testing"
)

var words = map[string]string{"Read": "reads", "Write": "writes"}

func TestParseNested(t *testing.T) {
	out := perDevice{}
	parseNested([]byte("8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max\nbad rbps=1\n"), map[string]string{"rbps": "read_bytes_limit", "wiops": "write_iops_limit", "wbps": "write_bytes_limit"}, out)
	if want := map[string]float64{"read_bytes_limit": 2097152, "write_iops_limit": 120}; len(out) != 1 || !maps.Equal(out["8:16"], want) {
		t.Errorf("%v", out)
	}
}

func TestParseThrottle(t *testing.T) {
	out := perDevice{}
	parseThrottle([]byte("7:6 Read 996\n7:6 Write 698\n7:6 Sync 1718\n7:6 Total 1718\nTotal 1718\n"), words, out)
	if want := map[string]float64{"reads": 996, "writes": 698}; len(out) != 1 || !maps.Equal(out["7:6"], want) {
		t.Errorf("%v", out)
	}
	out = perDevice{}
	parseThrottle([]byte("7:6 50\n7:7 18446744073709551615\n"), map[string]string{"": "read_iops_limit"}, out)
	if len(out) != 1 || out["7:6"]["read_iops_limit"] != 50 {
		t.Errorf("%v; the largest number is no limit", out)
	}
}

func FuzzParseDevices(f *testing.F) {
	for _, seed := range []string{"8:16 rbps=1 wbps=max\n", "7:6 Read 996\nTotal 3\n", "7:6 50\n", ": =\n", "8:16 =1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := perDevice{}
		parseNested(data, map[string]string{"rbps": "read_bytes_limit"}, out)
		parseThrottle(data, words, out)
		for dev, values := range out {
			for name, n := range values {
				if name == "" || !isNumbers(dev) || n < 0 {
					t.Errorf("%q: %q is %g", dev, name, n)
				}
			}
		}
	})
}

func FuzzComm(f *testing.F) {
	f.Add([]byte("17 (a)\n(b) S"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range comm(data) {
			if r < ' ' || r > '~' {
				t.Errorf("%q is shown of %q", r, data)
			}
		}
	})
}
