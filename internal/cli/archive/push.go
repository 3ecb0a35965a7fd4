package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/archive"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/postgres/pitr"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/host/reach"
)

func (v *verbs) push() *cobra.Command {
	socket, data, within := "", "", 90*time.Second
	c := &cobra.Command{
		Use:   "push FILE",
		Short: "pass a WAL file to the service: for archive_command",
		Long: `Push passes a file to the service on this machine, and succeeds when it is in the
store. It runs as the server's user, and needs no key:

  archive_command = 'plumb archive push %p'

If the file is in the archive already, push succeeds if its bytes are the same.

` + exits,
		Example: "  plumb archive push pg_wal/000000010000000000000001",
		Args:    shell.OneArg("file"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.hand(args[0], socket, data, within)
		},
	}
	c.Flags().StringVar(&socket, "socket", socketOf("main"), "the `SOCKET` of the service")
	c.Flags().StringVar(&data, "data", ".", "data `DIRECTORY` of the server; archive_command runs there")
	c.Flags().DurationVar(&within, "timeout", within, "give up after this time")
	return c
}

// hand hands a file over to the service.
func (v *verbs) hand(name, socket, data string, within time.Duration) error {
	o := archive.Offer{File: filepath.Base(name)}
	if !pitr.IsFile(o.File) {
		return hint.Usage(fmt.Sprintf("%q is not a file that PostgreSQL archives", o.File), "archive_command = 'plumb archive push %p'")
	}
	control, err := beginning(filepath.Join(data, "global/pg_control"))
	if err == nil {
		o.System, err = wal.System(control)
	}
	if err != nil {
		return hint.With(fmt.Errorf("find out which server it belongs to: %w", err), "archive_command runs in the data directory; --data names another")
	}
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name) // opening a pipe could wait for ever
	}
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	o.Size = st.Size()
	conn, err := reach.DialInlet(socket)
	if errors.Is(err, fs.ErrPermission) {
		return hint.With(fmt.Errorf("pass %s to the archive service: user %d may not: %w", o.File, os.Geteuid(), err), "plumb archive run --wal-user names the user of the server")
	}
	if err != nil {
		return hint.With(fmt.Errorf("pass %s to the archive service: %w", o.File, err), "plumb archive run is the service; the server keeps the file and tries again")
	}
	err = archive.HandOver(conn, o, f, within)
	return errors.Join(err, conn.Close())
}

// beginning reads the first bytes of a file.
func beginning(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, wal.HeadSize)
	n, err := io.ReadFull(f, b)
	return b[:n], errors.Join(err, f.Close())
}
