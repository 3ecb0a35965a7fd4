package forecast

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stats"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
	"plumb/knowledge"
)

// volumeFlags are the flags of forecast volume.
type volumeFlags struct {
	recording
	device     string
	size       value.Size
	iops       float64
	throughput value.Size
	io         value.Size
	steady     float64
	lasts      time.Duration
	instance   string
	cloud      []string
	json       bool
}

func volumeCommand(s *shell.Shell) *cobra.Command {
	var f volumeFlags
	c := &cobra.Command{
		Use:   "volume",
		Short: "say which cloud volume carries a load, and what it costs",
		Long: `Volume compares the volumes of cloud providers for a load, the cheapest first. It
considers the limits of the volume and of the instance, the share of the time for
which they are promised, and burst credits, which are spent while the load exceeds
the baseline. Limits and prices come with the program, each with its date and
source; prices older than a year are flagged, and a volume without a known price is
listed but not ranked.

The load is that of a device in a recording of plumb watch, or given by flags.

` + modelExits,
		Example: `  plumb forecast volume --size 1T --iops 2700 --io 16K
  plumb forecast volume --size 500G --device nvme1n1
  plumb forecast volume --size 1T --iops 20000 --io 16K --steady 0.999 --instance m6i.8xlarge`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVolume(c.Context(), s, f) },
	}
	f.recording.flag(c)
	fl := c.Flags()
	fl.StringVar(&f.device, "device", "", "take the load of the device with this `NAME` from the recording")
	fl.Var(&f.size, "size", "required `SIZE`")
	fl.Float64Var(&f.iops, "iops", 0, "I/Os a second at the peak")
	fl.Var(&f.throughput, "throughput", "`SIZE` read and written per second at the peak; default: --iops times --io")
	fl.Var(&f.io, "io", "mean `SIZE` of an I/O; default: --throughput divided by --iops")
	fl.Float64Var(&f.steady, "steady", 0, "only volumes whose performance is promised for this `PART` of the time, such as 0.999")
	fl.DurationVar(&f.lasts, "lasts", 0, "duration of the peak; default: unlimited")
	fl.StringVar(&f.instance, "instance", "", "apply the limits of this instance `TYPE` too")
	fl.StringSliceVar(&f.cloud, "cloud", nil, "compare the volumes in `FILE` instead of the built-in ones")
	shell.JSONFlag(c, &f.json, "")
	return c
}

func runVolume(ctx context.Context, s *shell.Shell, f volumeFlags) error {
	if f.device != "" && (f.iops > 0 || f.throughput > 0) {
		return hint.Usage("--device and --iops cannot be combined", "give one of them")
	}
	switch {
	case !(f.steady >= 0 && f.steady < 1):
		return hint.Usage(fmt.Sprintf("--steady %g is not a share of the time", f.steady), "above 0 and below 1, such as --steady 0.999")
	case !(f.iops >= 0 && f.iops <= 1e9):
		return hint.Usage(fmt.Sprintf("--iops %g is out of range", f.iops), "such as --iops 3000")
	case f.lasts < 0:
		return hint.Usage(fmt.Sprintf("--lasts %s is out of range", units.Short(f.lasts)), "such as --lasts 1h")
	}
	if err := unitless(inBytes{"size", f.size, 1 << 30, "500G"}, inBytes{"io", f.io, leastBlock, "16K"}, inBytes{"throughput", f.throughput, leastOfAll, "100M"}); err != nil {
		return err
	}
	clouds, err := f.clouds()
	if err != nil {
		return err
	}
	if err := instanceIn(clouds, f.instance); err != nil {
		return err
	}
	l := f.named()
	if f.io == 0 && l.KiB > 0 && l.KiB*1024 < leastBlock {
		return hint.Usage(fmt.Sprintf("--throughput %s is less than %d bytes for each of %g I/Os", f.throughput.String(), leastBlock, f.iops), "the bytes of a second at the peak, such as --throughput 100M")
	}
	if f.device != "" {
		if l, err = f.recorded(ctx, l); err != nil {
			return err
		}
	}
	return told(s, "volume", "Volumes that carry the load", f.json, []view.Asked{{Result: model.ChooseVolume(clouds, l, time.Now())}})
}

// instanceIn says which instances are known where one is named that is not.
func instanceIn(clouds []model.Cloud, instance string) error {
	var all []string
	for _, c := range clouds {
		for _, i := range c.Instances {
			all = append(all, i.Name)
		}
	}
	if instance == "" || slices.Contains(all, instance) {
		return nil
	}
	help := "--cloud FILE names one that has them; knowledge/README.md describes the form"
	if len(all) > 0 {
		help = "known are " + strings.Join(all, ", ") + "; " + help
	}
	return hint.Usage(fmt.Sprintf("--instance %s: its limits are not known", instance), help)
}

const mib = 1 << 20

// named is the load that flags give.
func (f volumeFlags) named() model.Load {
	l := model.Load{GiB: math.Ceil(float64(f.size) / (1 << 30)), KiB: float64(f.io) / 1024, Steady: f.steady, Lasts: f.lasts, Instance: f.instance}
	bytes := float64(f.throughput)
	if bytes == 0 {
		bytes = f.iops * float64(f.io)
	}
	if l.KiB == 0 && f.iops > 0 {
		l.KiB = bytes / f.iops / 1024 // a large one counts as several
	}
	l.IOPS, l.MiBps = stats.Exactly(f.iops), stats.Exactly(bytes/mib)
	return l
}

// clouds reads what is known of volumes.
func (f volumeFlags) clouds() (all []model.Cloud, err error) {
	read := contents
	names := f.cloud
	if len(names) == 0 {
		if names, err = fs.Glob(knowledge.FS, "clouds/*.yaml"); err != nil {
			return nil, err
		}
		read = knowledge.FS.ReadFile
	}
	for _, name := range names {
		data, err := read(name)
		if err != nil {
			return nil, err
		}
		c, err := model.ReadCloud(name, data)
		if err != nil {
			return nil, hint.With(err, "knowledge/README.md describes the form")
		}
		all = append(all, c)
	}
	return all, nil
}
