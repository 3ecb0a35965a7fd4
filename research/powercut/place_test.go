package main

import (
	"slices"
	"strings"
	"testing"
)

// The trials of a machine and those of a host, or of two hosts with other
// versions, are never counted together.
func TestPlacesAreCountedApart(t *testing.T) {
	vm := rows()[0]
	old, now := vm.placed("Linux 6.1.1, MariaDB 10.11.4"), vm.placed("Linux 6.18.44, MariaDB 10.11.19")
	var all []trial
	for i, r := range []row{vm, old, now, now} {
		all = append(all, trial{Row: r.name, Hash: r.hash(), Kind: killed, Versions: r.versions, Session: i,
			Outcome: outcome{Mounted: true, Started: true, Acknowledged: int64(10 * (i + 1))}})
	}
	for i, r := range []row{vm, old, now} {
		if got, want := len(counted(all, r, killed)), []int{1, 1, 2}[i]; got != want {
			t.Errorf("%s: %d trials, want %d", r.title(), got, want)
		}
	}
	text := table(tried(rows()[:2], "", all), all)
	for _, want := range []string{
		"| MariaDB 11.8, ext4, doublewrite on | killed | 1 | 0 of 10 |",
		"| MariaDB 10.11.4 on this host's kernel 6.1.1, ext4, doublewrite on | killed | 1 | 0 of 20 |",
		"| MariaDB 10.11.19 on this host's kernel 6.18.44, ext4, doublewrite on | killed | 2 | 0 of 70 |",
		"Not tried: ", "mariadb-ext4 on a host (replayed)", "mariadb-xfs (killed)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for where, want := range map[string]int{"": 4, "vm": 2, "host": 3} {
		if got := tried(rows()[:2], where, all); len(got) != want {
			t.Errorf("-where %q: %d rows, want %d", where, len(got), want)
		}
	}
}

// The base images and results of machines that exist already stay good.
func TestHashInAMachine(t *testing.T) {
	r := rows()[0]
	if r.hash() == r.placed("Linux 6.18, MariaDB 10.11").hash() || r.placed("a, b").hash() == r.placed("a, c").hash() {
		t.Error("the place is not in the hash")
	}
}

func TestPlace(t *testing.T) {
	none := func(string, ...any) {}
	all, err := place(rows(), "vm", none)
	ok(t, err)
	mysql := 0
	for _, r := range rows() {
		if r.onlyHere() {
			mysql++
		}
	}
	if mysql == 0 || len(all) != len(rows())-mysql || slices.ContainsFunc(all, func(r row) bool { return r.versions != "" || r.onlyHere() }) {
		t.Errorf("%+v", all)
	}
	all, err = place(rows(), "", none)
	ok(t, err)
	if len(all) != len(rows()) && len(all) != len(rows())-mysql || slices.ContainsFunc(all, func(r row) bool {
		return r.onlyHere() && r.release != onHost || r.storage == "zfs" && r.release == onHost
	}) {
		t.Errorf("%+v", all)
	}
	if _, err := place(rows(), "moon", none); err == nil {
		t.Error("rows run on the moon")
	}
	zfs, err := chosen("mariadb-zfs23")
	ok(t, err)
	if _, err := place(zfs, onHost, none); err == nil {
		t.Error("ZFS runs on the host")
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)": "10.11.19",
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":                                "15.18",
		"postgres (PostgreSQL) 19beta1":                                                       "",
		"6.18.44-fc-v595":                                                                     "6.18.44",
		"":                                                                                    "",
	} {
		got, err := parseVersion([]byte(text))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add([]byte("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"))
	f.Add([]byte("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := parseVersion(text); err == nil && (len(got) > 32 || !strings.Contains(string(text), got)) {
			t.Errorf("%q of %q", got, text)
		}
	})
}

// The daemon is told what its disk must not do, and paths come through.
func TestDaemonArguments(t *testing.T) {
	text := strings.Join(daemonArguments("/a,b/disk", "", "/a/door"), " ")
	for _, want := range []string{"filename=/a,,b/disk", "image=image", "iotype=discard,inject-error.0.errno=38", "iotype=write-zeroes,inject-error.1.errno=38", "mountpoint=/a/door"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Contains(text, "blklogwrites") {
		t.Errorf("a log: %s", text)
	}
	text = strings.Join(daemonArguments("/disk", "/log", "/door"), " ")
	if !strings.Contains(text, "driver=blklogwrites,node-name=logged,file=image,log=log,log-sector-size=512") || !strings.Contains(text, "image=logged") {
		t.Error(text)
	}
}

func TestKeeper(t *testing.T) {
	var live strings.Builder
	k := &executor{live: &live, most: 5}
	for range 3 {
		if n, err := k.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if string(k.kept) != "abcab" || live.String() != "abcabcabc" {
		t.Errorf("%q, %q", k.kept, live.String())
	}
}
