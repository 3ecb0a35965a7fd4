package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/files"
	"plumb/internal/units"
	view "plumb/internal/view/load"
)

// fileFlags are the options of sysbench's fileio, under its names.
type fileFlags struct {
	drive
	c      files.IOConfig
	extra  []string
	series bool
}

func (v *verbs) fileio() *cobra.Command {
	var f fileFlags
	c := &cobra.Command{
		Use:   "fileio prepare|run|cleanup",
		Short: "put files under load: sysbench's modes, and a saturation table",
		Long: join2(`Fileio reads and writes test files in sysbench's modes, under its options. What is
written is always new and does not compress, unless --compressible says how much, so
a filesystem that compresses does not look faster than it is. Reads, writes and
fsyncs have separate figures.

run --threads 1,4,16,64,256 runs each number of threads for --time, prints how much
slower each operation gets, fits a capacity curve, and names the best number.
run --series looks for recurring dips, lasting changes of level, and bursts that are
used up; it needs a run of some minutes.`,
			`Also sysbench's --file-io-mode --file-fsync-freq --file-fsync-all --file-fsync-end
--file-fsync-mode --file-merged-requests --file-rw-ratio --validate.`, driveHelp, exits),
		Example: `  plumb load fileio prepare --dir /var/lib/mysql/test --file-num 4 --file-total-size 64G
  plumb load fileio run --dir /var/lib/mysql/test --file-num 4 --file-total-size 64G --file-test-mode rndrw --file-extra-flags direct --time 300
  plumb load fileio run ... --file-test-mode rndrd --threads 1,4,16,64,256 --time 30
  plumb load fileio cleanup --dir /var/lib/mysql/test`,
		Args:      oneAction("prepare", "run", "cleanup"),
		ValidArgs: []string{"prepare", "run", "cleanup"},
		RunE:      func(c *cobra.Command, args []string) error { return v.runFileIO(c, args[0], &f) },
	}
	f.drive.flags(c)
	f.flags(c)
	sysbenchNames(c, &f.drive.notes)
	return c
}

func (f *fileFlags) flags(c *cobra.Command) {
	fl, d := c.Flags(), files.DefaultIO()
	f.c = d
	fl.StringVar(&f.c.Dir, "dir", ".", "the `DIRECTORY` of the test files")
	fl.IntVar(&f.c.Files, "file-num", d.Files, "`N` files")
	fl.Var((*value.Size)(&f.c.BlockSize), "file-block-size", "`SIZE` of each request")
	fl.Var((*value.Size)(&f.c.TotalSize), "file-total-size", "`SIZE` of all files together")
	fl.StringVar(&f.c.Mode, "file-test-mode", "", "`MODE`: "+strings.Join(files.Modes(), ", "))
	fl.StringVar(&f.c.IOMode, "file-io-mode", d.IOMode, "sync")
	fl.StringSliceVar(&f.extra, "file-extra-flags", nil, "`FLAGS` to open with: direct, sync, dsync")
	fl.IntVar(&f.c.FsyncFreq, "file-fsync-freq", d.FsyncFreq, "after every `N` requests sync every file; 0 for never")
	onOff(c, &f.c.FsyncAll, "file-fsync-all", "sync within each write")
	onOff(c, &f.c.FsyncEnd, "file-fsync-end", "sync all files at the end")
	fl.StringVar(&f.c.FsyncMode, "file-fsync-mode", d.FsyncMode, "fsync or fdatasync")
	fl.IntVar(&f.c.Merged, "file-merged-requests", d.Merged, "as in sysbench")
	fl.Float64Var(&f.c.RWRatio, "file-rw-ratio", d.RWRatio, "reads for each write in rndrw")
	onOff(c, &f.c.Validate, "validate", "check what is read")
	fl.Float64Var(&f.c.Compressible, "compressible", 0, "`PART` of the written data that compresses away: 0 to 1")
	fl.BoolVar(&f.series, "series", false, "look for dips, changes of level and bursts in the seconds of the run")
	hide(c, "file-io-mode", "file-fsync-freq", "file-fsync-all", "file-fsync-end", "file-fsync-mode", "file-merged-requests", "file-rw-ratio", "validate")
	shell.Offer(c, map[string]shell.Words{
		"file-test-mode":   files.Modes,
		"file-extra-flags": func() []string { return []string{"direct", "sync", "dsync"} },
		"file-fsync-mode":  func() []string { return []string{"fsync", "fdatasync"} },
	})
	if err := c.MarkFlagDirname("dir"); err != nil {
		panic(err)
	}
}

