package forecast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
	"plumb/internal/zfs"
)

// zfsFlags are the flags of forecast zfs.
type zfsFlags struct {
	shell.Source
	dataset string
	data    value.Size
	record  []string
	page    value.Size
	ratio   float64
	l2arc   value.Size
	arc     value.Size
	small   value.Size
	ashift  int
	raidz   string
	json    bool
}

func zfsCommand(s *shell.Shell, read Read) *cobra.Command {
	var f zfsFlags
	c := &cobra.Command{
		Use:   "zfs",
		Short: "say what memory and devices ZFS needs for data, by recordsize",
		Long: `Zfs predicts for each recordsize how much of the ARC is taken by ZFS's own metadata
and by the headers of an L2ARC, how large a special vdev must be, how much space the
data needs after compression and on raidz, and how much ZFS reads and writes for
each page of the server. It reads the datasets of this host; for data that does not
exist yet, give its size with --data.

` + modelExits,
		Example: `  plumb forecast zfs --data 750G --recordsize 16K,64K,128K --page 16K
  plumb forecast zfs --dataset tank/db --recordsize 16K
  plumb forecast zfs --data 850G --recordsize 16K --ratio 1.28 --l2arc 475G
  plumb forecast zfs --data 2T --recordsize 16K,128K --ratio 1.5 --raidz 2/6`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runZFS(c.Context(), s, read, f) },
	}
	f.Flags(c)
	fl := c.Flags()
	fl.StringVar(&f.dataset, "dataset", "", "only the dataset with this `NAME`")
	fl.Var(&f.data, "data", "`SIZE` of the data before compression, instead of reading a host")
	fl.StringSliceVar(&f.record, "recordsize", nil, "predict it for this `SIZE` of records, or several separated by commas; default: those of the host")
	fl.Var(&f.page, "page", "`SIZE` of the server's pages")
	fl.Float64Var(&f.ratio, "ratio", 0, "compression ratio; default: the host's")
	fl.Var(&f.arc, "arc", "maximum `SIZE` of the ARC; default: the host's")
	fl.Var(&f.l2arc, "l2arc", "`SIZE` of all cache devices")
	fl.Var(&f.small, "special-small-blocks", "blocks up to this `SIZE` go to the special vdevs; default: the dataset's, or none")
	fl.IntVar(&f.ashift, "ashift", 0, "smallest write to a device, as a power of two; default: the pool's, or 12")
	fl.StringVar(&f.raidz, "raidz", "", "`PARITY/DISKS` of each vdev, such as 2/6 for raidz2 of six disks; default: the pool's")
	shell.JSONFlag(c, &f.json, "")
	return c
}

// validate says which flag cannot be, and reads the recordsizes and the vdev.
func (f zfsFlags) validate() (records []float64, vdev model.Raidz, err error) {
	if err := f.Validate(); err != nil {
		return nil, vdev, err
	}
	if f.data > 0 && (f.Tape != "" || f.dataset != "") {
		return nil, vdev, hint.Usage("--data is for data that does not exist yet, but --tape and --dataset are for data on a host", "give one of them")
	}
	if f.ratio != 0 && !(f.ratio >= 1 && f.ratio < 1000) {
		return nil, vdev, hint.Usage(fmt.Sprintf("--ratio %g is not a compression ratio", f.ratio), "such as --ratio 2.5; 1 means no compression")
	}
	if f.ashift != 0 && (f.ashift < 9 || f.ashift > 16) {
		return nil, vdev, hint.Usage(fmt.Sprintf("--ashift %d is not possible in ZFS", f.ashift), "9 to 16: 12 is 4K")
	}
	if err := unitless(inBytes{"data", f.data, leastOfAll, "750G"}, inBytes{"page", f.page, leastBlock, "16K"},
		inBytes{"l2arc", f.l2arc, leastOfAll, "400G"}, inBytes{"special-small-blocks", f.small, leastBlock, "16K"}); err != nil {
		return nil, vdev, err
	}
	if f.arc > 0 && f.arc < leastARC {
		return nil, vdev, hint.Usage(fmt.Sprintf("--arc %s is less than 64M, the least that zfs_arc_max takes", f.arc.String()), "such as --arc 8G")
	}
	if vdev, err = raidzOf(f.raidz); err != nil {
		return nil, vdev, err
	}
	if f.raidz != "" && f.data > 0 && f.ratio == 0 {
		return nil, vdev, hint.Usage("--raidz adds parity to what is stored, which --data without --ratio does not tell", "such as --ratio 2.5; 1 means no compression")
	}
	records, err = numbers("recordsize", f.record, forecast.Size, "16K")
	for i, r := range records {
		if r < leastRecord || r > mostRecord || r != math.Exp2(math.Round(math.Log2(r))) {
			return nil, vdev, hint.Usage(fmt.Sprintf("--recordsize %s is not possible in ZFS", f.record[i]), "a power of two from 512 to 16M, such as --recordsize 16K")
		}
	}
	return records, vdev, err
}

