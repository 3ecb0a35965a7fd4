package experiment

import (
	"strings"
	"testing"
	"time"
)

func TestParseProfile(t *testing.T) {
	for _, c := range []struct {
		text, printed string
		iops, mbs     float64 // lasting, reads and writes together
		burst         float64
		lasts         time.Duration
	}{
		{"", "", 0, 0, 0, 0},
		{"gp2,size=100G", "gp2,size=100G", 300, 128, 3000, 2000 * time.Second}, // Amazon's table: 2000 s
		{"gp2,size=1G", "gp2,size=1G", 100, 128, 3000, 1862068965517},          // 1862 s
		{"gp2,size=500G", "gp2,size=500G", 1500, 250, 3000, 3600 * time.Second},
		{"gp2, size=200G, credits=1%", "gp2,size=200G,credits=1%", 600, 250, 3000, 22500 * time.Millisecond},
		{"gp2,size=1T", "gp2,size=1T", 3072, 250, 0, 0},
		{"gp2,size=16T", "gp2,size=16T", 16000, 250, 0, 0},
		{"GP3", "gp3", 3000, 125, 0, 0},
		{"gp3,mbps=250,iops=6000", "gp3,iops=6000,mbps=250", 6000, 250, 0, 0},
		{"gp3,size=160G,iops=80000,mbps=2000", "gp3,size=160G,iops=80000,mbps=2000", 80000, 2000, 0, 0},
		{"io1,iops=1000", "io1,iops=1000", 1000, 250, 0, 0},
		{"io1,iops=3000", "io1,iops=3000", 3000, 500, 0, 0},
		{"io1,iops=48000", "io1,iops=48000", 48000, 750, 0, 0},
		{"io2,iops=10000", "io2,iops=10000", 10000, 2500, 0, 0},
		{"io2,iops=100000", "io2,iops=100000", 100000, 4000, 0, 0},
		{"p15", "p15", 1100, 125e6 / MiB, 3500, 1800 * time.Second},
		{"p15,credits=0.5%", "p15,credits=0.5%", 1100, 125e6 / MiB, 3500, 9 * time.Second},
		{"p30", "p30", 5000, 200e6 / MiB, 0, 0},
		{"hdd", "hdd", 120, 150, 0, 0},
		{"gp3,dip=20s/2s/50%", "gp3,dip=20s/2s/50%", 3000, 125, 0, 0},
		{"dip=1m/500ms/12.5%, iops=800", "iops=800,dip=1m/500ms/12.5%", 800, 0, 0, 0},
		{"mbps=125,iops=3000", "iops=3000,mbps=125", 3000, 125, 0, 0},
		{"iops=0003000", "iops=3000", 3000, 0, 0, 0},
	} {
		p, err := ParseProfile(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		burst := 0.0
		if p.Burst != nil {
			burst = p.Burst.IOPS
		}
		if p.String() != c.printed || p.IOPS.Both != c.iops || p.Bytes.Both != c.mbs*MiB || burst != c.burst || p.Lasts().Round(time.Nanosecond) != c.lasts {
			t.Errorf("%s: %s, %g IOPS, %g MiB/s, burst %g for %v; %s", c.text, p, p.IOPS.Both, p.Bytes.Both/MiB, burst, p.Lasts(), p.Words())
		}
	}
	p, err := ParseProfile("riops=500,wmbps=10")
	if err != nil || p.IOPS != (Pace{Read: 500}) || p.Bytes != (Pace{Write: 10 * MiB}) || p.None() {
		t.Errorf("directions: %+v %v", p, err)
	}
}

func TestParseProfileSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"gp4":                        `"gp4"`,
		"gp2":                        "size=100G",
		"gp2,size=0":                 "size is 1G to 16T",
		"gp2,size=2T,credits=1%":     "has no credits",
		"gp2,size=100G,iops=3":       "gp2 takes size, credits and dip",
		"gp2,size=100G,credits=5":    "0% to 100%",
		"gp2,size=100G,credits=NaN%": "0% to 100%",
		"gp3,iops=100":               "3000 to 80000",
		"gp3,mbps=1000":              "at most 750",
		"gp3,size=1G,iops=3001":      "at most 3000",
		"io1":                        "io1,iops=3000",
		"io1,iops=65000":             "100 to 64000",
		"io2,size=4G,iops=5000":      "at most 4000",
		"p30,credits=1%":             "no credits",
		"hdd,rpm=7200":               "hdd takes only dip",
		"gp3,dip=20s/2s":             "such as 20s/2s/50%",
		"gp3,dip=2s/2s/50%":          "such as 20s/2s/50%",
		"gp3,dip=20s/0.1s/50%":       "at least 0.50 s",
		"gp3,dip=20s/2s/100%":        "such as 20s/2s/50%",
		"gp3,dip=20s/2s/NaN%":        "such as 20s/2s/50%",
		"gp3,dip=20s/-2s/5%":         "such as 20s/2s/50%",
		"riops=5,dip=20s/2s/50%":     "reads and writes together",
		"iops=3000,riops=5":          "one or the other",
		"iops=":                      "no value",
		"iops=1,iops=2":              "twice",
		"iops=-1":                    "1 to",
		"iops=1e400":                 "1 to",
		"iops=3000,gp3":              "word=value",
		"speed=3":                    `"speed"`,
		strings.Repeat("x", 300):     "at most 200",
		",":                          "no volume",
	} {
		if p, err := ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, %+v; want %s", text, err, p, want)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{"gp2,size=100G,credits=1%", "gp3,iops=6000,mbps=250", "io2,iops=10000", "p15", "hdd", "iops=3000,mbps=125", "riops=5,wmbps=2", "io1,size=4.5G,iops=200"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProfile(s)
		if err != nil {
			return
		}
		again, err := ParseProfile(p.String())
		if err != nil || again.String() != p.String() || again.IOPS != p.IOPS || again.Bytes != p.Bytes || again.Lasts() != p.Lasts() {
			t.Fatalf("%q prints as %q, which reads as %+v, %v", s, p, again, err)
		}
		if p.None() != (strings.TrimSpace(s) == "") || p.Words() == "" {
			t.Fatalf("%q: %+v", s, p)
		}
	})
}
