package volume

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
)

func TestCreateDataset(t *testing.T) {
	name := datasetName("tank/db", "run/../7 x", "v1")
	got := strings.Join(createDataset(name, "run7", map[string]string{"recordsize": "16K", "atime": "off"}), " ")
	want := "zfs create -o org.plumb:run=run7 -o com.sun:auto-snapshot=false -o mountpoint=none -o atime=off -o recordsize=16K tank/db/plumb-lab-run7x-v1"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestDatasetWords(t *testing.T) {
	for _, c := range []struct {
		v    experiment.Volume
		says string
	}{
		{experiment.Volume{}, "that is not a dataset"},
		{experiment.Volume{Parent: "-r"}, "that is not a dataset"},
		{experiment.Volume{Parent: "tank@today"}, "that is not a dataset"},
		{experiment.Volume{Parent: "/tank"}, "that is not a dataset"},
		{experiment.Volume{Parent: "tank", Profile: "gp3"}, "cannot be limited"},
		{experiment.Volume{Parent: "tank", Vdevs: 2}, "no size, devices or pool"},
		{experiment.Volume{Parent: "tank", Pool: map[string]string{"ashift": "12"}}, "no size, devices or pool"},
		{experiment.Volume{Parent: "tank", Properties: map[string]string{"mountpoint": "/etc"}}, "not for an experiment to set"},
		{experiment.Volume{Parent: "tank", Properties: map[string]string{"org.plumb:run": "mine"}}, "not for an experiment to set"},
		{experiment.Volume{Parent: "tank", Properties: map[string]string{"dedup": "on"}}, "affect what others have"},
		{experiment.Volume{Parent: "tank", Clone: "reflink"}, "cannot be done on a dataset"},
	} {
		if err := checkDatasetWords(c.v); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.v, err, c.says)
		}
	}
	if err := checkDatasetWords(experiment.Volume{Parent: "tank/db", Clone: "copy", Properties: map[string]string{"recordsize": "16K", "dedup": "off"}}); err != nil {
		t.Error(err)
	}
}

// parentText is what OpenZFS says of a dataset, as far as it matters here.
const parentText = "type\tfilesystem\navailable\t1073741824\nreadonly\toff\nkeystatus\tavailable\n"

func TestCheckDataset(t *testing.T) {
	programs := map[string]host.Stat{"/usr/sbin/zfs": {}, "/usr/sbin/zpool": {}, "/sys/module/zfs": {}}
	for name, c := range map[string]struct {
		text string
		err  error
		says string
	}{
		"sound":         {text: parentText},
		"old":           {text: "type\tfilesystem\navailable\t1073741824\nreadonly\toff\n"},
		"a volume":      {text: strings.Replace(parentText, "filesystem", "volume", 1), says: "it is a volume"},
		"locked":        {text: strings.Replace(parentText, "keystatus\tavailable", "keystatus\tunavailable", 1), says: "its key is not loaded"},
		"read-only":     {text: strings.Replace(parentText, "readonly\toff", "readonly\ton", 1), says: "it is read-only"},
		"not there":     {err: errors.New("cannot open 'tank/db': dataset does not exist"), says: "does not exist"},
		"says nothing":  {text: "type\tfilesystem\n", says: "does not tell how much"},
		"not even that": {says: "only a filesystem"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Map{Who: host.About{Root: true}, Stats: programs, Errors: map[string]error{}, Outputs: map[string]string{}}
			const ask = "zfs get -Hp -o property,value all tank/db"
			if h.Outputs[ask] = c.text; c.err != nil {
				h.Errors["run "+ask] = c.err
			}
			need, err := checkDataset(t.Context(), h, experiment.Volume{Kind: experiment.Dataset, Parent: "tank/db"})
			if c.says == "" {
				if err != nil || need.Room != 1<<30 || need.Place != "tank/db" || !need.Root {
					t.Errorf("%+v, %v", need, err)
				}
				return
			}
			if help := hint.Hinted(nil); err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, &help) && name != "says nothing" {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestDatasetNeedsRoot(t *testing.T) {
	_, err := checkDataset(t.Context(), hosttest.Map{}, experiment.Volume{Kind: experiment.Dataset, Parent: "tank"})
	if help := hint.Hinted(nil); err == nil || !errors.As(err, &help) || !strings.Contains(err.Error(), "needs root") {
		t.Error(err)
	}
}
