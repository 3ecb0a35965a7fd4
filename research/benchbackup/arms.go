package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// kind is what an arm is compared as.
type kind int

const (
	ours   kind = iota
	bare        // as the stream is
	sealed      // compressed and encrypted first, as ours is
)

// arm is one way to take a stream to the store.
type arm struct {
	name string
	kind kind
	env  []string
	make func(file string) [][]string // the programs, the first of which reads nothing
}

// object is what rivals call what they send.
const object = "rival/object"

// arms are the ways that are compared. Defaults are what who reads no manual gets; tuned ones have as many and
// as large parts on their way as their manuals advise for fast lines.
func (b *bench) arms() []arm {
	rclone := []string{b.rclone, "--config", "/dev/null", "--s3-no-check-bucket", "--retries", "1"}
	rcloneTuned := append(rclone[:len(rclone):len(rclone)], "--s3-chunk-size", "16M", "--s3-upload-concurrency", "8")
	aws := []string{b.aws, "--endpoint-url", b.endpoint(), "s3", "cp", "--only-show-errors", "-", "s3://" + b.s3.Bucket + "/" + object}
	rcat := func(argv []string) []string {
		return append(argv[:len(argv):len(argv)], "rcat", "s3:"+b.s3.Bucket+"/"+object)
	}
	plain, tuned := b.login(b.config(false)), b.login(b.config(true))
	cat := func(file string) []string { return []string{"cat", file} }
	pack, packTuned := []string{"zstd", "-q", "-c"}, []string{"zstd", "-q", "-c", "-1", "-T0"}
	seal := []string{"age", "-r", b.recipient}
	all := []arm{{"plumb backup", ours, plain, func(file string) [][]string { return [][]string{b.plumbBackup(file)} }}}
	if b.rclone != "" {
		all = append(all,
			arm{"rclone rcat", bare, plain, func(f string) [][]string { return [][]string{cat(f), rcat(rclone)} }},
			arm{"rclone rcat, tuned", bare, plain, func(f string) [][]string { return [][]string{cat(f), rcat(rcloneTuned)} }},
			arm{"zstd | age | rclone", sealed, plain, func(f string) [][]string { return [][]string{cat(f), pack, seal, rcat(rclone)} }},
			arm{"zstd -1 -T0 | age | rclone, tuned", sealed, plain, func(f string) [][]string { return [][]string{cat(f), packTuned, seal, rcat(rcloneTuned)} }})
	}
	if b.aws != "" {
		all = append(all,
			arm{"aws s3 cp", bare, plain, func(f string) [][]string { return [][]string{cat(f), aws} }},
			arm{"aws s3 cp, tuned", bare, tuned, func(f string) [][]string { return [][]string{cat(f), aws} }},
			arm{"zstd | age | aws", sealed, plain, func(f string) [][]string { return [][]string{cat(f), pack, seal, aws} }},
			arm{"zstd -1 -T0 | age | aws, tuned", sealed, tuned, func(f string) [][]string { return [][]string{cat(f), packTuned, seal, aws} }})
	}
	return all
}

func (b *bench) plumbBackup(file string, more ...string) []string {
	return append([]string{b.plumb, "backup", "--command", "cat " + file, "--name", "file", "--to", "s3://" + b.s3.Bucket + "/plumb", "--recipient", b.recipient,
		"--state", filepath.Join(b.box.Dir, "state"), "--endpoint", b.endpoint(), "--region", "us-east-1"}, more...)
}

func (b *bench) plumbRestore(more ...string) []string {
	return append([]string{b.plumb, "restore", "--from", "s3://" + b.s3.Bucket + "/plumb", "--identity", b.identity, "--output", "-",
		"--state", filepath.Join(b.box.Dir, "state"), "--endpoint", b.endpoint(), "--region", "us-east-1"}, more...)
}

func (b *bench) endpoint() string { return "http://" + b.line.address() }

// login is what programs find the store by.
func (b *bench) login(config string) []string {
	return []string{"AWS_ACCESS_KEY_ID=" + b.s3.Key, "AWS_SECRET_ACCESS_KEY=" + b.s3.Secret, "AWS_DEFAULT_REGION=us-east-1", "AWS_CONFIG_FILE=" + config,
		"RCLONE_CONFIG_S3_TYPE=s3", "RCLONE_CONFIG_S3_PROVIDER=Other", "RCLONE_CONFIG_S3_ENV_AUTH=true", "RCLONE_CONFIG_S3_ENDPOINT=" + b.endpoint(),
		"RCLONE_CONFIG_S3_REGION=us-east-1", "RCLONE_CONFIG_S3_FORCE_PATH_STYLE=true"}
}

// config is the configuration of the AWS command line.
func (b *bench) config(tuned bool) string {
	text := "[default]\ns3 =\n  addressing_style = path\n"
	if tuned {
		text += "  max_concurrent_requests = 20\n  multipart_chunksize = 16MB\n  max_queue_size = 1000\n"
	}
	file := filepath.Join(b.box.Dir, fmt.Sprintf("aws-%t", tuned))
	b.failed = append(b.failed, os.WriteFile(file, []byte(text), 0o600))
	return file
}
