package lab

import (
	"cmp"
	"context"
	"fmt"

	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/load/files"
	"plumb/internal/load/fill"
	"plumb/internal/load/oltp"
	"plumb/internal/load/tpcc"
)

func oltpConfig(w experiment.Load, seed uint64) oltp.Config {
	c := oltp.Defaults()
	c.Script, c.Seed, c.Sessions = cmp.Or(w.Script, "oltp_read_write"), seed, max(1, w.Threads)
	c.Tables, c.TableSize = cmp.Or(w.Tables, c.Tables), cmp.Or(w.Rows, c.TableSize)
	c.RandType, c.Fillfactor = cmp.Or(w.Random, c.RandType), w.Fillfactor
	return c
}

func tpccConfig(w experiment.Load, s load.Server, run uint64) tpcc.Config {
	return tpcc.Config{Server: s, Warehouses: int64(max(1, w.Warehouses)), Seed: dataSeed, Run: run, Sessions: max(1, w.Threads)}
}

func filesConfig(w experiment.Load, dir string, seed uint64) files.IOConfig {
	c := files.DefaultIO()
	c.Dir, c.Mode, c.Direct, c.Compressible, c.Seed = dir, cmp.Or(w.Mode, files.RandRead), w.Direct, w.Compress, seed
	c.Files = cmp.Or(w.Files, 4)
	c.TotalSize = int64(cmp.Or(w.Total, 1<<30))
	c.BlockSize = int64(cmp.Or(w.Block, 16<<10))
	c.FsyncFreq, c.FsyncEnd = 0, false // sysbench's rounds of fsync over all files are no pattern of a database; fsync has a kind of its own
	return c
}

func fsyncRow(w experiment.Load) files.FsyncRow {
	return files.FsyncRow{Name: "lab", By: map[string]string{"": files.ByFsync, "fsync": files.ByFsync, "fdatasync": files.ByFdatasync, "dsync": files.ByDsync}[w.Sync],
		Append: w.Mode != "overwrite", Threads: max(1, w.Threads), WriteBytes: int64(cmp.Or(w.Block, 4<<10))}
}

// prepareTables fills the tables of a load.
func prepareTables(ctx context.Context, w experiment.Load, s load.Server) (err error) {
	switch w.Kind {
	case experiment.OLTP:
		_, err = oltp.Prepare(ctx, s, oltpConfig(w, dataSeed), fill.Options{})
	case experiment.TPCC:
		_, err = tpcc.Prepare(ctx, tpccConfig(w, s, 0), fill.Options{})
	default:
		err = fmt.Errorf("the load %q needs no server", w.Kind)
	}
	return err
}

// prepareFiles makes the files of a load.
func prepareFiles(ctx context.Context, w experiment.Load, dir string) (err error) {
	switch w.Kind {
	case experiment.FileIO:
		_, err = files.Prepare(ctx, filesConfig(w, dir, dataSeed), 2, nil)
	case experiment.Fsync: // makes and removes its own
	default:
		err = fmt.Errorf("the load %q needs a server", w.Kind)
	}
	return err
}

// adopt makes a copy of the data fit to be driven.
func adopt(w experiment.Load, dir string) error {
	if w.Kind != experiment.FileIO {
		return nil
	}
	return files.Adopt(dir)
}

// drive puts a server or a directory under load and measures it.
func drive(ctx context.Context, w experiment.Load, s load.Server, dir string, seed uint64, o load.Options) (*load.Result, error) {
	o.Threads, o.Seed, o.Retries = max(1, w.Threads), seed, 100
	if w.Rate > 0 {
		o.Pace = load.Poisson(w.Rate, seed)
	}
	switch w.Kind {
	case experiment.FileIO:
		return driveFiles(ctx, filesConfig(w, dir, seed), o)
	case experiment.Fsync:
		return driveFsync(ctx, w, dir, o)
	case experiment.TPCC:
		work, err := tpcc.New(ctx, tpccConfig(w, s, seed))
		if err != nil {
			return nil, err
		}
		return load.Run(ctx, work, o)
	}
	work, err := oltp.New(s, oltpConfig(w, seed))
	if err != nil {
		return nil, err
	}
	return load.Run(ctx, work, o)
}

func driveFiles(ctx context.Context, c files.IOConfig, o load.Options) (*load.Result, error) {
	work, err := files.NewIO(c)
	if err != nil {
		return nil, err
	}
	defer work.Close()
	res, err := files.Run(ctx, work, o)
	if err != nil {
		return nil, err
	}
	return res.Result, nil
}

// driveFsync measures one row of the fsync probe.
func driveFsync(ctx context.Context, w experiment.Load, dir string, o load.Options) (*load.Result, error) {
	out, err := files.Fsync(ctx, files.FsyncConfig{Dir: dir, Warmup: o.Warmup, Time: o.Time, Rows: []files.FsyncRow{fsyncRow(w)}, Seed: o.Seed}, nil)
	if err != nil {
		return nil, err
	}
	if err := out.Rows[0].Err; err != nil {
		return nil, err
	}
	return out.Rows[0].Result, nil
}
