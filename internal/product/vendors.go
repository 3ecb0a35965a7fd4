package product

import (
	"embed"
	"strings"
)

//go:embed keys/*.asc
var keys embed.FS

// Vendor is a repository that the makers of a server keep for systems with apt.
type Vendor struct {
	Name    string // as a spec calls it
	Flavors []string
	// URI and Suite say where it is: {series} stands for the first two numbers of the server's version, {system} for debian or ubuntu,
	// {codename} for the release of that.
	URI, Suite string
	Key        string // the fingerprint of the key that signs it
	Source     string // where its makers say so
	Armor      string // the key itself, which whoever uses it proves to have that fingerprint
}

// Vendors lists those whose keys are known. Of repo.percona.com the fingerprint is (4D1B B29D 63D9 8E42 2B21 13B1 9334 A25F 8507 EFA5, as the images of
// its makers import it), and nobody had the key itself from a place that could be trusted for it.
func Vendors() []Vendor {
	all := []Vendor{
		{Name: "mariadb.org", Flavors: []string{MariaDB}, URI: "https://deb.mariadb.org/{series}/{system}", Suite: "{codename}",
			Key: "177F4010FE56CA3336300305F1656F24C74CD1D8", Source: "https://mariadb.com/kb/en/gpg/"},
		{Name: "postgresql.org", Flavors: []string{Postgres}, URI: "https://apt.postgresql.org/pub/repos/apt", Suite: "{codename}-pgdg",
			Key: "B97B0AFCAA1A47F044F244A07FCC7D46ACCC4CF8", Source: "https://wiki.postgresql.org/wiki/Apt, and /usr/share/postgresql-common/pgdg/apt.postgresql.org.asc of Debian's postgresql-common"},
	}
	for i, v := range all {
		text, _ := keys.ReadFile("keys/" + v.Name + ".asc") // one that is not there has no fingerprint
		all[i].Armor = string(text)
	}
	return all
}

// VendorNames lists what a spec can call them.
func VendorNames() (all []string) {
	for _, v := range Vendors() {
		all = append(all, v.Name)
	}
	return all
}

// VendorOf gives the one of a name; the zero value for none.
func VendorOf(name string) Vendor {
	for _, v := range Vendors() {
		if v.Name == name {
			return v
		}
	}
	return Vendor{}
}

// Needs tells whether its address depends on the server's version.
func (v Vendor) Needs() bool { return strings.Contains(v.URI, "{series}") }

// At gives where it is for a series of the server, and a release of a system.
func (v Vendor) At(series, system, codename string) (uri, suite string) {
	fill := strings.NewReplacer("{series}", series, "{system}", system, "{codename}", codename)
	return fill.Replace(v.URI), fill.Replace(v.Suite)
}