// config completes the workload's options.
func (f *fileFlags) config(seed uint64) (files.IOConfig, error) {
	c := f.c
	c.Seed = seed
	for _, flag := range f.extra {
		switch flag {
		case "direct":
			c.Direct = true
		case "sync":
			c.Sync = true
		case "dsync":
			c.Dsync = true
		default:
			return c, hint.Usage("--file-extra-flags "+flag+" is not known", "use direct, sync or dsync")
		}
	}
	return c, nil
}

func (v *verbs) runFileIO(c *cobra.Command, what string, f *fileFlags) error {
	v.note(f.drive.notes)
	o, err := f.drive.options(c)
	if err != nil {
		return err
	}
	cfg, err := f.config(o.Seed)
	if err != nil {
		return err
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return err
	}
	if st, err := os.Stat(cfg.Dir); err != nil || !st.IsDir() {
		return hint.With(fmt.Errorf("put test files into %s: no such directory", cfg.Dir), "create it first, on the filesystem that you want to measure")
	}
	switch what {
	case "prepare":
		if cfg.Mode == "" {
			cfg.Mode = files.RandBoth // what is prepared does not depend on it, except for seqwr
		}
		return v.prepareFiles(c.Context(), cfg, f)
	case "cleanup":
		n, err := files.Cleanup(cfg.Dir)
		if err != nil {
			return files.WithHint(err, cfg.Dir)
		}
		_, err = fmt.Fprintf(v.Out, "removed %s from %s\n", units.Count(n, "test file"), cfg.Dir)
		return err
	}
	if cfg.Mode == "" {
		return hint.Usage("run needs the access pattern", "give --file-test-mode "+hint.OneOf(files.Modes()))
	}
	if !slices.Contains(files.Modes(), cfg.Mode) {
		return hint.Usage("--file-test-mode "+cfg.Mode+" is not known", meantOr(cfg.Mode, files.Modes()))
	}
	if len(f.threads) > 1 {
		return v.sweepFiles(c.Context(), cfg, o, f)
	}
	return v.driveFiles(c.Context(), cfg, o, f)
}

func (v *verbs) prepareFiles(ctx context.Context, cfg files.IOConfig, f *fileFlags) error {
	threads := 2
	if f.threadsGiven {
		threads = f.threads[0]
	}
	last := time.Now()
	began := last
	watched := shell.IsTerminal(v.Err)
	said := make(chan struct{}, 1)
	r, err := files.Prepare(ctx, cfg, threads, func(done, total int64) {
		select {
		case said <- struct{}{}: // several goroutines call it; one speaks
			if watched && time.Since(last) > 200*time.Millisecond {
				last = time.Now()
				shell.Rewrite(v.Err, view.FileProgress(done, total, time.Since(began)))
			}
			<-said
		default:
		}
	})
	v.Done()
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("prepare fileio: interrupted; plumb load fileio cleanup removes what is there")
		}
		return files.WithHint(err, cfg.Dir)
	}
	_, err = fmt.Fprintln(v.Out, view.FilesPrepared(r, cfg.Dir, time.Since(began)))
	return err
}

