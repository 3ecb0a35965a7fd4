package policy

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Emitted is a file that makes a service call plumb protect run.
type Emitted struct {
	Path string // where it belongs
	Text string
}

// Kinds of services that call it.
const (
	Systemd = "systemd"
	Cron    = "cron"
)

// Period is how often the policy has to be run: often enough that nothing is late by
// more than a quarter.
func (p *Policy) Period() time.Duration {
	least := time.Duration(0)
	for _, r := range p.Rules {
		if r.Every > 0 && (least == 0 || r.Every < least) {
			least = r.Every
		}
	}
	switch {
	case least >= time.Hour || least == 0:
		return 15 * time.Minute
	case least >= 20*time.Minute:
		return 5 * time.Minute
	}
	return time.Minute
}

// special are the characters that mean something in a unit, a shell or a crontab, where the program stands without quotes.
const special = " \"'\\$%;&|<>()*?[]#~`!{}"

func unprintable(c rune) bool { return c < ' ' || c == 0x7f || c == 0xfffd }

// Emit writes the files with which a service calls this program. All names are absolute.
func Emit(kind, program string, p *Policy) ([]Emitted, error) {
	for _, name := range []string{program, p.File} {
		if !strings.HasPrefix(name, "/") || strings.ContainsFunc(name, unprintable) {
			return nil, hint.Usage(fmt.Sprintf("%q cannot be written into a unit or a crontab", name), "give an absolute path without control characters")
		}
	}
	if strings.ContainsAny(program, special) {
		return nil, hint.Usage(fmt.Sprintf("%q cannot be written into a unit or a crontab", program), "install plumb under a plain name, such as /usr/bin/plumb")
	}
	minutes := int(p.Period() / time.Minute)
	switch kind {
	case Systemd:
		units := unitFiles(program, p.File, minutes)
		if p.backs() {
			units = append(units, backupUnits(program, p.File)...)
		}
		return units, nil
	case Cron:
		return []Emitted{{"/etc/cron.d/plumb-protect", crontab(program, p, minutes)}}, nil
	}
	return nil, hint.Usage(fmt.Sprintf("there is no form %q", kind), "use "+hint.OneOf([]string{Systemd, Cron}))
}

func unitFiles(program, file string, minutes int) []Emitted {
	calendar := fmt.Sprintf("*:0/%d", minutes)
	if minutes == 1 {
		calendar = "*:*"
	}
	// A server that a drill started must end with it, so its control group is ended; a run that is
	// stopped first has time to take away what it made.
	return []Emitted{{"/etc/systemd/system/plumb-protect.service", fmt.Sprintf(`[Unit]
Description=Points in time of databases: do what is due
Documentation=man:plumb(1)
After=local-fs.target time-sync.target

[Service]
Type=oneshot
ExecStart=%s protect run %s
KillMode=mixed
TimeoutStopSec=5min
`, program, quoteUnit(file))}, {"/etc/systemd/system/plumb-protect.timer", fmt.Sprintf(`[Unit]
Description=Points in time of databases

[Timer]
OnCalendar=%s
Persistent=true

[Install]
WantedBy=timers.target
`, calendar)}}
}

// backupUnits are those of the backups. A backup that is stopped goes on with what was sent when it is run again.
func backupUnits(program, file string) []Emitted {
	return []Emitted{{"/etc/systemd/system/plumb-protect-backups.service", fmt.Sprintf(`[Unit]
Description=Backups of databases: do what is due
Documentation=man:plumb(1)
Wants=network-online.target
After=local-fs.target network-online.target time-sync.target

[Service]
Type=oneshot
ExecStart=%s protect run %s --backups
# The login of S3, when it is in no file: AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=…
EnvironmentFile=-/etc/plumb/backups.env
Nice=10
TimeoutStopSec=1min
`, program, quoteUnit(file))}, {"/etc/systemd/system/plumb-protect-backups.timer", `[Unit]
Description=Backups of databases

[Timer]
OnCalendar=*:0/15
RandomizedDelaySec=5min
Persistent=true

[Install]
WantedBy=timers.target
`}}
}

// ExecStart writes the command line of a unit. The program is named by a plain absolute path.
func ExecStart(program string, args []string) (string, error) {
	for _, word := range append([]string{program}, args...) {
		if strings.ContainsFunc(word, unprintable) {
			return "", hint.Usage(fmt.Sprintf("%q cannot be written into a unit", word), "use no control characters")
		}
	}
	if !strings.HasPrefix(program, "/") || strings.ContainsAny(program, special) {
		return "", hint.Usage(fmt.Sprintf("%q cannot be written into a unit", program), "install plumb under a plain name, such as /usr/bin/plumb")
	}
	for _, word := range args {
		program += " " + quoteUnit(word)
	}
	return program, nil
}

// quoteUnit quotes a word of ExecStart: systemd.service(5), systemd.unit(5).
func quoteUnit(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(word)
	return `"` + word + `"`
}

func crontab(program string, p *Policy, minutes int) string {
	when := fmt.Sprintf("*/%d", minutes)
	if minutes == 1 {
		when = "*"
	}
	call := fmt.Sprintf("root %s protect run %s", program, quoteCron(p.File))
	text := fmt.Sprintf("# Points in time of databases.\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n%s * * * * %s\n", when, call)
	if p.backs() {
		text += fmt.Sprintf("*/15 * * * * %s --backups\n", call)
	}
	return text
}

// quoteCron quotes a word for the shell, and then for cron, which ends a command at %: crontab(5).
// Outside of the quotes the backslash does no harm if cron leaves it to the shell.
func quoteCron(word string) string {
	return strings.ReplaceAll(host.ShellQuoted(word), "%", `'\%'`)
}
