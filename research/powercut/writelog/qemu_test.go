package writelog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestQEMU has a real QEMU keep a log of a disk, kills it, and replays the
// log: all of it is the disk, and no cut loses what a flush covers.
func TestQEMU(t *testing.T) {
	daemon, err := exec.LookPath("qemu-storage-daemon")
	if err != nil {
		t.Skip("no qemu-storage-daemon here: it comes with qemu-system-x86")
	}
	dir := t.TempDir()
	base, log := filepath.Join(dir, "disk"), filepath.Join(dir, "log")
	const size = 1 << 20
	for name, bytes := range map[string]int64{base: size, log: 0} {
		f, err := os.Create(name)
		ok(t, err)
		ok(t, f.Truncate(bytes))
		ok(t, f.Close())
	}
	c, kill := serveLogged(t, daemon, base, log, filepath.Join(dir, "s"))
	rng := rand.New(rand.NewPCG(1, 2))
	now, loose := make([]byte, size), map[int]bool{} // loose sectors were written after the last flush
	for i := range 310 {
		if i%20 == 19 {
			c.do(t, nbdFlush, 0, 0, 0, nil)
			clear(loose)
			continue
		}
		sectors := 1 + rng.IntN(32)
		at := rng.IntN(size/512-sectors) * 512
		data := bytes.Repeat([]byte{byte(1 + rng.IntN(255))}, sectors*512)
		flags := uint16(0)
		if i%50 == 3 {
			flags = nbdFUA
		}
		c.do(t, nbdWrite, flags, uint64(at), uint32(len(data)), data)
		copy(now[at:], data)
		for s := range sectors {
			loose[at/512+s] = true
		}
		if flags != 0 {
			clear(loose) // QEMU makes a flush of it
		}
	}
	kill()
	replayQEMU(t, base, log, now, loose)
}

// replayQEMU compares what a log makes with what was written.
func replayQEMU(t *testing.T, base, log string, now []byte, loose map[int]bool) {
	t.Helper()
	text, err := os.ReadFile(log)
	ok(t, err)
	l := read(t, text)
	if l.Hole || len(l.Entries) < 300 || len(l.Flushes()) < 15 {
		t.Fatalf("%d entries, %d flushes, hole %v", len(l.Entries), len(l.Flushes()), l.Hole)
	}
	t.Logf("%d entries, the super block counts %d, %d flushes", len(l.Entries), l.Counted, len(l.Flushes()))
	file, err := os.ReadFile(base)
	ok(t, err)
	image := make(disk, len(now))
	ok(t, l.Replay(bytes.NewReader(text), image, int64(len(image)), l.All()))
	if !bytes.Equal(image, now) || !bytes.Equal(file, now) {
		t.Error("the replay of all is not what was written")
	}
	differ := 0
	for seed := range uint64(200) {
		c, err := l.Draw(len(l.Entries), seed)
		ok(t, err)
		image := make(disk, len(now))
		ok(t, l.Replay(bytes.NewReader(text), image, int64(len(image)), c))
		if !bytes.Equal(image, now) {
			differ++
		}
		for at := 0; at < len(now); at += 512 {
			if !loose[at/512] && !bytes.Equal(image[at:at+512], now[at:at+512]) {
				t.Fatalf("seed %d lost a flushed sector at %d: %s", seed, at, c)
			}
		}
	}
	if differ == 0 {
		t.Error("no cut lost anything")
	}
}

// serveLogged has QEMU serve a disk whose writes are logged.
func serveLogged(t *testing.T, daemon, image, log, socket string) (c *nbd, kill func()) {
	t.Helper()
	cmd := exec.Command(daemon,
		"--blockdev", "driver=file,node-name=image,filename="+image,
		"--blockdev", "driver=file,node-name=logfile,filename="+log,
		"--blockdev", "driver=blklogwrites,node-name=logged,file=image,log=logfile,log-sector-size=512",
		"--nbd-server", "addr.type=unix,addr.path="+socket,
		"--export", "type=nbd,id=e,node-name=logged,name=d,writable=on")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ok(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			ok(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			t.Cleanup(func() { conn.Close() })
			c = &nbd{conn: conn}
			c.hello(t)
			return c, kill
		}
		if time.Now().After(until) {
			kill()
			t.Fatalf("QEMU does not serve: %v: %s", err, errs.String())
		}
	}
}

// nbd speaks as much of the Network Block Device's protocol as is needed here
// (doc/proto.md of NetworkBlockDevice/nbd; numbers are big-endian).
type nbd struct {
	conn   net.Conn
	handle uint64
}

const (
	nbdWrite = 1
	nbdFlush = 3
	nbdFUA   = 1
)

// hello opens the export d in the old way, which sends little.
func (c *nbd) hello(t *testing.T) {
	t.Helper()
	greeting := make([]byte, 18)
	_, err := io.ReadFull(c.conn, greeting)
	ok(t, err)
	if string(greeting[:16]) != "NBDMAGICIHAVEOPT" {
		t.Fatalf("%q", greeting)
	}
	var b bytes.Buffer
	for _, v := range []any{uint32(3), []byte("IHAVEOPT"), uint32(1), uint32(1), []byte("d")} { // fixed newstyle, no zeroes; NBD_OPT_EXPORT_NAME
		ok(t, binary.Write(&b, binary.BigEndian, v))
	}
	_, err = c.conn.Write(b.Bytes())
	ok(t, err)
	_, err = io.ReadFull(c.conn, make([]byte, 10)) // size and flags
	ok(t, err)
}

// do sends a command and waits for its answer.
func (c *nbd) do(t *testing.T, command, flags uint16, at uint64, length uint32, data []byte) {
	t.Helper()
	c.handle++
	var b bytes.Buffer
	for _, v := range []any{uint32(0x25609513), flags, command, c.handle, at, length, data} {
		ok(t, binary.Write(&b, binary.BigEndian, v))
	}
	_, err := c.conn.Write(b.Bytes())
	ok(t, err)
	answer := make([]byte, 16)
	_, err = io.ReadFull(c.conn, answer)
	ok(t, err)
	if failed := binary.BigEndian.Uint32(answer[4:]); failed != 0 || binary.BigEndian.Uint64(answer[8:]) != c.handle {
		t.Fatal(fmt.Errorf("command %d: %x", command, answer))
	}
}