func (v *verbs) driveFiles(ctx context.Context, cfg files.IOConfig, o load.Options, f *fileFlags) error {
	w, err := files.NewIO(cfg)
	if err != nil {
		return files.WithHint(err, cfg.Dir)
	}
	var about *files.IOResult
	run := func(o load.Options) (*load.Result, error) {
		res, err := files.Run(ctx, w, o)
		if err != nil {
			return nil, err
		}
		about = res
		return res.Result, nil
	}
	err = v.measure(ctx, run, o, &f.drive, f.report(cfg), func(r *view.Report) {
		r.Remarks = view.FileRemarks(about, f.series)
		r.Place += " · " + view.PlaceText(about.Place)
	})
	return errors.Join(err, w.Close())
}

func (v *verbs) sweepFiles(ctx context.Context, cfg files.IOConfig, o load.Options, f *fileFlags) error {
	watched := shell.IsTerminal(v.Err)
	if watched {
		fmt.Fprint(v.Err, units.Count(f.threads[0], "thread"), " …")
	}
	s, err := files.RunSweep(ctx, cfg, f.threads, o, func(l files.Level) {
		if watched {
			shell.Rewrite(v.Err, view.LevelDone(l))
		}
	})
	v.Done()
	if s == nil || len(s.Levels) == 0 {
		return files.WithHint(err, cfg.Dir)
	}
	r := f.report(cfg)
	r.Version, r.Result = shell.Version(), s.Levels[0].Result.Result
	r.Place += " · " + view.PlaceText(s.Levels[0].Result.Place)
	if f.json {
		doc, bad := view.SweepDocument(r, s)
		if bad != nil {
			return bad
		}
		err = errors.Join(err, v.Document(doc))
	} else {
		err = errors.Join(err, v.Print(view.SweepText(r, s, shell.Screen(v.Out))))
	}
	if ctx.Err() != nil {
		return errors.New("fileio was interrupted; the figures above were measured until then")
	}
	return err
}

// report has what a reader must know of a run of files.
func (f *fileFlags) report(c files.IOConfig) view.Report {
	return view.FileReport(c, (*value.Size)(&c.TotalSize).String(), (*value.Size)(&c.BlockSize).String(), f.extra)
}

func (v *verbs) fsync() *cobra.Command {
	var each value.Seconds
	var asJSON bool
	c := &cobra.Command{
		Use:   "fsync [DIR]",
		Short: "measure what a durable write costs in a directory, and whether it is durable",
		Long: join2(`Fsync writes small pieces and makes each durable, in the ways a database may: fsync,
fdatasync, O_DSYNC; over written blocks and at the end of a file; by one writer and
by many, into one file and into several; beside writers of pages. It makes its
files in DIR (the current directory by default) and removes them.

Then it lists the evidence for and against the figures: how fast a sync can be
without a battery, whether the disk was asked to flush at all, and so on.`, exits),
		Example: `  plumb load fsync /var/lib/mysql
  plumb load fsync /var/lib/postgresql --time 5 --json`,
		Args: shell.AtMostOneArg("directory"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runFsync(c.Context(), append(args, ".")[0], time.Duration(each), asJSON)
		},
	}
	each = value.Seconds(1500 * time.Millisecond)
	c.Flags().Var(&each, "time", "measure each line for this `TIME`")
	shell.JSONFlag(c, &asJSON, "")
	return c
}

func (v *verbs) runFsync(ctx context.Context, dir string, each time.Duration, asJSON bool) error {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return hint.With(fmt.Errorf("write into %s: no such directory", dir), "name a directory on the filesystem that you want to measure")
	}
	r, err := files.Fsync(ctx, files.FsyncConfig{Dir: dir, Time: each, Seed: uint64(time.Now().UnixNano())}, func(m files.FsyncMeasured) {
		if shell.IsTerminal(v.Err) {
			shell.Rewrite(v.Err, m.Row.Name)
		}
	})
	v.Done()
	if r == nil || len(r.Rows) == 0 {
		return files.WithHint(err, dir)
	}
	return errors.Join(v.Answer(asJSON, view.FsyncDocument(r, shell.Version()), view.Fsync(r, shell.Screen(v.Out))), err)
}