// raidzOf reads what --raidz says; "" is nothing.
func raidzOf(text string) (z model.Raidz, err error) {
	if text == "" {
		return z, nil
	}
	parity, disks, _ := strings.Cut(text, "/")
	p, errP := strconv.Atoi(parity)
	d, errD := strconv.Atoi(disks)
	if errP != nil || errD != nil || p < 1 || p > 3 || d <= p || d > mostDisks {
		return z, hint.Usage(fmt.Sprintf("--raidz %s is not PARITY/DISKS", text), fmt.Sprintf("parity 1 to 3, and more disks than that, up to %d, such as --raidz 2/6", mostDisks))
	}
	return model.Raidz{Parity: float64(p), Disks: float64(d)}, nil
}

// mostDisks is more than anybody puts into one raidz vdev.
const mostDisks = 255

func runZFS(ctx context.Context, s *shell.Shell, read Read, f zfsFlags) error {
	records, vdev, err := f.validate()
	if err != nil {
		return err
	}
	all, left := []named{{ZFS: model.ZFS{Data: float64(f.data)}}}, 0
	if f.data == 0 {
		host, err := read(ctx, f.Source)
		if err != nil {
			return err
		}
		if all, err = datasets(host, f.dataset); err != nil {
			return err
		}
		left = max(0, len(all)-mostDatasets)
		all = all[:len(all)-left]
	}
	var asked []view.Asked
	for _, d := range all {
		d.Page, d.L2ARC = float64(f.page), float64(f.l2arc)
		if f.ratio > 0 {
			d.Ratio, d.RatioRecord = f.ratio, 0
		}
		if f.ashift > 0 {
			d.Sector = math.Exp2(float64(f.ashift))
		}
		d.ARC, d.SmallBlocks, d.Raidz = cmp.Or(float64(f.arc), d.ARC), cmp.Or(float64(f.small), d.SmallBlocks), cmp.Or(vdev, d.Raidz)
		asked = append(asked, d.ask(records)...)
	}
	if left > 0 {
		asked[0].Warnings = append(asked[0].Warnings, fmt.Sprintf("%s left out: --dataset names one", units.Counted(left, "dataset", "with less data is", "with less data are")))
	}
	return told(s, "zfs", "What ZFS needs", f.json, asked)
}

// leastARC is MIN_ARC_MAX of OpenZFS, DMU_MAX_ACCESS: a lower zfs_arc_max is refused or ignored.
const leastARC = 64 << 20

// What ZFS takes for a recordsize.
const (
	leastRecord = 512
	mostRecord  = 16 << 20
)

// named is the data of a dataset.
type named struct {
	model.ZFS
	name string // "" for data that is not there yet
}

