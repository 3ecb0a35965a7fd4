package rehearse

import (
	"testing"
	"time"

	"plumb/internal/lab/experiment"
)

func TestLook(t *testing.T) {
	for name, l := range map[string]Observation{
		"directory": {Engine: "postgres", Version: "17", Memory: 1 << 30, Data: 512 << 20, Time: time.Minute, Seed: 7},
		"volume":    {Engine: "mariadb", Memory: 2 << 30, Data: 1 << 30, Time: 20 * time.Second, Want: Want{Workload: experiment.TPCC, Threads: 4, Volume: "iops=200,mbps=100"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Observe(l)
			if err != nil {
				t.Fatal(err)
			}
			x := s.Experiment
			u := x.Arms[0].Setup
			if len(x.Arms) != 1 || x.Least != 1 || x.Most != 1 || x.Measure != l.Time || !x.Unsteady || x.Seed != l.Seed {
				t.Errorf("%s", s.Text)
			}
			if u.Server.Engine != l.Engine || u.Server.Version != l.Version || u.Server.Memory != l.Memory || len(u.Server.Settings) > 0 || u.Volume.Profile != l.Want.Volume {
				t.Errorf("%s", s.Text)
			}
			if n := experiment.DataBytes(u); n < int64(l.Data)*3/4 || n > int64(l.Data)*5/4+150<<20 {
				t.Errorf("data of %s for %s", experiment.Bytes(n), l.Data)
			}
			if u.Volume.Size > 0 && int64(u.Volume.Size) < 5*experiment.DataBytes(u)/2 {
				t.Errorf("a volume of %s for data of %s", u.Volume.Size, experiment.Bytes(experiment.DataBytes(u)))
			}
		})
	}
}
