// Command vmlab runs experiments in a virtual machine with OpenZFS 2.3, where this host has none. One that was stopped goes on where
// it was. The lab prints its report as it does on a host.
//
//	go run -C research ./vmlab ../experiments/postgres-recordsize-rw-openzfs.yaml
package main

import (
	"context"
	"errors"
	"flag"

	"plumb/research/openzfs"
	"plumb/research/trials"
)

func main() {
	plumb := flag.String("plumb", "../plumb", "the plumb binary")
	ledger := flag.String("ledger", "../.cache/experiments", "beside which the ledger of each experiment is, in a directory that ends with -vm")
	trials.Main("vmlab", func(ctx context.Context) error { return run(ctx, *plumb, *ledger, flag.Args()) })
}

func run(ctx context.Context, plumb, ledger string, files []string) error {
	if len(files) == 0 {
		return errors.New("nothing to do: give the file of an experiment")
	}
	for _, file := range files {
		x, err := trials.Read(file)
		if err == nil {
			err = openzfs.Fill(ctx, plumb, ledger, file, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
