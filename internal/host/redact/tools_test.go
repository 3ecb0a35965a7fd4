package redact

import (
	"strings"
	"testing"
)

// gaps are secrets that say nothing of themselves by their names: command
// lines with | between the words, and the same as it must look.
func gaps() [][2]string {
	return [][2]string{
		{"xtrabackup|--backup|--encrypt=AES256|--encrypt-key=s3cret|--encrypt-threads=4|", "xtrabackup|--backup|--encrypt=AES256|--encrypt-key=***|--encrypt-threads=4|"},
		{"xtrabackup|--encrypt-key|s3cret|--backup|", "xtrabackup|--encrypt-key|***|--backup|"},
		{"xtrabackup|--encrypt-key-file=/etc/key|", "xtrabackup|--encrypt-key-file=/etc/key|"},
		{"pt-table-sync|h=a,u=b,p=s3cret,D=c|h=d|", "pt-table-sync|h=a,u=b,p=***,D=c|h=d|"},
		{"pt-table-sync|p=s3cret,h=a|", "pt-table-sync|p=***,h=a|"},
		{"mkdir|p=kept|", "mkdir|p=kept|"},
		{"azcopy|copy|https://a.blob.core.windows.net/b?sv=2024&sp=rw&sig=s3%2Fcret%3D&se=2027|", "azcopy|copy|https://a.blob.core.windows.net/b?sv=2024&sp=rw&sig=***&se=2027|"},
		{"notify|https://hooks.slack.com/services/T01/B02/s3cret|", "notify|https://hooks.slack.com/services/***|"},
		{"notify|https://discord.com/api/webhooks/12/s3cret|", "notify|https://discord.com/api/webhooks/***|"},
		{"openssl|enc|-aes-256-cbc|-k|s3cret|-in|a|", "openssl|enc|-aes-256-cbc|-k|***|-in|a|"},
		{"openssl|enc|-aes-256-cbc|-K|00ff|-iv|0|", "openssl|enc|-aes-256-cbc|-K|***|-iv|0|"},
		{"openssl|enc|-pass|pass:s3cret|-in|a|", "openssl|enc|-pass|***|-in|a|"},
		{"lftp|-u|backup,s3cret|sftp://h|", "lftp|-u|backup,***|sftp://h|"},
		{"lftp|-ubackup,s3cret|sftp://h|", "lftp|-ubackup,***|sftp://h|"},
		{"smbclient|//h/backup|-U|backup%s3cret|", "smbclient|//h/backup|-U|backup%***|"},
		{"smbclient|//h/backup|--user=backup%s3cret|", "smbclient|//h/backup|--user=backup%***|"},
		{"zip|-r|-P|s3cret|a.zip|dir|", "zip|-r|-P|***|a.zip|dir|"},
		{"zip|-rP|s3cret|a.zip|dir|", "zip|-rP|***|a.zip|dir|"},
		{"/usr/bin/zip|-Ps3cret|a.zip|dir|", "/usr/bin/zip|-P***|a.zip|dir|"},
		{"7z|a|-ps3cret|-mhe=on|a.7z|dir|", "7z|a|-p***|-mhe=on|a.7z|dir|"},
		{"rar|a|-hps3cret|a.rar|dir|", "rar|a|-hp***|a.rar|dir|"},
		{"redis-cli|-h|a|-a|s3cret|ping|", "redis-cli|-h|a|-a|***|ping|"},
		{"redis-cli|--pass|s3cret|ping|", "redis-cli|--pass|***|ping|"},
		{"ldapsearch|-x|-D|cn=a|-w|s3cret|", "ldapsearch|-x|-D|cn=a|-w|***|"},
		{"nice|-n|19|zip|-P|s3cret|a.zip|", "nice|-n|19|zip|-P|***|a.zip|"},
		{"tar|-P|-cf|a.tar|dir|", "tar|-P|-cf|a.tar|dir|"},
		{"ps|-u|mysql,root|", "ps|-u|mysql,root|"},
		{"ls|-k|dir|", "ls|-k|dir|"},
	}
}

// The same in a process's arguments, in a script's line, in a unit, in what a
// shell is given, and in an error.
func TestSecretsWithoutAName(t *testing.T) {
	for _, tt := range gaps() {
		in, want := strings.ReplaceAll(tt[0], "|", "\x00"), strings.ReplaceAll(tt[1], "|", "\x00")
		if got := string(File("/proc/7/cmdline", []byte(in))); got != want {
			t.Errorf("arguments:\n got %q\nwant %q", got, want)
		}
		line, clean := strings.TrimSpace(strings.ReplaceAll(tt[0], "|", " ")), strings.TrimSpace(strings.ReplaceAll(tt[1], "|", " "))
		for name, around := range map[string]string{"/etc/cron.d/backup": "0 3 * * * root LINE | logger && true\n", "/root/backup.sh": "#!/bin/sh\nLINE\n", "/etc/systemd/system/b.service": "[Service]\nExecStart=/bin/sh -c 'LINE'\n"} {
			in, want := strings.Replace(around, "LINE", line, 1), strings.Replace(around, "LINE", clean, 1)
			if got := string(File(name, []byte(in))); got != want {
				t.Errorf("%s:\n got %q\nwant %q", name, got, want)
			}
		}
		if got, want := Text("exit status 1: run "+line), "exit status 1: run "+clean; got != want {
			t.Errorf("error:\n got %q\nwant %q", got, want)
		}
		if once := Text(line); Text(once) != once {
			t.Errorf("%q is changed by redacting it again: %q", once, Text(once))
		}
	}
}

func TestSecretsWithoutANameInFiles(t *testing.T) {
	for _, tt := range []struct{ name, file, in, want string }{
		{"xtrabackup", "/etc/my.cnf", "[xtrabackup]\nencrypt=AES256\nencrypt-key=s3cret\nencrypt_key = s3cret\nencrypt-key-file=/etc/k\n", "[xtrabackup]\nencrypt=AES256\nencrypt-key=***\nencrypt_key = ***\nencrypt-key-file=/etc/k\n"},
		{"percona", "/root/.pt-heartbeat.conf", "dsn=h=a,u=b,p=s3cret,D=percona\ninterval=1\n", "dsn=h=a,u=b,p=***,D=percona\ninterval=1\n"},
		{"percona, quoted", "/etc/cron.d/pt", "pt-slave-delay --dsn 'h=a,p=s3cret'\n", "pt-slave-delay --dsn 'h=a,p=***'\n"},
		{"token alone", "/etc/backup.conf", "sas_token = \"sv=2024&sig=s3cret\"\ntarget=sv=2024&sig=s3cret&se=1\n", "sas_token = \"***\"\ntarget=sv=2024&sig=***&se=1\n"},
		{"hook", "/etc/alert.yml", "slack:\n  hook: https://hooks.slack.com/services/T/B/s3cret\n  channel: dba\n", "slack:\n  hook: https://hooks.slack.com/services/***\n  channel: dba\n"},
		{"no secrets", "/etc/x.conf", "design=1\nsig_version=2\np=4\nzip=-P\n", "design=1\nsig_version=2\np=4\nzip=-P\n"},
	} {
		if got := string(File(tt.file, []byte(tt.in))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}
