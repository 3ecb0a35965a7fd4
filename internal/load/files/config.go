package files

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Modes are the access patterns, by sysbench's names.
const (
	SeqWrite   = "seqwr"   // into empty files, once, in order
	SeqRewrite = "seqrewr" // over what is there, in order
	SeqRead    = "seqrd"
	RandRead   = "rndrd"
	RandWrite  = "rndwr"
	RandBoth   = "rndrw"
)

// Modes lists the access patterns.
func Modes() []string {
	return []string{SeqWrite, SeqRewrite, SeqRead, RandRead, RandWrite, RandBoth}
}

// IOConfig is what sysbench's fileio options say; the option is in the comment.
type IOConfig struct {
	Dir          string  // where the files are; sysbench: the working directory
	Files        int     // --file-num
	BlockSize    int64   // --file-block-size, bytes
	TotalSize    int64   // --file-total-size, bytes over all files
	Mode         string  // --file-test-mode
	IOMode       string  // --file-io-mode: "sync"; the others are not offered
	Direct       bool    // --file-extra-flags=direct
	Sync         bool    // --file-extra-flags=sync
	Dsync        bool    // --file-extra-flags=dsync
	FsyncFreq    int     // --file-fsync-freq: requests between two rounds of fsync; 0 for none
	FsyncAll     bool    // --file-fsync-all: sync within each write
	FsyncEnd     bool    // --file-fsync-end: sync all files after the run
	FsyncMode    string  // --file-fsync-mode: "fsync" or "fdatasync"
	Merged       int     // --file-merged-requests: sequential requests of so many blocks; 0 and 1 are the same
	RWRatio      float64 // --file-rw-ratio: reads for each write in rndrw
	Validate     bool    // --validate: contents carry checksums, which reads verify
	Compressible float64 // the part of the content that compresses away: 0 to 1
	Seed         uint64
}

// DefaultIO gives sysbench's defaults. Dir and Mode have none.
func DefaultIO() IOConfig {
	return IOConfig{
		Files: 128, BlockSize: 16384, TotalSize: 2 << 30, IOMode: "sync",
		FsyncFreq: 100, FsyncEnd: true, FsyncMode: "fsync", RWRatio: 1.5,
	}
}

// fileSize is the size of each file, a whole number of blocks.
func (c IOConfig) fileSize() int64 {
	return c.TotalSize / int64(c.Files) / c.BlockSize * c.BlockSize
}

// Bytes is the size of all files.
func (c IOConfig) Bytes() int64 { return c.fileSize() * int64(c.Files) }

// Reads and Writes say what the mode does.
func (c IOConfig) Reads() bool { return c.Mode == SeqRead || c.Mode == RandRead || c.Mode == RandBoth }

// Writes says whether the mode writes.
func (c IOConfig) Writes() bool { return c.Mode != SeqRead && c.Mode != RandRead }

func (c IOConfig) sequential() bool {
	return c.Mode == SeqWrite || c.Mode == SeqRewrite || c.Mode == SeqRead
}

var (
	errAsync = errors.New(`file-io-mode "async" is not available: with queued requests, the time of a submission would be taken for the time of a request; use sync with as many threads as requests in flight`)
	errMmap  = errors.New(`file-io-mode "mmap" is not available: the cost of a page fault is not part of any request's time, and hardly any database works like that; use sync`)
)

const (
	mostFiles    = 1 << 16
	mostBlock    = 64 << 20
	smallestFile = 64 // bytes: the name of a block needs them
)

// check is an error for what cannot be.
func (c IOConfig) check() error {
	switch c.IOMode {
	case "sync", "":
	case "async":
		return errAsync
	case "mmap":
		return errMmap
	default:
		return fmt.Errorf("file-io-mode %q is unknown: sync", c.IOMode)
	}
	switch {
	case !slices.Contains(Modes(), c.Mode):
		return fmt.Errorf("file-test-mode %q is unknown: one of %s", c.Mode, Modes())
	case c.Files < 1 || c.Files > mostFiles:
		return fmt.Errorf("file-num is %d: 1 to %d are possible", c.Files, mostFiles)
	case c.BlockSize < smallestFile || c.BlockSize > mostBlock:
		return fmt.Errorf("file-block-size is %d: %d to %d bytes are possible", c.BlockSize, smallestFile, mostBlock)
	case c.fileSize() < c.BlockSize:
		return fmt.Errorf("file-total-size is %d: %d files of a block of %d bytes each do not fit", c.TotalSize, c.Files, c.BlockSize)
	case c.FsyncMode != "fsync" && c.FsyncMode != "fdatasync":
		return fmt.Errorf("file-fsync-mode %q is unknown: fsync or fdatasync", c.FsyncMode)
	case c.FsyncFreq < 0 || c.Merged < 0 || int64(c.Merged)*c.BlockSize > mostBlock:
		return errors.New("file-fsync-freq and file-merged-requests cannot be negative, and a merged request has at most " + strconv.Itoa(mostBlock) + " bytes")
	case !(c.RWRatio >= 0 && c.RWRatio <= 1e6):
		return fmt.Errorf("file-rw-ratio is %g: 0 to 1000000 is possible", c.RWRatio)
	case !(c.Compressible >= 0 && c.Compressible <= 1):
		return fmt.Errorf("the compressible part is %g: 0 to 1 is possible", c.Compressible)
	}
	return nil
}