// ask asks for each recordsize, or for that of the dataset.
func (d named) ask(records []float64) (all []view.Asked) {
	if len(records) == 0 {
		records = []float64{d.Record}
	}
	for _, r := range records {
		z := d.ZFS
		z.Record = r
		a := view.Asked{About: "recordsize unknown", Result: z.Predict()}
		if r > 0 {
			a.About = "recordsize " + units.Size(r)
		}
		if d.name != "" {
			a.About = d.name + ", " + units.Measured(z.Data) + " before compression, " + a.About
		}
		if d.ARC > 0 && a.Refusal == nil && a.Values[0].Value > d.ARC {
			a.Warnings = append(a.Warnings, fmt.Sprintf("the ARC may take %s, and the metadata with records of %s alone %s", units.Size(d.ARC), units.Size(r), units.Measured(a.Values[0].Value)))
		}
		all = append(all, a)
	}
	return all
}

// datasets reads the data of a host.
func datasets(s *stack.Stack, only string) (all []named, err error) {
	number := func(t *stack.Thing, name string) float64 { v, _ := t.Number(name); return v }
	var module stack.Thing
	for _, t := range s.OfKind("zfs") {
		module = *t
	}
	for _, t := range s.OfKind("dataset") {
		if t.Text("dataset_type") != "filesystem" || only != "" && t.Ref.Name != only {
			continue
		}
		d := named{name: t.Ref.Name}
		d.ARC = number(&module, "arc_limit")
		d.Data, d.Record, d.Ratio = number(t, "logicalreferenced"), number(t, "recordsize"), cmp.Or(number(t, "refcompressratio"), number(t, "compressratio"))
		if d.Data == 0 { // ZFS before it told of that
			d.Data = number(t, "referenced") * d.Ratio
		}
		d.RatioRecord, d.SmallBlocks = d.Record, number(t, "special_small_blocks")
		d.Sector, d.Raidz = vdevsOf(s, t.Ref.Name)
		d.L2Stored, d.L2Headers = number(&module, "l2_asize"), number(&module, "l2_headers")
		if d.Data > 0 || only != "" {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(b.Data, a.Data), cmp.Compare(a.name, b.name)) })
	if t := s.Find(stack.Ref{Kind: "dataset", Name: only}); t != nil && t.Text("dataset_type") == "volume" {
		return nil, hint.With(fmt.Errorf("forecast zfs: %s is a volume, and the size of its blocks is not read", only), "use --data and --recordsize for its data and its volblocksize")
	}
	if len(all) == 0 {
		what := "no dataset with data was seen on this host"
		if only != "" {
			what = "no dataset " + only + " was seen on this host"
		}
		return nil, hint.With(fmt.Errorf("forecast zfs: %s", what), "plumb stack shows those that are; --data 750G --recordsize 16K asks about data that is not there yet")
	}
	return all, nil
}

// vdevsOf says what the pool of a dataset is made of: its sector, and each of its vdevs; 0 where that is not known.
func vdevsOf(s *stack.Stack, dataset string) (sector float64, z model.Raidz) {
	pool := s.Find(stack.Ref{Kind: "pool", Name: zfs.PoolOf(dataset)})
	if pool == nil {
		return 0, z
	}
	if ashift, is := pool.Number("ashift"); is && ashift > 0 {
		sector = math.Exp2(ashift)
	}
	vdevs, _ := pool.Int("vdevs")
	disks := int64(len(pool.List("vdev_paths")))
	switch layout := pool.Text("layout"); layout {
	case "single", "stripe", "mirror":
		z.Disks = 1
	case "raidz1", "raidz2", "raidz3":
		parity := float64(layout[len(layout)-1] - '0')
		if vdevs > 0 && disks%vdevs == 0 && float64(disks/vdevs) > parity { // all are alike
			z = model.Raidz{Parity: parity, Disks: float64(disks / vdevs)}
		}
	}
	return sector, z
}

// mostDatasets bounds the page: the largest are shown.
const mostDatasets = 20
