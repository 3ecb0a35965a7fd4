package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The protocol of FUSE, as far as a single file needs it: include/uapi/linux/fuse.h.
const (
	fuseForget      = 2
	fuseGetattr     = 3
	fuseSetattr     = 4
	fuseOpen        = 14
	fuseRead        = 15
	fuseWrite       = 16
	fuseStatfs      = 17
	fuseRelease     = 18
	fuseFsync       = 20
	fuseFlush       = 25
	fuseInit        = 26
	fuseAccess      = 34
	fuseInterrupt   = 36
	fuseDestroy     = 38
	fuseBatchForget = 42

	inHeader  = 40 // bytes before what a request is about
	outHeader = 16
	aboutData = 40 // bytes before the data of a write

	mostBytes = 1 << 20 // of a read or write
	atOnce    = 128     // of them, which is as many as a loop device has
)

var order = binary.NativeEndian

// serve answers the kernel until the file is unmounted.
func (d *SlowDisk) serve() {
	defer close(d.done)
	buffer := make([]byte, mostBytes+4096)
	for {
		n, err := unix.Read(d.fuse, buffer)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT): // it was taken back
			continue
		case err != nil || n < inHeader:
			return
		}
		d.take(slices.Clone(buffer[:n]))
	}
}

// take answers one request: what moves data when its time has come, the rest now.
func (d *SlowDisk) take(r []byte) {
	unique, what := order.Uint64(r[8:]), r[inHeader:]
	switch order.Uint32(r[4:]) {
	case fuseForget, fuseBatchForget, fuseInterrupt: // not answered
	case fuseInit:
		d.answer(unique, nil, opening())
	case fuseGetattr, fuseSetattr:
		d.answer(unique, nil, d.attributes())
	case fuseOpen: // past the page cache, writes beside one another
		d.answer(unique, nil, order.AppendUint64(order.AppendUint64(nil, 0), 1<<0|1<<6))
	case fuseStatfs:
		d.answer(unique, nil, make([]byte, 80))
	case fuseRead:
		go d.read(unique, what, d.pace.end(time.Now(), int(order.Uint32(what[16:]))))
	case fuseWrite:
		go d.write(unique, what, d.pace.end(time.Now(), int(order.Uint32(what[16:]))))
	case fuseFsync, fuseFlush, fuseRelease, fuseAccess, fuseDestroy: // what memory has is all there is
		d.answer(unique, nil, nil)
	default: // no holes: the kernel writes zeros instead
		d.answer(unique, unix.ENOSYS, nil)
	}
}

func (d *SlowDisk) read(unique uint64, what []byte, end time.Time) {
	data := make([]byte, order.Uint32(what[16:]))
	n, err := d.data.ReadAt(data, int64(order.Uint64(what[8:])))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	time.Sleep(time.Until(end))
	d.answer(unique, err, data[:n])
}

func (d *SlowDisk) write(unique uint64, what []byte, end time.Time) {
	n, err := d.data.WriteAt(what[aboutData:], int64(order.Uint64(what[8:])))
	time.Sleep(time.Until(end))
	d.answer(unique, err, order.AppendUint64(nil, uint64(n)))
}

// opening is the answer to the first request: which version is spoken, how much at a time.
func opening() []byte {
	const asyncRead, bigWrites, asyncDirect, maxPages = 1 << 0, 1 << 5, 1 << 15, 1 << 22
	out := order.AppendUint32(nil, 7)
	out = order.AppendUint32(out, 38)
	out = order.AppendUint32(out, 0) // nothing ahead of what is read
	out = order.AppendUint32(out, asyncRead|bigWrites|asyncDirect|maxPages)
	out = order.AppendUint16(out, atOnce)
	out = order.AppendUint16(out, atOnce)
	out = order.AppendUint32(out, mostBytes)
	out = order.AppendUint32(out, 1)
	out = order.AppendUint16(out, mostBytes/4096)
	return append(out, make([]byte, 64-len(out))...)
}

// attributes are those of a file of root's, good for an hour.
func (d *SlowDisk) attributes() []byte {
	out := order.AppendUint64(nil, 3600)
	out = append(out, make([]byte, 8)...)
	for _, n := range []int64{1, d.size, d.size / 512, 0, 0, 0} { // number, size, blocks, three times
		out = order.AppendUint64(out, uint64(n))
	}
	for _, n := range []uint32{0, 0, 0, unix.S_IFREG | 0o600, 1, 0, 0, 0, 4096, 0} { // of times; mode, links, owner, group, device, block
		out = order.AppendUint32(out, n)
	}
	return out
}

// answer sends an answer in one piece. One that nobody waits for any more fails, and that is all right.
func (d *SlowDisk) answer(unique uint64, failed error, data []byte) {
	code := int32(0)
	if failed != nil {
		data, code = nil, -int32(unix.EIO)
		if number := unix.Errno(0); errors.As(failed, &number) {
			code = -int32(number)
		}
	}
	out := make([]byte, 0, outHeader+len(data))
	out = order.AppendUint32(out, uint32(outHeader+len(data)))
	out = order.AppendUint32(out, uint32(code))
	out = order.AppendUint64(out, unique)
	_, _ = unix.Write(d.fuse, append(out, data...))
}
