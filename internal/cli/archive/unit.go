package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	backupcli "plumb/internal/cli/backup"
	"plumb/internal/hint"
	"plumb/internal/protect/policy"
	"plumb/internal/units"
)

// unit is a systemd service that runs the same command.
func (o asked) unit() (string, error) {
	if o.emit != "systemd" {
		return "", hint.Usage(fmt.Sprintf("there is no form %q", o.emit), "use systemd")
	}
	if len(o.recipients) > 0 || o.recipientsFile == "" { // what is wrong with them would keep the service from starting
		if _, err := backupcli.Recipients(o.recipients, ""); err != nil {
			return "", err
		}
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	argv := []string{"archive", "run", "--name", o.name, "--to", o.URL()}
	for _, r := range o.recipients {
		argv = append(argv, "--recipient", r)
	}
	words, err := o.Words()
	if err != nil {
		return "", err
	}
	if o.recipientsFile != "" { // as a service runs in another directory
		if o.recipientsFile, err = filepath.Abs(o.recipientsFile); err != nil {
			return "", err
		}
	}
	argv = append(append(argv, words...), o.more()...)
	line, err := policy.ExecStart(program, argv)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`# /etc/systemd/system/plumb-archive-%s.service
[Unit]
Description=Logs of databases: archive what is written
Documentation=man:plumb(1)
After=local-fs.target network-online.target
Wants=network-online.target
%s
[Service]
ExecStart=%s
Restart=always
RestartSec=5s
# A login of S3: AWS_ACCESS_KEY_ID=…, AWS_SECRET_ACCESS_KEY=…, AWS_ENDPOINT_URL=…
EnvironmentFile=-/etc/plumb/archive.env

[Install]
WantedBy=multi-user.target
`, o.name, o.mounts(), line), nil
}

// mounts makes systemd wait until the disk of a directory is mounted, if the path needs no quoting.
func (o asked) mounts() string {
	dir, is := strings.CutPrefix(o.URL(), "file://")
	if !is || strings.ContainsAny(dir, " \t\n\"'\\%$") {
		return ""
	}
	return "RequiresMountsFor=" + dir + "\n"
}

// more are the other flags that were given.
func (o asked) more() (argv []string) {
	all := [][2]string{{"--recipients-file", o.recipientsFile}, {"--wal-user", o.walUser}, {"--binlog-index", o.index}}
	if o.index != "" {
		all = append(all, [2]string{"--binlog-user", o.logUser}, [2]string{"--binlog-name", o.logOf}, [2]string{"--interval", units.Short(o.every)})
	}
	if o.lockDays > 0 {
		all = append(all, [2]string{"--lock-days", strconv.Itoa(o.lockDays)})
	}
	if o.socket != socketOf(o.name) {
		all = append(all, [2]string{"--socket", o.socket})
	}
	all = append(all, [2]string{"--timeout", units.Short(o.within)})
	for _, one := range all {
		if strings.TrimSpace(one[1]) != "" {
			argv = append(argv, one[0], one[1])
		}
	}
	return argv
}
